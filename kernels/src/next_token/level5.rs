//! Level 5: level 4's choice, left on the device for the next step to read.

use candle_core::{Result, Tensor};

use super::{check, level4};
use crate::error::mismatch;

/// Writes the index of the greatest of logits (V) to `token`, one u32 on the same GPU; V where one is NaN.
///
/// # Errors
/// When logits are not (V) of f32 or bf16, or they are on a CPU.
pub fn argmax(logits: &Tensor, token: &Tensor) -> Result<()> {
    let vocab = check("argmax_level5", logits)?;
    if crate::launch::on_cpu(logits.device()) {
        return Err(mismatch("argmax_level5", "logits on a GPU", "on the CPU"));
    }
    if (token.dtype(), token.elem_count()) != (candle_core::DType::U32, 1) {
        let found = format!("{:?} of {}", token.dims(), token.dtype().as_str());
        return Err(mismatch("argmax_level5", "one u32 for the token", found));
    }
    level4::launch_argmax(logits, token, vocab)
}
