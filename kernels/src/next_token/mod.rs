//! The most probable token, and the k most probable with their probabilities: logits (V).
//!
//! argmax: the index of the maximum logit, the lowest of several equal ones. top_k: p = softmax(logits/temperature), and
//! the k tokens with the largest p, most probable first, of equal ones the lower token first. A draw needs them
//! (`Sampling::draw_from` of the models). Logits are f32 or bf16, arithmetic is in f32.
//!
//! Level 3 has no kernel for this: it uses candle's argmax, and copies the whole softmax to the host.
//!
//! Tolerance: the tokens exactly, the probabilities 1e-5.

pub(crate) mod calls;
mod cpu;
pub mod level4;
pub mod level5;

use candle_core::{DType, Result, Tensor};

use crate::cost::Cost;
use crate::error::mismatch;

/// Reads the logits, with one comparison for each.
pub fn cost(vocab: usize, dtype: DType) -> Cost {
    Cost::new(vocab, dtype, vocab)
}

/// V of logits (V), at least one.
fn check(kernel: &str, logits: &Tensor) -> Result<usize> {
    match logits.dims() {
        &[vocab] if vocab > 0 => Ok(vocab),
        dims => Err(mismatch(
            kernel,
            "logits (V), at least one",
            format!("{dims:?}"),
        )),
    }
}

/// The error for logits that have no maximum.
fn not_finite(kernel: &str) -> candle_core::Error {
    mismatch(kernel, "finite logits", "NaN or infinity")
}

#[cfg(test)]
mod tests;
