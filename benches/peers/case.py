"""One workload in PyTorch: `peers.py` starts this once for each.

Prints a line of JSON for what is ready, what failed, and `{"kind": "ready"}`; reads a line, which is its turn on the
device; and prints a line for each mode's times.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import torch

from job import Case
from modes import MODES, Overrun, choose_alone, limited, prepare, system
from timing import device_ms, in_turns, summary


def say(kind, **values):
    print(json.dumps(dict(kind=kind, **values)), flush=True)


def one_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    name = "" if isinstance(error, (Overrun, ValueError)) else f"{type(error).__name__}: "
    return name + (lines[0] if lines else "no message")


def ready(case, job, expected, args):
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

    choose_alone(args.folder.parent)
    case = Case(args.folder)
    job, expected = case.load(args.device)
    steps, apart = ready(case, job, expected, args)
    say("ready")
    sys.stdin.readline()
    for mode, times in in_turns(job, steps, args.samples).items():
        on_device = device_ms(job, steps[mode], args.samples)
        row = dict(summary(times), device_ms=on_device, max_difference=apart[mode])
        say("row", **case.key, system=system(mode), **row)


if __name__ == "__main__":
    with torch.no_grad():
        main()
