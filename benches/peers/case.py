"""One workload in PyTorch: `peers.py` starts this once for each.

Prints a line of JSON for what is ready, what failed, and `{"kind": "ready"}`; reads a line, which is its turn on the
device; and prints a line for each mode's times. Whatever else prints to stdout goes to stderr.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import torch

from job import Case, one_line
from modes import MODES, Overrun, choose_alone, limited, prepare, system
from timing import device_ms, in_turns, summary


OUT = os.fdopen(os.dup(1), "w")


def say(kind, **values):
    print(json.dumps(dict(kind=kind, **values)), file=OUT, flush=True)


def ready(case, job, expected, args, release):
    """The steps of the modes that work, and how far each is from level 1; the others are named."""
    steps, apart = {}, {}
    for mode in args.modes:
        start = time.perf_counter()
        try:
            with limited(args.limit):
                steps[mode], logits = prepare(mode, job)
            apart[mode] = case.check(logits, expected)
        except (Exception, Overrun) as error:
            steps.pop(mode, None)
            say("failed", **case.key, system=system(mode), reason=one_line(error))
        else:
            say("prepared", mode=mode, seconds=time.perf_counter() - start)
        release()
    return steps, apart


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--modes", nargs="+", choices=MODES, required=True)
    parser.add_argument("--samples", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--limit", type=float, required=True)
    parser.add_argument("--device", required=True)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if ":" in args.device:
        torch.cuda.set_device(args.device)
    # f32 is f32, as at the levels: no TF32 in products or convolutions.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False

    release = choose_alone(args.folder.parent)
    case = Case(args.folder)
    job, expected = case.load(args.device)
    steps, apart = ready(case, job, expected, args, release)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()  # others are waiting beside this one
    say("ready")
    if not sys.stdin.readline():
        return  # who asked has ended
    for mode, times in in_turns(job, steps, args.samples).items():
        on_device = device_ms(job, steps[mode], args.samples)
        row = dict(summary(times), device_ms=on_device, max_difference=apart[mode])
        say("row", **case.key, system=system(mode), **row)


if __name__ == "__main__":
    os.dup2(2, 1)
    with torch.no_grad():
        main()
