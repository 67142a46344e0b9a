//! Level 4: register tiles, tensor cores for bf16, and a GEMV where x has few rows.
//!
//! A public function gives the operands to the CPU's loops (`cpu/level4.rs`) or to `launch`, which chooses a kernel:
//! `gemv.cu`, `tile_f32.cu` or `mma.cu`, each with the `.rs` of the same name. In bf16, `mma.cu` needs compute
//! capability 8.0: on a T4 only `gemv.cu` runs, and more than 8 rows are an error that names level 3.

pub(super) mod gemv;
mod mma;
mod packed;
mod tile_f32;

use candle_core::{DType, Result, Tensor};
use operands::Linear;
use trace::span;

use super::cpu;
pub(crate) use super::cpu::level4::Panels;
use super::gemm::{Epilogue, Gemm};
use super::tile::{choose, tiles};
use crate::element::{by_element, no_kernel};
pub(crate) use packed::Form;
pub(crate) use packed::Packed;

/// x·wᵀ + b: x (…, K), w (N, K), b (N) or none → (…, N)
///
/// # Errors
/// When shapes or devices do not agree, operands are not all f32 or all bf16, one is not contiguous, or, on a GPU
/// below compute capability 8.0, more than 8 rows of x are bf16.
pub fn linear(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span("linear_level4");
    without_activation("linear_level4", x, w, None)
}

/// x·wᵀ + b + residual: x (…, K), w (N, K), b (N) or none, residual (…, N) → (…, N), rounded once
///
/// # Errors
/// When shapes or devices do not agree, operands are not all f32 or all bf16, one is not contiguous, or, on a GPU
/// below compute capability 8.0, more than 8 rows of x are bf16.
pub fn linear_residual(x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
    let _span = span("linear_residual_level4");
    without_activation("linear_residual_level4", x, w, Some(residual))
}

fn without_activation(
    kernel: &str,
    x: &Tensor,
    w: &Linear,
    residual: Option<&Tensor>,
) -> Result<Tensor> {
    let (b, w) = (w.bias.as_ref(), Packed::of(&w.weight)?);
    let shape = super::check(kernel, x, w.dims, w.dtype, b, residual)?;
    match &w.form {
        Form::Cpu(w) => by_element!(
            "linear_level4",
            x.dtype(),
            cpu::level4::linear(x, w, b, residual, None)
        ),
        Form::Gpu(w) => launch(&Gemm {
            epilogue: Epilogue::Bias,
            x,
            w,
            b,
            residual,
            shape,
        }),
    }
}

/// gelu(x·wᵀ + b): x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When there is no bias, shapes or devices do not agree, operands are not all f32 or all bf16, one is not
/// contiguous, or, on a GPU below compute capability 8.0, more than 8 rows of x are bf16.
pub fn linear_gelu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span("linear_gelu_level4");
    let b = super::with_bias("linear_gelu_level4", w)?;
    let w = Packed::of(&w.weight)?;
    let shape = super::check("linear_gelu_level4", x, w.dims, w.dtype, Some(b), None)?;
    match &w.form {
        Form::Cpu(w) => by_element!(
            "linear_gelu_level4",
            x.dtype(),
            cpu::level4::linear_gelu(x, w, b, None)
        ),
        Form::Gpu(w) => launch(&Gemm {
            epilogue: Epilogue::BiasGelu,
            x,
            w,
            b: Some(b),
            residual: None,
            shape,
        }),
    }
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ): x (…, K), w (2F, K), the gate's rows above the up-projection's → (…, F)
///
/// # Errors
/// When there is a bias, shapes or devices do not agree, operands are not all f32 or all bf16, one is not contiguous,
/// or, on a GPU below compute capability 8.0, more than 8 rows of x are bf16.
pub fn linear_swiglu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span("linear_swiglu_level4");
    super::without_bias("linear_swiglu_level4", w)?;
    let w = Packed::gate_up_of(&w.weight)?;
    let (rows, k) = w.dims;
    let f = super::gate_rows("linear_swiglu_level4", rows)?;
    let shape = super::check("linear_swiglu_level4", x, (f, k), w.dtype, None, None)?;
    match &w.form {
        Form::Cpu(w) => by_element!(
            "linear_swiglu_level4",
            x.dtype(),
            cpu::level4::linear_swiglu(x, w, None)
        ),
        Form::Gpu(w) => launch(&Gemm {
            epilogue: Epilogue::SwiGlu,
            x,
            w,
            b: None,
            residual: None,
            shape,
        }),
    }
}

/// On a GPU: `gemv.cu` where x has few rows, else the tile that [`choose`] picks for the shape.
pub(super) fn launch(gemm: &Gemm) -> Result<Tensor> {
    if gemm.shape.m <= gemv::MAX_ROWS {
        return gemv::launch(gemm);
    }
    let tiles = tiles("linear_level4", gemm.x.dtype())?;
    launch_tile(gemm, choose(tiles, gemm.shape.m, gemm.rows_of_w()))
}

/// Launches the tile with this index in [`tiles`]: in f32 of `tile_f32.cu`, in bf16 of `mma.cu`.
pub(super) fn launch_tile(gemm: &Gemm, tile: usize) -> Result<Tensor> {
    match gemm.x.dtype() {
        DType::F32 => tile_f32::launch(gemm, tile),
        DType::BF16 => mma::launch(gemm, tile),
        other => Err(no_kernel("linear_level4", other)),
    }
}
