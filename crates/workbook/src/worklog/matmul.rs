//! The worklog of matmul: nine steps and cuBLAS.

use candle_core::cuda::{gemm_reduced_precision_f32, set_gemm_reduced_precision_f32};
use candle_core::{Device, Result, Tensor};
use kernels::worklogs::matmul::STEPS;
use results::OpRow;

use super::Worklog;

/// M, N and K.
const SIZE: usize = 4096;

/// Rows of cuBLAS, which candle calls: in f32, and with TF32 allowed.
const CUBLAS: &str = "candle";
const CUBLAS_TF32: &str = "candle_tf32";

/// The step that computes in TF32.
const TF32_STEP: usize = 9;

pub static WORKLOG: Worklog = Worklog {
    op: "matmul",
    shape: || format!("{SIZE}x{SIZE}x{SIZE}"),
    title: "Matmul of 4096 × 4096 matrices in nine steps",
    operands,
    steps: || STEPS.iter().map(|step| (step.number, step.idea)).collect(),
    step: |number, x| STEPS[number - 1].matmul(&x[0], &x[1]),
    references: &[(CUBLAS, |x| x[0].matmul(&x[1])), (CUBLAS_TF32, with_tf32)],
    reference_of: |number| match number {
        TF32_STEP => (CUBLAS_TF32, "cuBLAS with TF32"),
        _ => (CUBLAS, "cuBLAS"),
    },
    difference,
    cost: || OpRow {
        flops: Some(2 * (SIZE as u64).pow(3)),
        ..OpRow::default()
    },
};

fn operands(device: &Device) -> Result<Vec<Tensor>> {
    let operand = || Tensor::rand(-1f32, 1., (SIZE, SIZE), device);
    Ok(vec![operand()?, operand()?])
}

/// cuBLAS with TF32 allowed, which is a setting of the process in candle.
fn with_tf32(x: &[Tensor]) -> Result<Tensor> {
    let before = gemm_reduced_precision_f32();
    set_gemm_reduced_precision_f32(true);
    let c = x[0].matmul(&x[1]);
    set_gemm_reduced_precision_f32(before);
    c
}

/// The largest difference from cuBLAS, relative to 1e-5 of Σ|a·b|; TF32 has 10 bits of mantissa.
fn difference(number: usize, x: &[Tensor]) -> Result<f32> {
    let (a, b) = (&x[0], &x[1]);
    let tolerance = if number == TF32_STEP { 1e-3 } else { 1e-5 };
    let bound = (a.abs()?.matmul(&b.abs()?)? * tolerance)?;
    let difference = (STEPS[number - 1].matmul(a, b)? - a.matmul(b)?)?.abs()?;
    (difference / bound)?.flatten_all()?.max(0)?.to_scalar()
}
