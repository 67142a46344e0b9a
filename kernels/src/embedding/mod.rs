//! y\[i\] = w\[ids\[i\]\]: rows of a table, by number.
//!
//! ids (…) u32, w (V, C) f32 or bf16, both contiguous → (…, C). Nothing is computed, so the result is exact.
//! An id that is not below V is an error on a CPU. A GPU does not tell: its row is NaN, and the caller
//! checks ids where they come from.

pub(crate) mod calls;
mod cpu;
#[path = "level3.rs"]
mod level3_launch;
#[path = "level4.rs"]
mod level4_launch;

use candle_core::{DType, Result, Tensor};
use operands::Weight;
use trace::span;

use crate::cost::Cost;
use crate::element::by_element;
use crate::error::mismatch;
use crate::launch::on_cpu;

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

/// Level 3: hand-written PTX on a GPU, and a copy of each row on a CPU.
pub mod level3 {
    use super::*;

    /// The rows of w (V, C) that ids (…) names: (…, C).
    ///
    /// # Errors
    /// When ids are not u32, w is no table of f32 or bf16, or, on a CPU, an id is not below V.
    pub fn embedding(ids: &Tensor, w: &Weight) -> Result<Tensor> {
        let _span = span("embedding_level3");
        let w = w.tensor();
        let ((vocab, c), shape) = check("embedding_level3", ids, w)?;
        if on_cpu(w.device()) {
            return by_element!(
                "embedding_level3",
                w.dtype(),
                cpu::gather("embedding_level3", ids, w, shape)
            );
        }
        level3_launch::launch(ids, w, shape, vocab, c)
    }
}

/// Level 4: CUDA C++ on a GPU, and the copies of level 3 on a CPU.
pub mod level4 {
    use super::*;

    /// The rows of w (V, C) that ids (…) names: (…, C).
    ///
    /// # Errors
    /// When ids are not u32, w is no table of f32 or bf16, or, on a CPU, an id is not below V.
    pub fn embedding(ids: &Tensor, w: &Weight) -> Result<Tensor> {
        let _span = span("embedding_level4");
        let w = w.tensor();
        let ((vocab, c), shape) = check("embedding_level4", ids, w)?;
        if on_cpu(w.device()) {
            return by_element!(
                "embedding_level4",
                w.dtype(),
                cpu::gather("embedding_level4", ids, w, shape)
            );
        }
        level4_launch::launch(ids, w, shape, vocab, c)
    }
}

#[cfg(test)]
mod tests;
