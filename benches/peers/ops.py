"""Single ops in PyTorch, on the shapes of `workbook ops` and `workbook small`; `--peers PYTHON` of both runs this.

    python3 benches/peers/ops.py --device cuda --dtype f32 linear.128x512x512 softmax.1024x1024

Prints a line of JSON for each op and shape: `pytorch`, as a user of PyTorch writes it, and `pytorch_compile` where it is more
than one kernel of PyTorch's. Values are random: times do not depend on them. The clocks are those of benches/src/timer.rs.
"""

import argparse
import json
import math
import re
import statistics
import sys
import time

import torch
import torch.nn.functional as F

from gnn import edge_attention, segment_mean
from job import DTYPES
from lm import causal_attention, rotate
from timing import AHEAD, synchronize
from vit import patch_embed

SAMPLE = 2e-3  # seconds of a sample at least
AHEAD_OF_GRAPHS = 1  # of the products that keep the GPU busy, while replays are queued
QUEUED = 20  # calls at most that wait in the GPU's queue for one sample, and calls of a CUDA graph
REPLAYS = 5  # of a graph in a sample at most
WAITING = {"next_token"}  # ops that wait for the device themselves, and so have no time on it alone
VOCABULARY = 10_000  # rows of an embedding
NODES = 32  # of a graph
PATCH = {224: (16, 384), 32: (4, 128)}  # a picture's side → a patch's, and channels

