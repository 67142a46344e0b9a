"""The same models in PyTorch: transformers' LlamaForCausalLM and ViTForImageClassification, PyG's TransformerConv.

    python3 benches/peers/peers.py FOLDER [--systems eager graph compile] [--modes MODE …] [--samples N] [--processes N]

FOLDER is what `workbook export` writes: a folder a workload with config.json, model.safetensors and
workload.safetensors (the inputs, and the logits of level 1). A line of JSON for each workload, number format and
system goes to stdout: milliseconds of one forward pass, the device done with it before the next begins, as
`workbook compare` times the levels.

The language model and the vision transformer are transformers' own classes, which do more a step than these models written out
in PyTorch would: what is measured here is what a user of the library gets, and no bound on PyTorch.

eager     as the library runs it
graph     the same, captured as a CUDA graph and replayed
compile   torch.compile, the fastest of the modes of --modes

--warm-only compiles and times nothing: several processes can fill the compiler's cache at once.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

LONGEST = 10.0  # seconds of samples of one system


class Block(nn.Module):
    """The block of models/src/gnn.rs, around PyG's convolution."""

    def __init__(self, c, heads, edge_features, inner, eps):
        from torch_geometric.nn import TransformerConv

        super().__init__()
        self.norm1 = nn.LayerNorm(c, eps)
        self.conv = TransformerConv(c, c // heads, heads, edge_dim=edge_features)
        self.norm2 = nn.LayerNorm(c, eps)
        self.mlp = nn.Sequential(nn.Linear(c, inner), nn.GELU(), nn.Linear(inner, c))

    def forward(self, x, edge_index, edge_attr):
        x = x + self.conv(self.norm1(x), edge_index, edge_attr)
        return x + self.mlp(self.norm2(x))


class GraphTransformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        c, eps = config["hidden_size"], config["layer_norm_eps"]
        heads, inner = config["num_attention_heads"], config["intermediate_size"]
        self.proj_in = nn.Linear(config["node_features"], c)
        blocks = [Block(c, heads, config["edge_features"], inner, eps) for _ in range(config["num_hidden_layers"])]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(c, eps)
        self.head = nn.Linear(c, config["num_classes"])

    def forward(self, x, edge_index, edge_attr, batch, num_graphs: int):
        from torch_geometric.nn import global_mean_pool

        x = self.proj_in(x)
        for block in self.blocks:
            x = block(x, edge_index, edge_attr)
        return self.head(self.norm(global_mean_pool(x, batch, num_graphs)))


class Job:
    """A forward pass of fixed inputs: `forward` is what is captured or compiled."""

    forwards = 1

    def __init__(self, folder, dtype, device):
        self.inputs = {k: v.to(device) for k, v in load_file(folder / "workload.safetensors").items()}
        floats = {k: v.to(dtype) for k, v in self.inputs.items() if v.is_floating_point() and k != "logits"}
        self.inputs.update(floats)
        self.expected = self.inputs.pop("logits").float().flatten()

    def prepare(self):
        pass

    def run(self, forward):
        logits = forward()
        synchronize()
        return logits


class Vit(Job):
    def __init__(self, folder, dtype, device):
        from transformers import ViTForImageClassification

        super().__init__(folder, dtype, device)
        self.model = ViTForImageClassification.from_pretrained(folder, attn_implementation="sdpa", dtype=dtype)
        self.model.to(device).eval()

    def forward(self):
        return self.model(pixel_values=self.inputs["pixel_values"]).logits


class Gnn(Job):
    def __init__(self, folder, dtype, device):
        super().__init__(folder, dtype, device)
        self.model = GraphTransformer(json.loads((folder / "config.json").read_text()))
        self.model.load_state_dict(load_file(folder / "model.safetensors"))
        self.model.to(device, dtype).eval()
        self.graphs = int(self.inputs.pop("num_graphs"))

    def forward(self):
        return self.model(**self.inputs, num_graphs=self.graphs)


class Prefill(Job):
    def __init__(self, folder, dtype, device):
        from transformers import LlamaForCausalLM

        super().__init__(folder, dtype, device)
        self.model = LlamaForCausalLM.from_pretrained(folder, attn_implementation="sdpa", dtype=dtype)
        self.model.to(device).eval()

    def forward(self):
        return self.model(input_ids=self.inputs["input_ids"], use_cache=False, logits_to_keep=1).logits


class Decode(Prefill):
    """One token after the other behind a prompt, in a cache that stays where it is."""

    def __init__(self, folder, dtype, device):
        from transformers import StaticCache

        super().__init__(folder, dtype, device)
        prompt, self.next = self.inputs["input_ids"], self.inputs["next"]
        self.start, self.forwards = prompt.shape[1], self.next.shape[1]
        self.cache = StaticCache(config=self.model.config, max_cache_len=self.start + self.forwards)
        self.model(input_ids=prompt, past_key_values=self.cache, logits_to_keep=1)
        self.ids = self.next[:, :1].clone()
        self.position = torch.full_like(self.ids, self.start)

    def prepare(self):
        for layer in self.cache.layers:
            layer.cumulative_length.fill_(self.start)
        self.position.fill_(self.start)

    def forward(self):
        logits = self.model(input_ids=self.ids, position_ids=self.position, past_key_values=self.cache).logits
        self.position.add_(1)
        return logits

    def run(self, forward):
        for i in range(self.forwards):
            self.ids.copy_(self.next[:, i : i + 1])
            logits = forward()
            synchronize()
        return logits


JOBS = {"vit": Vit, "gnn": Gnn}


def job(folder, dtype, device):
    model, _, workload, _ = folder.name.split(".")
    if model == "lm":
        return (Decode if workload == "decode" else Prefill)(folder, dtype, device)
    return JOBS[model](folder, dtype, device)


def synchronize():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def captured(job):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            job.prepare()
            job.forward()
    torch.cuda.current_stream().wait_stream(stream)
    job.prepare()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        logits = job.forward()

    def replay():
        graph.replay()
        return logits

    return replay


def compiled(job, mode):
    forward = torch.compile(job.forward, mode=mode, fullgraph=False, dynamic=False)

    def step():
        torch.compiler.cudagraph_mark_step_begin()
        return forward()

    return step


def variants(job, systems, modes):
    if "eager" in systems:
        yield "eager", job.forward
    if "graph" in systems and torch.cuda.is_available():
        yield "graph", captured(job)
    if "compile" in systems:
        for mode in modes if torch.cuda.is_available() else ["default"]:
            yield "compile", compiled(job, mode)


def sample(job, forward, samples):
    """Milliseconds of a forward pass, and the logits."""
    times, begin = [], time.perf_counter()
    for _ in range(3):
        job.prepare()
        logits = job.run(forward)
    while len(times) < samples and (not times or time.perf_counter() - begin < LONGEST):
        job.prepare()
        synchronize()
        start = time.perf_counter()
        logits = job.run(forward)
        times.append((time.perf_counter() - start) * 1e3 / job.forwards)
    return sorted(times), logits


def measure(folder, args):
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[folder.name.split(".")[3]]
    best = {}
    work = job(folder, dtype, args.device)
    for system, forward in variants(work, args.systems, args.modes):
        try:
            times, logits = sample(work, forward, 0 if args.warm_only else args.samples)
        except Exception as error:  # a system that cannot run a workload is named, the others go on
            print(f"{folder.name} {system}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        if args.warm_only:
            continue
        apart = (logits.float().flatten() - work.expected).abs().max() / work.expected.abs().max()
        if system not in best or statistics.median(times) < statistics.median(best[system][0]):
            best[system] = (times, float(apart))
    model, preset, workload, name = folder.name.split(".")
    for system, (times, apart) in best.items():
        row = dict(model=model, preset=preset, workload=workload, dtype=name, system=f"pytorch_{system}")
        row.update(median_ms=statistics.median(times), low_ms=times[len(times) // 10])
        row.update(high_ms=times[-1 - len(times) // 10], samples=len(times), max_difference=apart)
        print(json.dumps(row), flush=True)


def warm(args):
    """Compiles every workload in processes of their own; what they leave in the cache is quick to load."""
    options = ["--warm-only", "--device", args.device, "--systems", "compile", "--modes", *args.modes]
    folders, running = sorted(args.folder.iterdir()), []
    while folders or running:
        running = [process for process in running if process.poll() is None]
        while folders and len(running) < args.processes:
            running.append(subprocess.Popen([sys.executable, __file__, str(folders.pop(0)), *options]))
        time.sleep(0.2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--systems", nargs="+", default=["eager", "graph", "compile"])
    parser.add_argument("--modes", nargs="+", default=["reduce-overhead"], help="also max-autotune: minutes a workload")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--warm-only", action="store_true")
    parser.add_argument("--processes", type=int, default=1, help="that compile beforehand, side by side")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.set_float32_matmul_precision("highest")  # no TF32: the levels compute in f32
    if args.processes > 1 and "compile" in args.systems:
        warm(args)
    folders = [args.folder] if (args.folder / "workload.safetensors").exists() else sorted(args.folder.iterdir())
    with torch.no_grad():
        for folder in folders:
            measure(folder, args)
            torch.compiler.reset()


if __name__ == "__main__":
    main()
