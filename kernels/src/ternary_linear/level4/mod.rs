//! Level 4: look-up tables in shared memory, or 8-bit activations and dp4a. Each has the `.rs` of its `.cu`'s name.

mod dp4a;
mod lut;

use candle_core::{Result, Tensor};

use super::{Sizes, Ternary, check, cpu};
use crate::element::by_element;
use crate::launch::{Launch, Module, on_cpu};

/// y (…, N) like x (…, K), by tables of the sums of neighbouring activations.
///
/// # Errors
/// When shapes, dtypes or devices do not agree, or when x is not contiguous.
pub fn lut(x: &Tensor, w: &Ternary) -> Result<Tensor> {
    let sizes = check("ternary_linear_lut_level4", x, w)?;
    if on_cpu(x.device()) {
        return by_element!(
            "ternary_linear_lut_level4",
            x.dtype(),
            cpu::lut(x, w, &sizes)
        );
    }
    lut::launch(x, w, &sizes)
}

/// y (…, N) like x (…, K), with each row of x rounded to 8 bits.
///
/// # Errors
/// When shapes, dtypes or devices do not agree, or when x is not contiguous.
pub fn dp4a(x: &Tensor, w: &Ternary) -> Result<Tensor> {
    let sizes = check("ternary_linear_dp4a_level4", x, w)?;
    if on_cpu(x.device()) {
        return by_element!(
            "ternary_linear_dp4a_level4",
            x.dtype(),
            cpu::dp4a(x, w, &sizes)
        );
    }
    dp4a::launch(x, w, &sizes)
}

/// Threads of a block, 8 warps, in all kernels.
pub(super) const THREADS: usize = 256;

/// Rows of weights of a block: four per warp.
pub(super) const ROWS: usize = 32;

/// A launch whose blocks compute `ROWS` columns of one row of y each.
fn row_blocks<'a>(
    module: &'static Module,
    entry: &'static str,
    x: &'a Tensor,
    w: &'a Ternary,
    sizes: &Sizes,
    y: &'a Tensor,
) -> Launch<'a> {
    Launch::new(module, entry)
        .grid(sizes.m, sizes.n.div_ceil(ROWS), 1)
        .block(THREADS, 1, 1)
        .read(x)
        .read(w.codes())
        .read(w.scales())
        .write(y)
        .u32(sizes.n)
        .u32(sizes.k)
        .u32(w.stride())
}
