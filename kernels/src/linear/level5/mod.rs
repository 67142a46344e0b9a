//! Level 5: the kernel that was the fastest for this shape on this device.
//!
//! The entries are level 4's kernels one by one, a product of a few rows that splits K (`gemv_split.cu`), tiles
//! on tensor cores for f32 as well (`mma.cu`) and on Hopper's (`wgmma.cu`), the small tiles of
//! `matmul`, and NVIDIA's libraries: cuBLAS through candle, cuBLASLt with the bias and the residual in its epilogue.
//! cuBLASLt's GELU is the one with tanh; here it is the one with erf, so that its GELU stays out, and a kernel of
//! our own follows the product. On a CPU: level 4's panels, by one thread or by all.

mod call;
mod entries;
mod gemv_split;
mod mma;
mod registry;
mod run;
mod wgmma;

#[cfg(feature = "cuda")]
mod cublaslt;

use candle_core::{Result, Tensor};
use operands::Linear;

use crate::cpu::parallel::Threads;
use crate::dispatch::Picked;
use crate::matmul;
pub use call::Call;
use gemv_split::Split;
use mma::Mma;
pub use registry::REGISTRY;
use wgmma::Wgmma;

/// What computes a product with a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Level 4, whichever of its kernels it chooses.
    Level4,
    /// Level 4's tile at this place of its list.
    Tile(usize),
    /// Level 4's kernel for a few rows.
    Decode,
    /// A few rows, K split over the warps of a block.
    Split(Split),
    /// A tile on tensor cores; of f32 each product in three of TF32.
    Mma(Mma),
    /// A tile on Hopper's tensor cores.
    Wgmma(Wgmma),
    /// A tile of `matmul` on w as a transposed view.
    Small(matmul::level5::Tile),
    /// candle's product, which is cuBLAS's, and what follows it.
    Candle,
    /// cuBLASLt's product with the bias, and what follows it.
    CublasLt,
    /// Level 4's panels on a CPU, by so many threads.
    Panels(Threads),
}

/// x·wᵀ + b: x (…, K), w (N, K), b (N) or none → (…, N)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear(x: &Tensor, w: &Linear) -> Result<Tensor> {
    Ok(linear_with_info(x, w)?.0)
}

/// [`linear`], with the entry that ran and why.
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear_with_info(x: &Tensor, w: &Linear) -> Result<(Tensor, Picked<'static, Run>)> {
    Call::linear(x, w)?.picked()
}

/// x·wᵀ + b + residual: x (…, K), w (N, K), b (N) or none, residual (…, N) → (…, N), rounded once
///
/// cuBLAS through candle rounds the sums, too.
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear_residual(x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
    Ok(Call::residual(x, w, residual)?.picked()?.0)
}

/// gelu(x·wᵀ + b): x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When there is no bias, or shapes, formats or devices do not agree.
pub fn linear_gelu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    Ok(Call::gelu(x, w)?.picked()?.0)
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ): x (…, K), w (2F, K), the gate's rows above the up-projection's → (…, F)
///
/// # Errors
/// When there is a bias, or shapes, formats or devices do not agree.
pub fn linear_swiglu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    Ok(Call::swiglu(x, w)?.picked()?.0)
}
