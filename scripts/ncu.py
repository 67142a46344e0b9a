#!/usr/bin/env python3
"""Reads the counters of the project's kernels on a GPU with Nsight Compute.

    scripts/ncu.py --program target/cuda/release/examples/counters --out FOLDER

runs the example `counters` of the crate `kernels` under ncu and writes FOLDER/h200.csv (as ncu prints it) and
FOLDER/h200.json (a launch a line, named after the GPU), which is kept in kernels/counters. On a machine
without Rust: `run.sh counters FOLDER` of the bundle that scripts/gpu-bundle.sh packs.

ncu needs permission to read counters: root, or a driver with NVreg_RestrictProfilingToAdminUsers=0.
"""

import argparse
import csv
import datetime
import glob
import json
import pathlib
import shutil
import subprocess
import sys

# The simulator's name of a value, and the counter that has it.
METRICS = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}

# Counters that explain the others, where this ncu has them: ldmatrix, copies from global to shared memory, floating-point
# instructions, and what was executed.
MORE = {
    "matrix_load_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
    "copy_requests_access": "sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "copy_sectors_access": "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "copy_requests_bypass": "sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "copy_sectors_bypass": "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "shared_load_instructions": "smsp__inst_executed_op_shared_ld.sum",
    "shared_store_instructions": "smsp__inst_executed_op_shared_st.sum",
    "global_load_instructions": "smsp__sass_inst_executed_op_global_ld.sum",
    "global_store_instructions": "smsp__sass_inst_executed_op_global_st.sum",
    "fadd": "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "fmul": "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    "ffma": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "instructions": "smsp__inst_executed.sum",
    "thread_instructions": "smsp__thread_inst_executed.sum",
    "divergent": "smsp__sass_branch_targets_threads_divergent.sum",
    "registers": "launch__registers_per_thread",
}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--program", required=True, type=pathlib.Path, help="the example `counters`")
    options.add_argument("--out", required=True, type=pathlib.Path, help="a folder")
    options.add_argument("--commit", default="", help="what the program was built from")
    args = options.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    ncu = find_ncu()
    gpu, driver = lines("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")[0].split(", ")
    metrics = METRICS | known(ncu, MORE)
    stem = args.out / gpu.split()[-1].lower()
    launches = profile(ncu, args.program, metrics, stem.with_suffix(".csv"))
    readings = read(stem.with_suffix(".csv"), metrics)
    head = {
        "gpu": gpu,
        "driver": driver,
        "ncu": lines(ncu, "--version")[-1],
        "date": datetime.date.today().isoformat(),
        "commit": args.commit or lines("git", "describe", "--always", "--dirty", "--exclude=*")[0],
        "metrics": metrics,
    }
    write(stem.with_suffix(".json"), head, joined(launches, readings))


def find_ncu():
    """In the path, or where the toolkits put it; the newest."""
    places = "/usr/local/cuda*/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu"
    found = shutil.which("ncu") or max((p for place in places for p in glob.glob(place)), default=None)
    return found or stop("ncu", "Nsight Compute, in the path or with a toolkit", "none")


def lines(*command):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        stop(" ".join(map(str, command)), "an answer", (run.stderr or run.stdout).strip())
    return run.stdout.strip().splitlines()


def known(ncu, metrics):
    """Those that this ncu has on this GPU; the others are named."""
    there = {line.split()[0] for line in lines(ncu, "--query-metrics") if line.strip()}
    is_there = lambda metric: metric.startswith("launch__") or metric.split(".")[0] in there
    for metric in metrics.values():
        if not is_there(metric):
            print(f"skipped: {metric}: this ncu does not have it", file=sys.stderr)
    return {name: metric for name, metric in metrics.items() if is_there(metric)}


def profile(ncu, program, metrics, log):
    """Runs the program; what it says of its launches."""
    command = [ncu, "--clock-control", "none", "--kernel-name", "regex:_level|_step", "--csv", "--page", "raw"]
    command += ["--print-units", "base", "--log-file", log, "--metrics", ",".join(metrics.values())]
    run = subprocess.run([*command, program, "cuda"], stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        stop(f"{program} under ncu", "it to end well", f"code {run.returncode}; see {log}")
    # ncu says on the same stream that it is there.
    return json.loads(run.stdout[run.stdout.index("[\n") : run.stdout.rindex("]") + 1])


def read(log, metrics):
    """A dictionary a launch, from the table that ncu printed."""
    table = [line for line in log.read_text().splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(table))[1:]  # the first holds the units
    value = lambda text: None if text == "n/a" else int(float(text.replace(",", "")))
    return [
        {
            "entry": row["Kernel Name"].split("(")[0],
            "grid": dim(row["Grid Size"]),
            "block": dim(row["Block Size"]),
            "read": {name: value(row[metric]) for name, metric in metrics.items()},
        }
        for row in rows
    ]


def dim(text):
    """`(3, 1, 1)`"""
    return [int(n) for n in text.strip("()").split(",")]


def joined(launches, readings):
    """Launches with their readings; both are in the order of the run."""
    if len(launches) != len(readings):
        stop("ncu", f"{len(launches)} launches", len(readings))
    for launch, reading in zip(launches, readings):
        wrong = [key for key in ("entry", "grid", "block") if launch[key] != reading[key]]
        if wrong:
            stop(f"{launch['case']}: {wrong[0]}", launch[wrong[0]], reading[wrong[0]])
    return [launch | {"read": reading["read"]} for launch, reading in zip(launches, readings)]


def write(path, head, launches):
    """Readings of zero are left out; one that ncu could not read is `null`."""
    for launch in launches:
        launch["read"] = {name: value for name, value in launch["read"].items() if value != 0}
    text = json.dumps(head, indent=1)[:-2] + ',\n "launches": [\n'
    path.write_text(text + ",\n".join(json.dumps(launch, ensure_ascii=False, separators=(",", ":")) for launch in launches) + "\n]}\n")
    print(f"{path}: {len(launches)} launches")


def stop(what, expected, found):
    print(f"error: {what}: expected {expected}, found {found}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
