"""Times of a forward pass, measured as `workbook compare` measures the levels.

A sample is one run of a job: one forward pass, or the steps of a decode, the device done with each before the next
begins; where the device chooses the tokens, the host queues all steps and waits once. The modes take turns, so that a
machine that grows warm or busy hits all alike; a short run is made twice, and the second is the sample, so that no mode
finds in the caches what another has left.
"""

import statistics
import time

import torch

LONGEST = 10.0  # seconds of a mode's samples; one that is slower than that has the fewest
FEWEST = 3
UNTOUCHED = 50.0  # milliseconds: a run that takes longer has the caches to itself for most of it
AHEAD = 8  # products that keep the GPU busy, some twenty milliseconds, while a forward pass is queued
ON_DEVICE = 10  # samples on the device
WARM_UP = 3  # runs: compilation, the recording, a replay


def synchronize():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def run(job, step):
    """Milliseconds of a run, the host's part included."""
    job.rewind()
    synchronize()
    start = time.perf_counter()
    for inputs in job.steps:
        step(*inputs)
        if job.waits:
            synchronize()
    synchronize()
    return (time.perf_counter() - start) * 1e3


def host(job, step):
    """Milliseconds of a forward pass that finds its own in the caches."""
    ms = run(job, step)
    if ms < UNTOUCHED:
        ms = run(job, step)
    return ms / len(job.steps)


def on_device(job, step, busy):
    """Milliseconds between two events around a forward pass that waits in the GPU's queue as a whole; None if the GPU
    was there first."""
    job.rewind()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(AHEAD):
        busy @ busy
    start.record()
    step(*job.steps[len(job.steps) // 2])
    end.record()
    late = start.query()
    end.synchronize()
    return None if late else start.elapsed_time(end)


def in_turns(job, steps, samples):
    """Samples of each of `steps`, by name: milliseconds on the host's clock."""
    times, names = {name: [] for name in steps}, list(steps)
    for turn in range(samples):
        for i in range(len(names)):
            name = names[(turn + i) % len(names)]
            seconds = sum(times[name]) * len(job.steps) / 1e3
            if turn < FEWEST or seconds < LONGEST:
                times[name].append(host(job, steps[name]))
    return times


def device_ms(job, step, samples):
    """The median on the device alone; None on a CPU, and where the device would wait for the host."""
    device = job.device
    if device.type == "cpu":
        return None
    busy = torch.randn(4096, 4096, device=device)
    times = [on_device(job, step, busy) for _ in range(min(samples, ON_DEVICE))]
    return None if None in times else statistics.median(times)


def spread(times):
    """The first decile, the median and the ninth decile, straight lines between neighbours."""
    several = times if len(times) > 1 else 2 * times
    deciles = statistics.quantiles(several, n=10, method="inclusive")
    return deciles[0], deciles[4], deciles[8]


def summary(times):
    low, median, high = spread(times)
    return dict(median_ms=median, low_ms=low, high_ms=high, samples=len(times))


def captured(call, calls=1):
    """`calls` calls as one CUDA graph, after a warm-up, and what the last of them gives."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            result = call()
    return graph, result
