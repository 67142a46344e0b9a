//! Level 5: the kernel that was the fastest for this shape on this device.
//!
//! The registry has level 4's kernels one by one, a GEMV that splits K (`gemv_split.cu`), one with a whole row in flight
//! (`row_gemv.cu`), which a decode step in a chain runs by a fixed rule, tiles on tensor cores for f32
//! as well (`mma.cu`) and on Hopper's (`wgmma.cu`), the small tiles of `matmul`, and NVIDIA's libraries: cuBLAS through
//! candle, cuBLASLt with the bias and the residual in its epilogue. The kernel of `gelu` follows cuBLASLt's matmul,
//! because cuBLASLt's GELU is the one with tanh, and this one has erf. On a CPU: level 4's panels, by one thread or by all.
//!
//! One row of x with its RMSNorm is one launch, [`norm_linear`] and [`norm_swiglu`]: a rule and no entry, because it saves a
//! launch and is measured against two. [`head_pass`] is the same launch at the end of a decode step. It saves two more.
//!
//! [`Call`] checks the operands, `registry.rs` lists the entries, and `run.rs` runs one: it is the one place that chooses
//! between the CPU's loops and the launches.

mod call;
mod gemv_split;
mod mma;
mod norm_gemv;
mod registry;
mod row_gemv;
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
use gemv_split::GemvSplit;
use mma::Mma;
#[cfg(test)]
pub(super) use norm_gemv::MODULE as NORM_GEMV;
pub use norm_gemv::{head_pass, norm_linear, norm_swiglu};
pub use registry::REGISTRY;
use wgmma::Wgmma;

/// An implementation of x·wᵀ and its epilogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Level 4, whichever of its kernels it chooses: in tables `linear_level4`.
    Level4,
    /// Level 4's tile of this index: `level4/tile_f32.cu` or `level4/mma.cu`, in tables such as `linear_level4_f32_64x64`.
    Tile(usize),
    /// Level 4's kernel for a few rows of x: `level4/gemv.cu`, in tables `linear_level4_gemv`.
    Gemv,
    /// A few rows of x, K split over the warps of a block: `gemv_split.cu`, in tables `linear_level5_split_1` and `_4`.
    GemvSplit(GemvSplit),
    /// One row of x, all of a row of w in flight: `row_gemv.cu`, in tables `linear_level5_row_gemv`.
    RowGemv,
    /// A tile on tensor cores; in f32 each product is three of TF32: `mma.cu`, in tables such as
    /// `linear_tf32x3_level5_128x64`.
    Mma(Mma),
    /// A tile on Hopper's tensor cores: `wgmma.cu`, in tables such as `linear_bf16_level5_128x192`.
    Wgmma(Wgmma),
    /// A tile of `matmul` on w as a transposed view: `matmul/level5/tile.cu`, in tables the names of that op.
    Small(matmul::level5::BlockTile),
    /// candle's matmul, which is cuBLAS's, then the epilogue in kernels of its own: in tables `candle`.
    Candle,
    /// cuBLASLt's matmul with bias and residual, then the activation in kernels of its own: in tables `cublaslt`.
    CublasLt,
    /// Level 4's panels on a CPU, by so many threads: in tables `linear_level5_one_thread` and `linear_level5_threads`.
    Panels(Threads),
}

/// x·wᵀ + b: x (…, K), w (N, K), b (N) or none → (…, N)
///
/// # Errors
/// When shapes or devices do not agree, operands are not all f32 or all bf16, or no kernel can.
pub fn linear(x: &Tensor, w: &Linear) -> Result<Tensor> {
    Ok(linear_with_info(x, w)?.0)
}

/// [`linear`], with the entry that ran and why.
///
/// # Errors
/// When shapes, dtypes or devices do not agree.
pub fn linear_with_info(x: &Tensor, w: &Linear) -> Result<(Tensor, Picked<'static, Run>)> {
    Call::linear(x, w)?.picked()
}

/// x·wᵀ + b + residual: x (…, K), w (N, K), b (N) or none, residual (…, N) → (…, N), rounded once
///
/// cuBLAS through candle rounds the sums, too.
///
/// # Errors
/// When shapes or devices do not agree, operands are not all f32 or all bf16, or no kernel can.
pub fn linear_residual(x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
    Ok(Call::residual(x, w, residual)?.picked()?.0)
}

/// gelu(x·wᵀ + b): x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When there is no bias, shapes or devices do not agree, operands are not all f32 or all bf16, or no kernel can.
pub fn linear_gelu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    Ok(Call::gelu(x, w)?.picked()?.0)
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ): x (…, K), w (2F, K), the gate's rows above the up-projection's → (…, F)
///
/// # Errors
/// When there is a bias, shapes or devices do not agree, operands are not all f32 or all bf16, or no kernel can.
pub fn linear_swiglu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    Ok(Call::swiglu(x, w)?.picked()?.0)
}
