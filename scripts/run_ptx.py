#!/usr/bin/env python3
"""Launches one kernel of a PTX file on a GPU, with the flags of `cargo run --release -- sim`, for a profiler to look at.

    scripts/run_ptx.py FILE.ptx --entry NAME --grid 4096 --block 256 --arg f32:4096x2048:random --arg u32:2048
    ncu --set full scripts/run_ptx.py FILE.ptx …

It needs Python and the driver, and neither Rust nor a CUDA toolkit. Buffers hold f32: `random`, or `poison`, which is NaN.
`--times N` launches N times (default 3: the first ones warm up).
"""

import argparse
import array
import ctypes
import math
import pathlib
import random
import sys

BYTES = {"u32": ctypes.c_uint32, "i32": ctypes.c_int32, "u64": ctypes.c_uint64, "f32": ctypes.c_float}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("ptx", type=pathlib.Path)
    options.add_argument("--entry", required=True)
    options.add_argument("--grid", default="1")
    options.add_argument("--block", default="32")
    options.add_argument("--smem", type=int, default=0)
    options.add_argument("--arg", action="append", default=[])
    options.add_argument("--times", type=int, default=3)
    args = options.parse_args()
    cuda = Driver()
    function = cuda.function(args.ptx.read_bytes(), args.entry.encode())
    values = [cuda.argument(text) for text in args.arg]
    pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    for _ in range(args.times):
        grid, block = triple(args.grid), triple(args.block)
        cuda("cuLaunchKernel", function, *grid, *block, args.smem, None, pointers, None)
    cuda("cuCtxSynchronize")
    print(f"{args.entry}: {args.times} launches")


class Driver:
    """libcuda with a context on the first GPU; a call that fails ends the program."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)

    def __call__(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code != 0:
            sys.exit(f"error: {name}: expected 0, found {code}")

    def function(self, ptx, entry):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), ptx + b"\0")
        self("cuModuleGetFunction", ctypes.byref(function), module, entry)
        return function

    def argument(self, text):
        """`u32:2048`, `f32:4096x2048:random`"""
        kind, value, *contents = text.split(":")
        if kind not in BYTES:
            sys.exit(f"error: --arg: expected {', '.join(BYTES)}, found {kind!r}")
        if not contents:
            return BYTES[kind](float(value) if kind == "f32" else int(value))
        n = math.prod(int(size) for size in value.split("x"))
        draw = random.Random(0)
        row = [draw.uniform(-1, 1) if contents[0] == "random" else math.nan for _ in range(min(n, 8192))]
        host = array.array("f", row * -(-n // len(row)))[:n]
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4 * n))
        self("cuMemcpyHtoD_v2", address, ctypes.c_void_p(host.buffer_info()[0]), ctypes.c_size_t(4 * n))
        return address


def triple(text):
    sizes = [int(size) for size in text.split(",")]
    return sizes + [1] * (3 - len(sizes))


if __name__ == "__main__":
    main()
