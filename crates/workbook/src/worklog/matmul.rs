//! The worklog of matmul: nine steps and cuBLAS, at one size and at several.

use candle_core::cuda::{gemm_reduced_precision_f32, set_gemm_reduced_precision_f32};
use candle_core::{Device, Result, Tensor};
use kernels::worklogs::matmul::STEPS;
use results::OpRow;

use super::{Call, Worklog};

/// M, N and K of the comparison by size.
const SIZES: [usize; 5] = [256, 512, 1024, 2048, 4096];

/// Rows of cuBLAS, which candle calls: in f32, and with TF32 allowed.
const CUBLAS: &str = "candle";
const CUBLAS_TF32: &str = "candle_tf32";

const REFERENCES: [(&str, Call); 2] = [(CUBLAS, |x| x[0].matmul(&x[1])), (CUBLAS_TF32, with_tf32)];

/// The step that computes in TF32.
const TF32_STEP: usize = 9;

/// Large matrices.
pub static WORKLOG: Worklog = worklog(
    "matmul",
    &[4096],
    "Matmul of 4096 × 4096 matrices in nine steps",
);

/// Small to large matrices.
pub static BY_SIZE: Worklog = worklog(
    "matmul_sizes",
    &SIZES,
    "Matmul of square matrices in nine steps, by size",
);

/// Matmuls with M = N = K = `size`, for each of `sizes`.
const fn worklog(op: &'static str, sizes: &'static [usize], title: &'static str) -> Worklog {
    Worklog {
        op,
        sizes,
        shape: |size| format!("{size}x{size}x{size}"),
        title,
        operands,
        steps: || STEPS.iter().map(|step| (step.number, step.idea)).collect(),
        step: |number, x| STEPS[number - 1].matmul(&x[0], &x[1]),
        references: &REFERENCES,
        reference_of: |number| match number {
            TF32_STEP => (CUBLAS_TF32, "cuBLAS with TF32"),
            _ => (CUBLAS, "cuBLAS"),
        },
        difference,
        cost: |size| OpRow {
            flops: Some(2 * (size as u64).pow(3)),
            ..OpRow::default()
        },
    }
}

fn operands(device: &Device, size: usize) -> Result<Vec<Tensor>> {
    let operand = || Tensor::rand(-1f32, 1., (size, size), device);
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
