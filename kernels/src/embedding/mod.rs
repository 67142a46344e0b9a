//! y\[i\] = w\[ids\[i\]\]: rows of a table, by number.
//!
//! ids (…) u32, w (V, C) f32 or bf16, both contiguous → (…, C). Nothing is computed, so the result is exact.
//! An id that is not below V is an error on a CPU. A GPU does not tell: its row is NaN, and the caller
//! checks ids where they come from.

pub(crate) mod calls;
mod cpu;
pub mod level3;
pub mod level4;

use candle_core::{DType, Result, Tensor};

use crate::cost::Cost;
use crate::error::mismatch;

/// A row in, a row out and an id of 4 bytes, each time; no arithmetic.
pub fn cost(rows: usize, c: usize, dtype: DType) -> Cost {
    let mut cost = Cost::new(2 * rows * c, dtype, 0);
    cost.bytes += 4 * rows as u64;
    cost
}

/// (V, C), and the shape of the result.
fn check(kernel: &str, ids: &Tensor, w: &Tensor) -> Result<((usize, usize), Vec<usize>)> {
    if ids.dtype() != DType::U32 {
        return Err(mismatch(kernel, "ids of u32", ids.dtype().as_str()));
    }
    let [vocab, c] = *w.dims() else {
        return Err(mismatch(kernel, "w (V, C)", format!("{:?}", w.dims())));
    };
    Ok(((vocab, c), [ids.dims(), &[c]].concat()))
}

#[cfg(test)]
mod tests;
