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
#[path = "level4.rs"]
mod level4_launch;
#[path = "level5.rs"]
mod level5_launch;

use candle_core::{DType, Result, Tensor};
use trace::span;

use crate::cost::Cost;
use crate::element::by_element;
use crate::error::{mismatch, unsupported};
use crate::launch::on_cpu;

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

/// Level 4: CUDA C++ on a GPU, and SIMD lanes on a CPU.
pub mod level4 {
    use super::*;

    /// The index of the maximum of logits (V); of several equal ones the lowest.
    ///
    /// # Errors
    /// When logits are not (V) of f32 or bf16, or one is NaN.
    pub fn argmax(logits: &Tensor) -> Result<u32> {
        let _span = span("argmax_level4");
        let vocab = check("argmax_level4", logits)?;
        if on_cpu(logits.device()) {
            return by_element!("argmax_level4", logits.dtype(), cpu::argmax(logits));
        }
        level4_launch::argmax_on_gpu(logits, vocab)
    }

    /// The k most probable tokens of softmax(logits/temperature), with their probabilities; all of them where
    /// there are fewer. logits (V), k from 1, temperature above 0.
    ///
    /// # Errors
    /// When logits are not (V) of f32 or bf16, when one is NaN or ∞, or when k is 0 or, on a GPU, above 1024.
    pub fn top_k(logits: &Tensor, k: usize, temperature: f64) -> Result<Vec<(u32, f32)>> {
        let _span = span("top_k_level4");
        let vocab = check("top_k_level4", logits)?;
        let k = k.min(vocab);
        if k == 0 {
            return Err(mismatch("top_k_level4", "k of at least 1", k));
        }
        let tokens = if on_cpu(logits.device()) {
            by_element!(
                "top_k_level4",
                logits.dtype(),
                cpu::top_k(logits, k, temperature)
            )?
        } else {
            level4_launch::top_k_on_gpu(logits, vocab, k, temperature)?
        };
        if tokens.iter().all(|(_, p)| p.is_finite()) {
            Ok(tokens)
        } else {
            Err(not_finite("top_k_level4"))
        }
    }
}

/// Level 5: as level 4 on a GPU, and the token stays there.
pub mod level5 {
    use super::*;

    /// Writes the index of the maximum of logits (V) to `token`, one u32 on the same GPU; V where one is NaN.
    ///
    /// # Errors
    /// When logits are not (V) of f32 or bf16, or they are on a CPU.
    pub fn argmax(logits: &Tensor, token: &Tensor) -> Result<()> {
        let vocab = checked("argmax_level5", logits, token)?;
        level4_launch::launch_argmax(logits, token, vocab)
    }

    /// Writes a token to `token`, one u32 on the same GPU, drawn from the k most probable of
    /// softmax(logits/temperature): those that reach `top_p` of their sum, and of these the one at which the sum passes
    /// `uniform` of it. `chance` (2) of f64 holds `uniform`, in 0..1, and `top_p`. V where a logit is NaN or ∞.
    ///
    /// # Errors
    /// When logits are not (V) of f32 or bf16, when they are on a CPU, or when k is 0 or above 1024.
    pub fn draw(
        logits: &Tensor,
        k: usize,
        temperature: f64,
        chance: &Tensor,
        token: &Tensor,
    ) -> Result<()> {
        let vocab = checked("draw_level5", logits, token)?;
        let k = k.min(vocab);
        if !can_draw(k) {
            return Err(unsupported("draw_level5", "k from 1 to 1024", k, 2));
        }
        if (chance.dtype(), chance.dims()) != (DType::F64, &[2]) {
            let found = format!("{:?} of {}", chance.dims(), chance.dtype().as_str());
            return Err(mismatch("draw_level5", "chance (2) of f64", found));
        }
        level5_launch::launch_draw(logits, k, temperature, chance, token)
    }

    /// Whether [`draw`] can draw from the `k` most probable.
    pub fn can_draw(k: usize) -> bool {
        (1..=level4_launch::MAX_K).contains(&k)
    }

    /// V of logits (V) on a GPU, and whether `token` can hold one.
    fn checked(kernel: &str, logits: &Tensor, token: &Tensor) -> Result<usize> {
        let vocab = check(kernel, logits)?;
        if on_cpu(logits.device()) {
            return Err(mismatch(kernel, "logits on a GPU", "on the CPU"));
        }
        if (token.dtype(), token.elem_count()) != (DType::U32, 1) {
            let found = format!("{:?} of {}", token.dims(), token.dtype().as_str());
            return Err(mismatch(kernel, "one u32 for the token", found));
        }
        Ok(vocab)
    }
}

#[cfg(test)]
mod tests;
