//! y = silu(gate) ⊙ up as an op of candle: a loop on the CPU, the kernel of `silu_mul.ptx` on a GPU, and a gradient.

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor, bail};
#[cfg(feature = "cuda")]
use candle_core::{CudaStorage, backend::BackendStorage};

/// The text of the kernel.
pub const PTX: &str = include_str!("silu_mul.ptx");
/// Its name in the text.
pub const ENTRY: &str = "silu_mul_f32";
/// Threads of a block, which the kernel has as a number.
pub const BLOCK: u32 = 256;

/// gate, up (same shape, f32, contiguous) → silu(gate) ⊙ up, in one launch.
///
/// # Errors
/// If shapes differ, if a tensor is not contiguous, or if a dtype is not f32.
pub fn silu_mul(gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    gate.apply_op2(up, SiluMul)
}

struct SiluMul;

impl CustomOp2 for SiluMul {
    fn name(&self) -> &'static str {
        "silu_mul"
    }

    fn cpu_fwd(
        &self,
        gate: &CpuStorage,
        gate_layout: &Layout,
        up: &CpuStorage,
        up_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let [gate_at, up_at] = ranges(gate_layout, up_layout)?;
        let gate = &gate.as_slice::<f32>()?[gate_at[0]..gate_at[1]];
        let up = &up.as_slice::<f32>()?[up_at[0]..up_at[1]];
        let y = gate.iter().zip(up).map(|(g, u)| g / (1. + (-g).exp()) * u);
        Ok((CpuStorage::F32(y.collect()), gate_layout.shape().clone()))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        gate: &CudaStorage,
        gate_layout: &Layout,
        up: &CudaStorage,
        up_layout: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        let [gate_at, up_at] = ranges(gate_layout, up_layout)?;
        let device = gate.device();
        let gate = gate.as_cuda_slice::<f32>()?;
        let up = up.as_cuda_slice::<f32>()?;
        let y = super::gpu::launch(
            device,
            &gate.slice(gate_at[0]..gate_at[1]),
            &up.slice(up_at[0]..up_at[1]),
        )?;
        let y = CudaStorage::wrap_cuda_slice(y, device.clone());
        Ok((y, gate_layout.shape().clone()))
    }

    fn bwd(
        &self,
        gate: &Tensor,
        up: &Tensor,
        _y: &Tensor,
        dy: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let sigmoid = (gate.neg()?.exp()? + 1.)?.recip()?;
        let silu = (gate * &sigmoid)?;
        // d silu(g)/dg = σ + g·σ·(1 − σ) = σ + silu·(1 − σ)
        let slope = (&sigmoid + (&silu * (1. - &sigmoid)?)?)?;
        let d_gate = ((dy * up)? * slope)?;
        let d_up = (dy * silu)?;
        Ok((Some(d_gate), Some(d_up)))
    }
}

/// First and last-plus-one element of both operands in their storages.
fn ranges(gate: &Layout, up: &Layout) -> Result<[[usize; 2]; 2]> {
    if gate.dims() != up.dims() {
        let (gate, up) = (gate.dims(), up.dims());
        bail!("silu_mul: expected two tensors of one shape, found {gate:?} and {up:?}");
    }
    match (gate.contiguous_offsets(), up.contiguous_offsets()) {
        (Some((a, b)), Some((c, d))) => Ok([[a, b], [c, d]]),
        _ => bail!("silu_mul: expected contiguous tensors; call contiguous() first"),
    }
}
