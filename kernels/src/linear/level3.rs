//! Level 3: a tile of y a block, the rows that it needs in shared memory.

use candle_core::{Result, Tensor};

use super::{Shape, cpu};
use crate::element::{dispatch, entry};
use crate::launch::{Launch, Module, module, of_dtype, on_cpu};

static LINEAR: Module = module!("linear_level3", "level3.ptx");
static LINEAR_BF16: Module = module!("linear_level3_bf16", "level3_bf16.ptx");
static GELU: Module = module!("linear_gelu_level3", "level3_gelu.ptx");
static GELU_BF16: Module = module!("linear_gelu_level3_bf16", "level3_gelu_bf16.ptx");
static SWIGLU: Module = module!("linear_swiglu_level3", "level3_swiglu.ptx");
static SWIGLU_BF16: Module = module!("linear_swiglu_level3_bf16", "level3_swiglu_bf16.ptx");

/// x·wᵀ + b: x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    let shape = super::check("linear_level3", x, w.dims2()?, w.dtype(), b)?;
    if on_cpu(x.device()) {
        return dispatch!("linear_level3", x.dtype(), cpu::level3::linear(x, w, b));
    }
    let entry = entry!("linear", x.dtype(), "level3")?;
    launch(
        of_dtype(x.dtype(), &LINEAR, &LINEAR_BF16),
        entry,
        x,
        w,
        b,
        shape,
    )
}

/// gelu(x·wᵀ + b): x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear_gelu(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    let shape = super::check("linear_gelu_level3", x, w.dims2()?, w.dtype(), Some(b))?;
    if on_cpu(x.device()) {
        return dispatch!(
            "linear_gelu_level3",
            x.dtype(),
            cpu::level3::linear_gelu(x, w, b)
        );
    }
    let entry = entry!("linear_gelu", x.dtype(), "level3")?;
    launch(
        of_dtype(x.dtype(), &GELU, &GELU_BF16),
        entry,
        x,
        w,
        Some(b),
        shape,
    )
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ): x (…, K), w (2F, K), the gate's rows above the up-projection's → (…, F)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear_swiglu(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let (rows, k) = w.dims2()?;
    let f = super::half("linear_swiglu_level3", rows)?;
    let shape = super::check("linear_swiglu_level3", x, (f, k), w.dtype(), None)?;
    if on_cpu(x.device()) {
        return dispatch!(
            "linear_swiglu_level3",
            x.dtype(),
            cpu::level3::linear_swiglu(x, w)
        );
    }
    let entry = entry!("linear_swiglu", x.dtype(), "level3")?;
    launch(
        of_dtype(x.dtype(), &SWIGLU, &SWIGLU_BF16),
        entry,
        x,
        w,
        None,
        shape,
    )
}

/// Rows and columns of y that a block computes, and its threads each way.
const TILE: usize = 32;

fn launch(
    module: &'static Module,
    entry: &'static str,
    x: &Tensor,
    w: &Tensor,
    b: Option<&Tensor>,
    Shape { m, n, k }: Shape,
) -> Result<Tensor> {
    let y = super::output_like(x, n)?;
    Launch::new(module, entry)
        .grid(n.div_ceil(TILE) * m.div_ceil(TILE), 1, 1)
        .block(TILE, TILE / 4, 1)
        .read(x)
        .read(w)
        .read_or_null(b)
        .write(&y)
        .u32(m)
        .u32(n)
        .u32(k)
        .u32(k * x.dtype().size_in_bytes())
        .run()?;
    Ok(y)
}
