//! The kernel in the simulator: the same PTX, and the launch of `gpu.rs`.

use simt::{Arg, Buffer, Dim, Module, Options, Report, Result};

use super::silu_mul::{BLOCK, ENTRY, PTX};

/// Runs the kernel on slices of one length. Returns its result and what the simulator found and counted.
pub fn simulated(gate: &[f32], up: &[f32]) -> Result<(Vec<f32>, Report)> {
    let n = u32::try_from(gate.len()).expect("fewer than 2³² elements");
    let kernel = Module::parse(PTX)?.kernel(ENTRY)?;
    let mut buffers = [
        Buffer::f32s("gate", gate),
        Buffer::f32s("up", up),
        Buffer::uninitialised("y", size_of_val(gate)),
    ];
    let dim = Dim {
        grid: [n.div_ceil(BLOCK), 1, 1],
        block: [BLOCK, 1, 1],
        smem: 0,
    };
    let args = [Arg::Buffer(0), Arg::Buffer(1), Arg::Buffer(2), Arg::U32(n)];
    let report = kernel.launch(dim, &mut buffers, &args, &Options::default())?;
    Ok((buffers[2].to_f32s(), report))
}
