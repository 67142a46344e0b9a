"""The three models in plain PyTorch, beside the levels: `workbook compare --peers PYTHON` runs this.

    python3 benches/peers/peers.py FOLDER [--modes MODE …] [--samples N] [--limit SECONDS]

FOLDER holds a folder a workload, MODEL.PRESET.WORKLOAD.DTYPE, as `compare` writes it: config.json, model.safetensors, and
in workload.safetensors the inputs and the logits of level 1. Each workload has a process of its own (case.py), which
holds the logits to those and times nothing that is off; max-autotune has a second one in both its forms, for where it fails it
takes the other modes with it, and on a CPU it changes the compiler's settings. Several compile side by side, max-autotune after all
others; they are timed one after the other, when all have done with compiling, the two of a workload in succession. Lines of
JSON go to stdout: `row`, and `failed` with its reason.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from modes import MODES, ON_CPU, system

LOADING = 120.0  # seconds of a process for all but its modes, and for timing them


def say(line):
    """Whole, whichever thread says it."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Process:
    """A workload's process for some modes, those that it has not answered for, and its complaints."""

    def __init__(self, folder, modes, args):
        self.folder, self.open = folder, [system(mode) for mode in modes]
        options = dict(samples=args.samples, threads=args.threads, limit=args.limit, device=args.device)
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        command = [sys.executable, str(Path(__file__).with_name("case.py")), str(folder), *words]
        self.errors = tempfile.TemporaryFile("w+")
        threads = str(max(1, (os.cpu_count() or 1) // args.processes))
        env = dict(TORCHINDUCTOR_COMPILE_THREADS=threads, TORCHINDUCTOR_CACHE_DIR=args.cache) | os.environ
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.process = subprocess.Popen([*command, "--modes", *modes], env=env, **pipes)
        self.seconds = LOADING + len(modes) * args.limit

    def read(self):
        """Lines up to `ready`, or to the end."""
        # Each mode stops itself after its limit; this is for one that cannot be stopped.
        timer = threading.Timer(self.seconds, self.process.kill)
        timer.start()
        try:
            self.read_lines()
        finally:
            timer.cancel()

    def read_lines(self):
        for line in self.process.stdout:
            line = json.loads(line)
            match line["kind"]:
                case "ready":
                    return
                case "prepared":
                    text = f"{self.folder.name} {line['mode']}: ready after {line['seconds']:.0f} s"
                    print(text, file=sys.stderr, flush=True)
                case _:
                    self.open.remove(line["system"])
                    say(line)

    def measure(self):
        """Its turn on the device; what it leaves open has failed."""
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, as the code says
        self.read()
        code = self.process.wait()
        self.errors.seek(0)
        said = [line.strip() for line in self.errors if line.strip()]
        key = dict(zip(("model", "preset", "workload", "dtype"), self.folder.name.split(".")))
        for name in self.open:
            reason = f"its process ended with code {code}" + (f": {said[-1]}" if said else "")
            say(dict(kind="failed", **key, system=name, reason=reason))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--modes", nargs="+", choices=MODES, help="all that the device has")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="on a CPU")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds until a mode has to be ready")
    parser.add_argument("--processes", type=int, default=1, help="that compile side by side")
    args = parser.parse_args()
    on_cpu = args.device == "cpu"
    args.modes = args.modes or (ON_CPU if on_cpu else [mode for mode in MODES if mode != "compile"])
    for mode in args.modes:
        if on_cpu and mode not in ON_CPU:
            parser.error(f"--modes: expected {', '.join(ON_CPU)} on a CPU, found {mode}")

    def started(work):
        process = Process(*work, args)
        process.read()
        return process

    processes = []
    # An earlier run chose for the machine as it was then.
    cache = tempfile.TemporaryDirectory()
    args.cache = cache.name
    for alone in (False, True):
        work = []
        for folder in sorted(args.folder.iterdir()):
            able = [mode for mode in args.modes if mode != "pyg" or folder.name.startswith("gnn.")]
            if modes := [mode for mode in able if mode.startswith("max-autotune") == alone]:
                work.append((folder, modes))
        with ThreadPoolExecutor(args.processes) as pool:
            processes += pool.map(started, work)
    for process in sorted(processes, key=lambda process: process.folder):
        process.measure()


if __name__ == "__main__":
    main()
