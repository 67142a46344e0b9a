#!/usr/bin/env python3
"""Profiles the nine steps of the matmul worklog with Nsight Compute, and writes the table that the book shows.

    scripts/ncu_steps.py --out kernels/counters/steps.txt

It needs a GPU, ncu and Python.
"""

import argparse
import pathlib

import ncu, ncu_rows  # scripts/ncu.py, scripts/ncu_rows.py

SIZE = 4096  # M, N and K
# Step: rows and columns of C of a block, its threads.
STEPS = {
    1: (32, "32,32"),
    2: (32, "32,32"),
    3: (32, "32,32"),
    4: (64, "512"),
    5: (128, "256"),
    6: (128, "256"),
    7: (128, "256"),
    8: (128, "256"),
    9: (128, "256"),
}
# Column: counter.
METRICS = {
    "time": "gpu__time_duration.sum",
    "DRAM": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "L1": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "FMA": "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
    "tensor": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "warps": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
# Why a warp does not issue an instruction: Nsight Compute's names of the states.
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
WAITS = (
    "barrier branch_resolving dispatch_stall drain lg_throttle long_scoreboard math_pipe_throttle membar "
    "mio_throttle no_instruction not_selected short_scoreboard sleeping tex_throttle wait"
).split()
SHOWN = 2  # waits of a row
HEAD = """\
step  time    DRAM  L1  FMA  tensor  warps   a warp waits, in cycles per
      ms      %     %   %    %       active  instruction, most for
"""


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", required=True, type=pathlib.Path, help="a file")
    args = options.parse_args()
    program = ncu.find_ncu()
    metrics = ncu.known(program, METRICS | {wait: STALL.format(wait) for wait in WAITS})
    text = ncu_rows.machine(program) + "\n\n" + HEAD
    for step in STEPS:
        [ptx] = (ncu_rows.ROOT / "kernels/generated/worklogs/matmul").glob(f"step{step}.*.ptx")
        text += row(step, ncu_rows.profile(program, ptx, flags(step), metrics)) + "\n"
    args.out.write_text(text)
    print(text)


def flags(step):
    tile, block = STEPS[step]
    operands = [f"f32:{SIZE}x{SIZE}:random"] * 2 + [f"f32:{SIZE}x{SIZE}:poison"] + [f"u32:{SIZE}"] * 3
    args = " ".join(f"--arg {operand}" for operand in operands)
    return f"--entry matmul_step{step} --grid {SIZE // tile},{SIZE // tile} --block {block} {args}"


def row(step, of):
    percent = lambda name: f"{of[name]:.0f}" if name in of else "–"
    waits = sorted((wait for wait in WAITS if wait in of), key=of.get, reverse=True)[:SHOWN]
    longest = ", ".join(f"{wait} {of[wait]:.1f}" for wait in waits)
    return (
        f"{step:<6}{of['time'] / 1e6:<8.2f}{percent('DRAM'):<6}{percent('L1'):<4}{percent('FMA'):<5}{percent('tensor'):<8}"
        f"{percent('warps'):<8}{longest}"
    )


if __name__ == "__main__":
    main()
