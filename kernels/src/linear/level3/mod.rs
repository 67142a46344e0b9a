//! Level 3: one tile of y per block, with the rows that it needs in shared memory. The kernel of `linear.ptx` in CUDA
//! C++: `linear.cu`. One row of x, a token being decoded, has kernels without a tile, `gemv.ptx` and `gemv_swiglu.ptx`;
//! with GELU, which no decode step calls, it takes the tile.

use candle_core::{Result, Tensor};
use operands::Linear;
use trace::span;

use super::{Shape, cpu};
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module, on_cpu};

static LINEAR: Module = module!("linear/level3/linear");
static LINEAR_BF16: Module = module!("linear/level3/linear_bf16");
static GELU: Module = module!("linear/level3/gelu");
static GELU_BF16: Module = module!("linear/level3/gelu_bf16");
static SWIGLU: Module = module!("linear/level3/swiglu");
static SWIGLU_BF16: Module = module!("linear/level3/swiglu_bf16");
static GEMV: Module = module!("linear/level3/gemv");
static GEMV_BF16: Module = module!("linear/level3/gemv_bf16");
static GEMV_SWIGLU: Module = module!("linear/level3/gemv_swiglu");
static GEMV_SWIGLU_BF16: Module = module!("linear/level3/gemv_swiglu_bf16");

/// x·wᵀ + b: x (…, K), w (N, K), b (N) or none → (…, N)
///
/// # Errors
/// When shapes, dtypes or devices do not agree.
pub fn linear(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span("linear_level3");
    without_activation("linear_level3", x, w, None)
}

/// x·wᵀ + b + residual: x (…, K), w (N, K), b (N) or none, residual (…, N) → (…, N), rounded once
///
/// # Errors
/// When shapes, dtypes or devices do not agree.
pub fn linear_residual(x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
    let _span = span("linear_residual_level3");
    without_activation("linear_residual_level3", x, w, Some(residual))
}

fn without_activation(
    kernel: &str,
    x: &Tensor,
    w: &Linear,
    residual: Option<&Tensor>,
) -> Result<Tensor> {
    let (b, w) = (w.bias.as_ref(), w.weight.tensor());
    let shape = super::check(kernel, x, w.dims2()?, w.dtype(), b, residual)?;
    if on_cpu(x.device()) {
        return dispatch!(
            "linear_level3",
            x.dtype(),
            cpu::level3::linear(x, w, b, residual)
        );
    }
    let operands = [Some(w), b, residual];
    if shape.m == 1 {
        let (module, entry) = by_dtype(
            "linear_level3",
            x.dtype(),
            (&GEMV, "linear_row_f32_level3"),
            (&GEMV_BF16, "linear_row_bf16_level3"),
        )?;
        return launch_row(module, entry, x, &operands, shape);
    }
    let (module, entry) = by_dtype(
        "linear_level3",
        x.dtype(),
        (&LINEAR, "linear_f32_level3"),
        (&LINEAR_BF16, "linear_bf16_level3"),
    )?;
    launch(module, entry, x, &operands, shape)
}

/// gelu(x·wᵀ + b): x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When there is no bias, or shapes, dtypes or devices do not agree.
pub fn linear_gelu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span("linear_gelu_level3");
    let b = super::with_bias("linear_gelu_level3", w)?;
    let w = w.weight.tensor();
    let (dims, dtype) = (w.dims2()?, w.dtype());
    let shape = super::check("linear_gelu_level3", x, dims, dtype, Some(b), None)?;
    if on_cpu(x.device()) {
        return dispatch!(
            "linear_gelu_level3",
            x.dtype(),
            cpu::level3::linear_gelu(x, w, b)
        );
    }
    let (module, entry) = by_dtype(
        "linear_gelu_level3",
        x.dtype(),
        (&GELU, "linear_gelu_f32_level3"),
        (&GELU_BF16, "linear_gelu_bf16_level3"),
    )?;
    launch(module, entry, x, &[Some(w), Some(b)], shape)
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ): x (…, K), w (2F, K), the gate's rows above the up-projection's → (…, F)
///
/// # Errors
/// When there is a bias, or shapes, dtypes or devices do not agree.
pub fn linear_swiglu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span("linear_swiglu_level3");
    super::without_bias("linear_swiglu_level3", w)?;
    let w = w.weight.tensor();
    let (rows, k) = w.dims2()?;
    let f = super::gate_rows("linear_swiglu_level3", rows)?;
    let shape = super::check("linear_swiglu_level3", x, (f, k), w.dtype(), None, None)?;
    if on_cpu(x.device()) {
        return dispatch!(
            "linear_swiglu_level3",
            x.dtype(),
            cpu::level3::linear_swiglu(x, w)
        );
    }
    if shape.m == 1 {
        let (module, entry) = by_dtype(
            "linear_swiglu_level3",
            x.dtype(),
            (&GEMV_SWIGLU, "linear_swiglu_row_f32_level3"),
            (&GEMV_SWIGLU_BF16, "linear_swiglu_row_bf16_level3"),
        )?;
        return launch_row(module, entry, x, &[Some(w), None], shape);
    }
    let (module, entry) = by_dtype(
        "linear_swiglu_level3",
        x.dtype(),
        (&SWIGLU, "linear_swiglu_f32_level3"),
        (&SWIGLU_BF16, "linear_swiglu_bf16_level3"),
    )?;
    launch(module, entry, x, &[Some(w), None], shape)
}

