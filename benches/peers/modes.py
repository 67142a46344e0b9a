"""Ways to run a forward pass in PyTorch.

eager               op by op
graph               the same, captured as a CUDA graph and replayed
compile             torch.compile as it comes
reduce-overhead     torch.compile with CUDA graphs
max-autotune        the same, with kernels that are chosen by timing them; on a CPU with frozen weights
max-autotune-graph  what it makes, captured and replayed as `graph` is: no guards between the call and the GPU
max-autotune-pdl    the same, whose kernels start before the one before has ended (programmatic dependent launch)
pyg                 op by op, with PyG's own layers: the graph transformer
"""

import fcntl
import os
import signal
from contextlib import contextmanager
from functools import partial, wraps

import torch
from torch._dynamo.utils import counters

from timing import WARM_UP, captured


def eager(job):
    return job.forward


def graph(job):
    return recorded(job, job.forward)


def recorded(job, forward):
    """Inputs are copied to where the recording reads them, as for the levels."""
    inputs = [x.clone() for x in job.steps[0]]
    recording, logits = captured(lambda: forward(*inputs))

    def replay(*new):
        for own, x in zip(inputs, new):
            own.copy_(x)
        recording.replay()
        return logits

    return replay


def compiled(mode, job):
    forward = torch.compile(job.forward, mode=mode, fullgraph=True, dynamic=False)

    def step(*inputs):
        torch.compiler.cudagraph_mark_step_begin()
        return forward(*inputs)

    return step


def tuned(job):
    """On a CPU the weights are constants, which a product may have in the layout that suits it."""
    torch._inductor.config.freezing = job.device.type == "cpu"
    return compiled("max-autotune", job)


def tuned_graph(job):
    return recorded(job, torch.compile(job.forward, mode="max-autotune-no-cudagraphs", fullgraph=True, dynamic=False))


def tuned_pdl(job):
    options = torch._inductor.list_mode_options("max-autotune-no-cudagraphs") | {"triton.enable_pdl": True}
    return recorded(job, torch.compile(job.forward, options=options, fullgraph=True, dynamic=False))


MODES = {
    "eager": eager,
    "graph": graph,
    "compile": partial(compiled, "default"),
    "reduce-overhead": partial(compiled, "reduce-overhead"),
    "max-autotune": tuned,
    "max-autotune-graph": tuned_graph,
    "max-autotune-pdl": tuned_pdl,
    "pyg": lambda job: job.by_pyg(),
}
ON_CPU = ["eager", "compile", "max-autotune", "pyg"]  # the others are about CUDA graphs


def system(mode):
    """The name in the recorded figures."""
    name = mode.replace("-", "_")
    if mode == "pyg":
        return name
    return f"pytorch_{name}" if mode in ("eager", "graph", "compile") else f"pytorch_compile_{name}"


def prepare(mode, job):
    """The step of a mode, warm, and the logits of the last, or of the first where the steps choose their own tokens.

    Raises ValueError when the compiler has left out the CUDA graphs that the mode is about.
    """
    counters["inductor"]["cudagraph_skips"] = 0
    step = MODES[mode](job)
    for _ in range(WARM_UP):
        job.rewind()
        for inputs in job.steps:
            logits = step(*inputs)
    if not job.waits:  # the steps after the first read what they chose themselves, which may be another token
        job.rewind()
        logits = step(*job.steps[0]).clone()
    skipped = counters["inductor"]["cudagraph_skips"]
    if skipped and job.device.type == "cuda":
        raise ValueError(f"expected CUDA graphs, found {skipped} that the compiler skipped")
    return step, logits


def choose_alone(folder):
    """From here on the compiler times its kernels while no other process with this folder does, or they would slow each
    other's down, and it might choose another one. The function that comes back ends what a limit has interrupted."""
    lock, depth = os.open(folder, os.O_RDONLY), 0

    def release():
        nonlocal depth
        depth = 0
        fcntl.flock(lock, fcntl.LOCK_UN)

    def alone(measure):
        @wraps(measure)
        def wrapped(*args, **kwargs):
            nonlocal depth
            if depth == 0:
                fcntl.flock(lock, fcntl.LOCK_EX)
            depth += 1
            try:
                return measure(*args, **kwargs)
            finally:
                depth -= 1
                if depth == 0:
                    fcntl.flock(lock, fcntl.LOCK_UN)

        return wrapped

    from torch._inductor.runtime.benchmarking import benchmarker

    for name in dir(benchmarker):
        if name.startswith(("benchmark_gpu", "benchmark_cpu")):
            setattr(benchmarker, name, alone(getattr(benchmarker, name)))
    return release


class Overrun(BaseException):
    """No Exception: a compiler that tries one thing after the other would go on to the next."""


@contextmanager
def limited(seconds):
    """Raises Overrun in what takes longer."""

    def late(*_):
        raise Overrun(f"not ready after {seconds:.0f} s")

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, 5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