# The shape's numbers → the inputs, each the shape of a random one or integers, and the op on them.
PLAIN = {  # one kernel, or one of a library's
    "embedding": lambda t, c: ([torch.arange(t) * 7919 % VOCABULARY, (VOCABULARY, c)], F.embedding),
    "linear": lambda m, k, n: ([(m, k), (n, k), (n,)], F.linear),
    "qkv": lambda t, c, n: ([(t, c), (n, c)], F.linear),
    "qkv_skip": lambda t, c, n: ([(t, c), (n, c), (n,)], F.linear),
    "attention": lambda b, t, h, d: (3 * [(b, h, t, d)], F.scaled_dot_product_attention),
    "next_token": lambda v: ([(v,)], lambda logits: logits.argmax().item()),
    "softmax": lambda m, n: ([(m, n)], lambda x: F.softmax(x, -1)),
    "gelu": lambda m, n: ([(m, n)], F.gelu),
    "ternary_linear": lambda m, k, n: ([(m, k), (n, k)], F.linear),  # its weights in full
    "matmul": lambda *s: ([(*s[:-3], s[-3], s[-1]), (*s[:-3], s[-1], s[-2])], torch.matmul),  # [B ×] M × N × K
}
FUSED = {  # several of PyTorch's kernels, which its compiler may make one
    "linear_gelu": lambda m, k, n: ([(m, k), (n, k), (n,)], lambda x, w, b: F.gelu(F.linear(x, w, b))),
    "linear_swiglu": lambda t, c, f: ([(t, c), (2 * f, c)], linear_swiglu),
    "add_rms_norm": lambda t, c: ([(t, c), (t, c), (c,)], add_rms_norm),
    "add_layer_norm": lambda t, c: ([(t, c), (t, c), (c,), (c,)], add_layer_norm),
    "causal_attention_prefill": lambda *s: (causal(*s[:-4], 0, *s[-4:]), causal_prefill),  # [B ×] T × H × H_kv × D
    "causal_attention_decode": lambda *s: (causal(*s), causal_decode),  # P + 1 × H × H_kv × D
    "edge_attention": lambda n, e: (graph(n, e, heads=4, width=32, edge_width=16), edge_attention),
    "segment_mean": lambda n, c: ([(n, c), (n, c), torch.arange(n) // NODES, torch.full((n // NODES, 1), NODES)], pooled),
    "patch_embed": lambda b, _, s, __: (pictures(b, s, *PATCH[s]), patch_embed),
}


def linear_swiglu(x, w):
    gate, up = F.linear(x, w).chunk(2, -1)
    return F.silu(gate) * up


def add_rms_norm(x, residual, w):
    x = x + residual
    return x, F.rms_norm(x, w.shape, w, 1e-5)


def add_layer_norm(x, residual, w, b):
    x = x + residual
    return x, F.layer_norm(x, w.shape, w, b, 1e-5)


def causal(*shape):
    """q, k, v, both caches, cos and sin, and where the tokens are, of [B ×] P + T × H × H_kv × D"""
    past, t, h, h_kv, d = shape[-5:]
    b = shape[0] if len(shape) == 6 else 1
    caches = 2 * [(b, h_kv, past + t, d)]
    return [(b, t, h, d), *2 * [(b, t, h_kv, d)], *caches, *2 * [(t, 1, d // 2)], past + torch.arange(t)]


def causal_prefill(q, k, v, k_cache, v_cache, cos, sin, _):
    q, k = (rotate(x, cos, sin).transpose(1, 2) for x in (q, k))
    k_cache.copy_(k)
    v_cache.copy_(v.transpose(1, 2))
    return causal_attention(q, k_cache, v_cache)


def causal_decode(q, k, v, k_cache, v_cache, cos, sin, position):
    q, k = (rotate(x, cos, sin).transpose(1, 2) for x in (q, k))
    k_cache.index_copy_(2, position, k)
    v_cache.index_copy_(2, position, v.transpose(1, 2))
    # The query heads that share a key head are rows of one product.
    q = q.reshape(*k.shape[:2], -1, q.shape[-1])
    return F.scaled_dot_product_attention(q, k_cache, v_cache)


def graph(n, e, heads, width, edge_width):
    """q, k, v, skip, edge features, their weight, and the ends of as many edges into each node, from nodes of its graph"""
    target = torch.arange(n).repeat_interleave(e // n)
    source = target // NODES * NODES + torch.randint(NODES, (e,))
    return [*4 * [(n, heads, width)], (e, edge_width), (heads * width, edge_width), source, target]


def pooled(x, residual, segment, nodes):
    return segment_mean(x + residual, segment, nodes)


def pictures(b, s, p, c):
    """pixels, weight and bias, the class token and positions"""
    return [(b, 3, s, s), (c, 3 * p * p), (c,), (1, 1, c), (1, (s // p) ** 2, c)]


def drawn(x, device, dtype):
    """Random numbers of a shape; integers as they are."""
    return x.to(device) if torch.is_tensor(x) else torch.randn(x, device=device, dtype=dtype) / math.sqrt(x[-1])


def host_us(call, calls):
    """Microseconds of one of `calls` calls, until the device has done them all."""
    synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    synchronize()
    return (time.perf_counter() - start) * 1e6 / calls


def device_us(call, calls, busy, ahead=AHEAD):
    """Microseconds of one call between two events, when all wait in the GPU's queue beforehand."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(ahead):
        busy @ busy
    start.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3 / calls


def recorded(call, calls):
    """Starts `calls` calls as one CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    graph.replay()
    return graph.replay


def times(case, call, samples, busy):
    """Medians by each clock, and the spread by the last of them, as in a row of `results`."""
    for _ in range(3):
        call()  # compiles, loads kernels: it would seem to be a sample by itself
    calls = 1
    while host_us(call, calls) * calls < SAMPLE * 1e6 and calls < 1 << 16:
        calls *= 2
    clocks = dict(host_us=[host_us(call, calls) for _ in range(samples)])
    if busy is not None:
        queued = min(calls, QUEUED)
        clocks["device_us"] = [device_us(call, queued, busy) for _ in range(samples)]
        try:
            replay, replays = recorded(call, queued), min(calls // queued, REPLAYS)
            clocks["graph_us"] = [device_us(replay, replays, busy, AHEAD_OF_GRAPHS) / queued for _ in range(samples)]
        except RuntimeError as error:
            print(f"skipped: {case} in a graph: {str(error).splitlines()[0]}", file=sys.stderr)
    row = dict(device_us=None, graph_us=None) | {clock: statistics.median(us) for clock, us in clocks.items()}
    nearest = [*clocks.values()][-1]
    deciles = statistics.quantiles(nearest if samples > 1 else 2 * nearest, n=10, method="inclusive")
    return row | dict(low_us=deciles[0], high_us=deciles[8], samples=samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="OP.SHAPE")
    parser.add_argument("--device", required=True)
    parser.add_argument("--dtype", choices=DTYPES, required=True)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if ":" in args.device:
        torch.cuda.set_device(args.device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    busy = None if args.device == "cpu" else torch.randn(4096, 4096, device=args.device)
    for case in args.cases:
        op, shape = case.split(".")
        make = PLAIN.get(op) or FUSED.get(op)
        if make is None:
            continue  # the caller names what is missing
        inputs, run = make(*map(int, re.findall(r"\d+", shape)))
        tensors = [drawn(x, args.device, DTYPES[args.dtype]) for x in inputs]
        levels = {"pytorch": run}
        if op in FUSED:
            levels["pytorch_compile"] = torch.compile(run, fullgraph=True, dynamic=False)
        for level, run in levels.items():
            row = dict(op=op, shape=shape, dtype=args.dtype, level=level)
            queue = None if op in WAITING else busy
            row.update(times(f"{op} {shape} {args.dtype} {level}", lambda: run(*tensors), args.samples, queue))
            print(json.dumps(row), flush=True)
        torch.compiler.reset()


if __name__ == "__main__":
    with torch.no_grad():
        main()
