//! The kernel on a GPU: through candle's device, and with cudarc alone.

use candle_core::cuda_backend::WrapErr;
use candle_core::cuda_backend::cudarc::driver::{
    CudaContext, CudaSlice, CudaView, LaunchConfig, PushKernelArg,
};
use candle_core::cuda_backend::cudarc::nvrtc::{Ptx, compile_ptx};
use candle_core::{CudaDevice, Error, Result};

use super::silu_mul::{BLOCK, ENTRY, PTX};

/// The launch of the op, on the stream of candle's device. Returns before the kernel ends.
pub fn launch(
    device: &CudaDevice,
    gate: &CudaView<f32>,
    up: &CudaView<f32>,
) -> Result<CudaSlice<f32>> {
    let n = gate.len();
    // SAFETY: the kernel writes all n elements before anything on this stream reads them.
    let mut y = unsafe { device.alloc::<f32>(n) }?;
    if n == 0 {
        return Ok(y);
    }
    let function = device.get_or_load_custom_func(ENTRY, "silu_mul", PTX)?;
    let n = u32::try_from(n).map_err(Error::wrap)?;
    let mut builder = function.builder();
    builder.arg(gate).arg(up).arg(&mut y).arg(&n);
    // SAFETY: these are the parameters of the entry, in its order, and it stays inside n elements of each.
    unsafe { builder.launch(config(n)) }.w()?;
    Ok(y)
}

/// One thread per element.
fn config(n: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (n.div_ceil(BLOCK), 1, 1),
        block_dim: (BLOCK, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// Where the text of the kernel comes from.
pub enum Source {
    /// The hand-written PTX.
    Ptx,
    /// CUDA C++, compiled by NVRTC.
    Cuda,
}

/// The same launch with cudarc alone: from slices of the host to a vector of the host.
pub fn without_candle(source: Source, gate: &[f32], up: &[f32]) -> Result<Vec<f32>> {
    let context = CudaContext::new(0).w()?;
    let stream = context.default_stream();
    let text = match source {
        Source::Ptx => Ptx::from_src(PTX),
        Source::Cuda => compile_ptx(include_str!("silu_mul.cu")).w()?,
    };
    let module = context.load_module(text).w()?;
    let function = module.load_function(ENTRY).w()?;

    let gate = stream.clone_htod(gate).w()?;
    let up = stream.clone_htod(up).w()?;
    let n = u32::try_from(gate.len()).map_err(Error::wrap)?;
    let mut y = stream.alloc_zeros::<f32>(gate.len()).w()?;
    let mut builder = stream.launch_builder(&function);
    builder.arg(&gate).arg(&up).arg(&mut y).arg(&n);
    // SAFETY: as in `launch`.
    unsafe { builder.launch(config(n)) }.w()?;
    stream.clone_dtoh(&y).w()
}