/// Rows and columns of y that a block computes, and its threads each way.
const TILE: usize = 32;

/// `operands` are those after x, in the order of the parameters.
fn launch(
    module: &'static Module,
    entry: &'static str,
    x: &Tensor,
    operands: &[Option<&Tensor>],
    Shape { m, n, k }: Shape,
) -> Result<Tensor> {
    let y = super::output_like(x, n)?;
    let mut launch = Launch::new(module, entry)
        .grid(n.div_ceil(TILE) * m.div_ceil(TILE), 1, 1)
        .block(TILE, TILE / 4, 1)
        .read(x);
    for operand in operands {
        launch = launch.read_or_null(*operand);
    }
    launch
        .write(&y)
        .u32(m)
        .u32(n)
        .u32(k)
        .u32(k * x.dtype().size_in_bytes())
        .launch()?;
    Ok(y)
}

/// Lanes of a warp, and warps of a block in `gemv.ptx`, each with an element of y.
const WARP: usize = 32;
const WARPS: usize = 4;

/// For one row of x. `operands` are those after x, in the order of the parameters.
fn launch_row(
    module: &'static Module,
    entry: &'static str,
    x: &Tensor,
    operands: &[Option<&Tensor>],
    Shape { n, k, .. }: Shape,
) -> Result<Tensor> {
    let y = super::output_like(x, n)?;
    let mut launch = Launch::new(module, entry)
        .grid(n.div_ceil(WARPS), 1, 1)
        .block(WARP, WARPS, 1)
        .read(x);
    for operand in operands {
        launch = launch.read_or_null(*operand);
    }
    launch.write(&y).u32(n).u32(k).launch()?;
    Ok(y)
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};
    use simt::Options;

    use super::*;
    use crate::launch::simulated;
    use crate::testing::{bits, rng, uniform};

    /// `linear.cu`, which no level launches.
    static READING_VERSION: Module = module!("linear/level3/linear", sm_75);

    #[test]
    fn the_reading_version_equals_the_ptx_bit_by_bit() -> Result<()> {
        let mut rng = rng();
        for (m, n, k) in [
            (1, 1, 1),
            (3, 40, 7),
            (33, 31, 65),
            (40, 70, 32),
            (64, 32, 100),
        ] {
            let mut random = |dims: &[usize]| -> Result<Tensor> {
                Ok(uniform(&mut rng, dims, DType::F32, &Device::Cpu)?.0)
            };
            let (x, w) = (random(&[m, k])?, random(&[n, k])?);
            let (b, residual) = (random(&[n])?, random(&[m, n])?);
            for (b, residual) in [(Some(&b), Some(&residual)), (Some(&b), None), (None, None)] {
                let operands = [Some(&w), b, residual];
                let ([cuda, ptx], reports) = simulated(Options::default(), || {
                    [&READING_VERSION, &LINEAR].map(|module| {
                        launch(
                            module,
                            "linear_f32_level3",
                            &x,
                            &operands,
                            Shape { m, n, k },
                        )
                    })
                });
                assert_eq!(bits(&cuda?)?, bits(&ptx?)?, "{m} × {n} × {k}");
                assert!(reports.len() == 2 && reports.iter().all(|r| r.is_clean()));
            }
        }
        Ok(())
    }
}
