//! Level 5: all blocks of `s16` in bf16 on Hopper in one launch of `pass.cu`.

mod pass;
mod prepared;
mod stream;

#[cfg(test)]
pub(super) use prepared::{LAYER_TILES, Weights, prepare};

use candle_core::{DType, Result, Tensor};
use operands::EncoderPass;

use crate::dispatch::{Facts, Feature};
use crate::launch::is_aligned;
use crate::output;
use crate::without::Idea;

/// Name of the pass in traces.
const KERNEL: &str = "encoder_pass_level5";

/// TOKENS, C, F, D and HEADS of `encoder.cuh`.
pub(super) const TOKENS: usize = 197;
pub(super) const C: usize = 384;
pub(super) const F: usize = 1536;
const D: usize = 64;
pub(super) const HEADS: usize = C / D;

/// All blocks of a vision transformer: x (1, T, C) → (1, T, C).
///
/// `None` where the ops must compute it: on other devices than a GPU of compute capability 9.0 with room for all clusters at
/// once, on another stream of it than the first that asked, in other sizes than those of `s16` at batch 1, for other weights
/// than contiguous ones in bf16, for a number of blocks that is no multiple of three, and if one of the two ideas is left out.
///
/// # Errors
/// If a launch fails, or memory is exhausted.
pub fn encoder_pass(pass: &EncoderPass) -> Result<Option<Tensor>> {
    let (x, device) = (pass.x, pass.x.device());
    let is_left_out = Idea::EncoderPass.is_left_out() || Idea::Wgmma.is_left_out();
    if is_left_out || !can(Facts::of(device)?, x) {
        return Ok(None);
    }
    let Some(weights) = prepared::of(pass)? else {
        return Ok(None);
    };
    if !stream::may_launch(device) {
        return Ok(None);
    }
    let _span = trace::span(KERNEL);
    let y = output::tensor(x.dims(), DType::BF16, device)?;
    pass::launch(x, weights, &y).launch()?;
    Ok(Some(y))
}

/// Whether the kernel can read x.
pub(super) fn can(facts: &Facts, x: &Tensor) -> bool {
    let fits = x.dtype() == DType::BF16 && x.dims() == [1, TOKENS, C];
    let hopper = facts.has(Feature::Wgmma) && !facts.simulated;
    fits && hopper && x.is_contiguous() && is_aligned(&[x])
}
