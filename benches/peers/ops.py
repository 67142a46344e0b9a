"""Single ops in PyTorch, on the shapes of `workbook ops` and `workbook small`; `--peers PYTHON` of both runs this.

    python3 benches/peers/ops.py FOLDER --device cuda --dtype f32 linear.128x512x512 softmax.1024x1024

FOLDER holds OP.SHAPE.DTYPE.safetensors of each case: the operands of the levels, and in `answer` what comes out at one of
them. What gives something else is not timed. Prints a line of JSON for each op and shape: `row`, of `pytorch`, as a user of
PyTorch writes it, and of `pytorch_compile`, on a GPU with kernels that are chosen by timing them, where that can be another
kernel; on a GPU, beside attention over edges, of `cusparse_spmm`, which only sums; or `failed`, with its reason. All is
compiled before the first is timed, by several processes if asked. The clocks are those of benches/src/timer.rs.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from gnn import edge_attention, segment_mean
from job import DTYPES, apart, one_line
from lm import causal_attention, decode_attention, rotate
from timing import AHEAD, WARM_UP, captured, spread, synchronize
from vit import patch_embed

SPAWN = multiprocessing.get_context("spawn")  # a GPU's state survives no fork
SAMPLE = 2e-3  # seconds of a sample at least
AHEAD_OF_GRAPHS = 1  # of the products that keep the GPU busy, while replays are queued
QUEUED = 20  # calls at most that wait in the GPU's queue for one sample, and calls of a CUDA graph
REPLAYS = 5  # of a graph in a sample at most
WAITING = {"next_token"}  # ops that wait for the device themselves, and so have no time on it alone
TOLERANCE = {"f32": 1e-4, "bf16": 2e-2}  # of an answer, as a share of its largest value

# From the operands of the levels → the call, and its arguments in the layout that PyTorch has for them.
ALONE = {  # a library's kernel, or one that no compiler makes
    "attention": lambda q, k, v: (F.scaled_dot_product_attention, *map(by_heads, (q, k, v))),
    "next_token": lambda logits: (lambda x: x.argmax().item(), logits),
    "matmul": lambda a, b: (torch.matmul, a, b),
}
COMPILED = {  # what PyTorch's compiler may make kernels of its own for, of several one
    "embedding": lambda ids, w: (F.embedding, ids, w),
    "linear": lambda x, w, b: (F.linear, x, w, b),
    "linear_residual": lambda x, w, b, residual: (linear_residual, x, w, b, residual),
    "softmax": lambda x: (softmax, x),
    "gelu": lambda x: (F.gelu, x),
    "ternary_linear": lambda x, w: (F.linear, x, w),  # its weights in full
    "linear_gelu": lambda x, w, b: (lambda x, w, b: F.gelu(F.linear(x, w, b)), x, w, b),
    "linear_swiglu": lambda x, w: (linear_swiglu, x, w),
    "rms_norm": lambda x, w: (rms_norm, x, w),
    "layer_norm": lambda x, w, b: (layer_norm, x, w, b),
    "causal_attention_prefill": lambda **operands: (causal_prefill, *causal(**operands)),
    "causal_attention_decode": lambda **operands: (causal_decode, *causal(**operands)),
    "rope": lambda **operands: (rotate_append, *causal(**operands)),
    "edge_attention": lambda **operands: (edge_attention_residual, *edges(**operands)),
    "segment_mean": lambda x, segment: (segment_mean, x, segment, segment.bincount()[:, None]),
    "patch_embed": lambda pixels, w, b, **places: (patch_embed, pixels, w.flatten(1), b, *first_and_others(**places)),
}
# From what the call gives → what the levels give.
ANSWERS = {
    "attention": lambda y: y.transpose(1, 2),
    "causal_attention_prefill": lambda y: y.transpose(1, 2),
}


def by_heads(x):
    """(B, T, H, D) → (B, H, T, D)"""
    return x.transpose(1, 2).contiguous()


def softmax(x):
    return F.softmax(x, -1)


def linear_residual(x, w, b, residual):
    return residual + F.linear(x, w, b)


def linear_swiglu(x, w):
    gate, up = F.linear(x, w).chunk(2, -1)
    return F.silu(gate) * up


def rms_norm(x, w):
    return F.rms_norm(x, w.shape, w, 1e-5)


def layer_norm(x, w, b):
    return F.layer_norm(x, w.shape, w, b, 1e-5)


def causal(q, k, v, cos, sin, past_k=None, past_v=None):
    """q, k, v (B, T, H, D) behind P in the cache, cos and sin (P + T, D/2) → q, k, v, both caches (B, H, P + T, D), and of
    the T tokens cos, sin (T, 1, D/2) and positions"""
    b, t, h, d = k.shape
    past, cos, sin = len(cos) - t, cos[:, None], sin[:, None]
    k_cache, v_cache = k.new_zeros(2, b, h, past + t, d)
    if past:
        k_cache[:, :, :past] = rotate(past_k, cos[:past], sin[:past]).transpose(1, 2)
        v_cache[:, :, :past] = past_v.transpose(1, 2)
    return q, k, v, k_cache, v_cache, cos[past:], sin[past:], torch.arange(past, past + t, device=q.device)


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
    return decode_attention(q, k_cache, v_cache)


def rotate_append(q, k, v, k_cache, v_cache, cos, sin, positions):
    q, k = (rotate(x, cos, sin) for x in (q, k))
    k_cache.index_copy_(2, positions, k.transpose(1, 2))
    v_cache.index_copy_(2, positions, v.transpose(1, 2))
    return q


def edges(q, k, v, skip, residual, edge_attr, w, source, target):
    return residual, q, k, v, skip.view_as(q), edge_attr, w, source, target


def edge_attention_residual(residual, *operands):
    return residual + edge_attention(*operands)


def neighbour_sums(residual, q, k, v, skip, edge_attr, w, source, target):
    """What attention over edges cannot be without, for weights that are given: (N, N) in compressed rows times (N, C)"""
    nodes, x = len(v), v.flatten(1)
    rows = F.pad(target.bincount(minlength=nodes).cumsum(0), (1, 0)).int()
    weights = torch.rand(len(source), device=v.device).to(v.dtype)
    graph = torch.sparse_csr_tensor(rows, source.int(), weights, (nodes, nodes), check_invariants=False)
    messages = weights.float()[:, None] * x[source].float()
    answer = messages.new_zeros(x.shape).index_add(0, target, messages)
    return torch.sparse.mm, [graph, x], answer


def first_and_others(**places):
    """The class token at its place (1, 1, C), and the places of the patches."""
    positions = places["positions"]
    return places["class"] + positions[:, :1], positions[:, 1:]


def given(case, make, args):
    """The call, its arguments, and what has to come out."""
    file = args.folder / f"{case}.{args.dtype}.safetensors"
    operands = load_file(file, device=args.device)
    file.unlink()  # some are as large as a GPU's largest tensors
    operands = {name: x if x.is_floating_point() else x.long() for name, x in operands.items()}
    answer = operands.pop("answer")
    call, *arguments = make(**operands)
    return call, arguments, answer


def check(op, dtype, arguments, found, answer):
    """Raises ValueError when an answer is another by more than rounding."""
    if op == "next_token":  # of tokens that are equally probable either
        found, answer = (arguments[0][int(token)] for token in (found, answer))
    else:
        found = ANSWERS.get(op, lambda y: y)(found)
    found, answer = found.flatten().float(), answer.flatten().float()
    if found.shape != answer.shape:
        raise ValueError(f"expected {len(answer)} values, found {len(found)}")
    found = apart(found, answer)
    if not found <= TOLERANCE[dtype]:
        raise ValueError(f"expected at most {TOLERANCE[dtype]:.0e} of the largest value apart, found {found:.1e}")


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
    graph, _ = captured(call, calls)
    graph.replay()
    return graph.replay


def times(case, call, samples, busy):
    """Medians by each clock, and the spread by the last of them, as in a row of `results`."""
    for _ in range(WARM_UP):
        call()  # compiles, loads kernels: it would seem to be a sample by itself
    calls = 1
    # The shorter of two: one that is interrupted would seem to be a sample by itself.
    while min(host_us(call, calls) for _ in range(2)) * calls < SAMPLE * 1e6 and calls < 1 << 16:
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
    low, _, high = spread([*clocks.values()][-1])
    return row | dict(low_us=low, high_us=high, samples=samples)


def prepared(case, args, busy):
    """The key of each row of a case with its call, compiled, or with the reason why it has none."""
    op, shape = case.split(".")
    call, arguments, answer = given(case, ALONE.get(op) or COMPILED[op], args)
    levels = {"pytorch": (call, arguments, answer)}
    if op in COMPILED:
        mode = None if busy is None else "max-autotune-no-cudagraphs"
        compiled = torch.compile(call, fullgraph=True, dynamic=False, mode=mode)
        levels["pytorch_compile"] = compiled, arguments, answer
    if op == "edge_attention" and busy is not None:
        levels["cusparse_spmm"] = neighbour_sums(*arguments)
    ready = []
    for level, (call, arguments, answer) in levels.items():
        row = dict(op=op, shape=shape, dtype=args.dtype, level=level)
        try:
            check(op, args.dtype, arguments, call(*arguments), answer)
            ready.append((row, partial(call, *arguments), None))
        except Exception as error:
            ready.append((row, None, one_line(error)))
    return ready


def timed(row, call, reason, samples, busy):
    """A line of what is printed."""
    if call is None:
        return dict(kind="failed", **row, reason=reason)
    queue = None if row["op"] in WAITING else busy
    try:
        return dict(kind="row", **row) | times(" ".join(row.values()), call, samples, queue)
    except Exception as error:
        return dict(kind="failed", **row, reason=one_line(error))


@torch.inference_mode()
def process(cases, args, pipe):
    """Compiles all of its cases, says so, and times each when its turn has come."""
    torch.set_num_threads(args.threads)
    if ":" in args.device:
        torch.cuda.set_device(args.device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch._dynamo.config.recompile_limit = 8 + len(cases)  # one function on so many shapes
    busy = None if args.device == "cpu" else torch.randn(4096, 4096, device=args.device)
    ready = {case: prepared(case, args, busy) for case in cases}
    pipe.send("ready")
    for case in iter(pipe.recv, None):
        pipe.send([timed(*one, args.samples, busy) for one in ready.pop(case)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("cases", nargs="+", metavar="OP.SHAPE")
    parser.add_argument("--device", required=True)
    parser.add_argument("--dtype", choices=DTYPES, required=True)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--processes", type=int, default=1, help="that compile side by side")
    args = parser.parse_args()
    ops = dict.fromkeys(case.split(".")[0] for case in args.cases)
    unknown = [op for op in ops if op not in ALONE | COMPILED]
    if unknown:
        parser.error(f"no PyTorch version of {', '.join(unknown)}: add it to COMPILED in {__file__}")
    cases = args.cases
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(max(1, (os.cpu_count() or 1) // args.processes)))
    turns, pipes = {}, []
    for i in range(min(args.processes, len(cases))):
        share = cases[i :: args.processes]
        pipe, end = SPAWN.Pipe()
        SPAWN.Process(target=process, args=(share, args, end), daemon=True).start()
        end.close()  # so that a process that dies is the end of the pipe
        turns |= dict.fromkeys(share, pipe)
        pipes.append(pipe)
    for pipe in pipes:
        pipe.recv()
    for case in cases:
        turns[case].send(case)
        for line in turns[case].recv():
            print(json.dumps(line), flush=True)
    for pipe in pipes:
        pipe.send(None)


if __name__ == "__main__":
    # An earlier run's compiler chose for the machine as it was then.
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
        main()
