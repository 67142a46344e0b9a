#!/usr/bin/env python3
"""Profiles the row kernels at full size with Nsight Compute, and writes the table that the book shows.

    scripts/ncu_rows.py --out kernels/counters/rows.txt [--candle reduce.ptx]

It needs a GPU, ncu and Python. `--candle` names the PTX that a build with the feature `cuda` makes of candle's `reduce.cu`
(target/…/build/candle-kernels-…/out/reduce.ptx); without it, candle's rows are left out.
"""

import argparse
import csv
import datetime
import pathlib
import subprocess
import sys

import ncu  # scripts/ncu.py

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Column: counter.
METRICS = {
    "time": "gpu__time_duration.sum",
    "DRAM": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "possible": "sm__maximum_warps_per_active_cycle_pct",
    "memory": "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "barrier": "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    "registers": "launch__registers_per_thread",
}
NORM = "--arg f32:4096x2048:random --arg f32:2048:random --arg f32:4096x2048:poison"
SOFTMAX = "--arg f32:4096x4096:random --arg f32:4096x4096:poison"
OURS, GENERATED = "kernels/src", "kernels/generated"
# Row: PTX, flags. The grids and blocks are those of the levels, and of candle_nn::ops.
LAUNCHES = {
    "rms_norm 4096x2048, candle": (
        None,
        "--entry rmsnorm_f32 --grid 4096 --block 1024 --arg f32:4096x2048:random --arg f32:4096x2048:poison "
        "--arg f32:2048:random --arg i32:2048 --arg i32:1024 --arg f32:1e-5",
    ),
    "rms_norm 4096x2048, level 3": (
        f"{OURS}/rms_norm/level3.ptx",
        f"--entry rms_norm_f32_level3 --grid 4096 --block 256 {NORM} --arg u32:2048 --arg f32:1e-5",
    ),
    "rms_norm 4096x2048, level 4": (
        f"{GENERATED}/rms_norm/level4.sm_80.ptx",
        f"--entry rms_norm_f32_level4 --grid 2048 --block 128,2 {NORM} --arg u32:4096 --arg u32:2048 --arg f32:1e-5",
    ),
    "softmax 4096x4096, candle": (
        None,
        f"--entry softmax_f32 --grid 4096 --block 1,32 {SOFTMAX} --arg i32:4096",
    ),
    "softmax 4096x4096, level 3": (
        f"{OURS}/softmax/level3.ptx",
        f"--entry softmax_f32_level3 --grid 4096 --block 256 {SOFTMAX} --arg u32:4096 --arg f32:1",
    ),
    "softmax 4096x4096, level 4": (
        f"{GENERATED}/softmax/level4.sm_80.ptx",
        f"--entry softmax_f32_level4 --grid 4096 --block 256 {SOFTMAX} --arg u32:4096 --arg u32:4096 --arg f32:1",
    ),
}
HEAD = """\
                             time  DRAM    warps active  a warp waits for  registers
                             µs    %       %, possible   memory  barrier   a thread
"""


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", required=True, type=pathlib.Path, help="a file")
    options.add_argument("--candle", type=pathlib.Path, help="candle's reduce.ptx")
    args = options.parse_args()
    program = ncu.find_ncu()
    text = machine(program) + "\n\n" + HEAD
    for name, (ptx, flags) in LAUNCHES.items():
        ptx = ROOT / ptx if ptx else args.candle
        if ptx is None:
            print(f"skipped: {name}: no --candle", file=sys.stderr)
            continue
        text += row(name, profile(program, ptx, flags, METRICS)) + "\n"
    args.out.write_text(text)
    print(text)


def machine(program):
    """The first line of a table: GPU, driver, Nsight Compute and date."""
    gpu, driver = ncu.lines("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")[0].split(", ")
    version = ncu.lines(program, "--version")[-1].split(" (")[0].removeprefix("Version ")
    return f"{gpu}, driver {driver}, Nsight Compute {version}, {datetime.date.today()}"


def profile(program, ptx, flags, metrics):
    """The counters of the last of three launches."""
    command = [program, "--csv", "--page", "raw", "--print-units", "base", "--launch-skip", "2"]
    command += ["--metrics", ",".join(metrics.values()), sys.executable, ROOT / "scripts/run_ptx.py", ptx, *flags.split()]
    table = [line for line in ncu.lines(*command) if line.startswith('"')]
    last = list(csv.DictReader(table))[-1]
    return {name: float(last[metric].replace(",", "")) for name, metric in metrics.items() if last[metric] != "n/a"}


def row(name, of):
    occupancy = f"{of['occupancy']:.0f}, {of['possible']:.0f}"
    return (
        f"{name:<29}{of['time'] / 1e3:<6.1f}{of['DRAM']:<8.0f}{occupancy:<14}"
        f"{of['memory']:<8.1f}{of['barrier']:<10.1f}{of['registers']:.0f}"
    )


if __name__ == "__main__":
    main()
