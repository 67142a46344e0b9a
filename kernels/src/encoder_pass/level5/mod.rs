//! Level 5: the blocks of `s16` in bf16 on Hopper as one chain of launches that overlap.
//!
//! A block is five launches: `encoder_qkv`, `encoder_attention`, `encoder_out`, `encoder_up` and `encoder_down`. One more
//! before the first block, `encoder_moments`, is in place of the launch before, which did not write the moments of x.

mod attention;
mod matmul;
mod moments;
mod prepared;

pub(super) use moments::{PART, moments};
#[cfg(test)]
pub(super) use prepared::{Normed, prepare};

use candle_core::{DType, Result, Tensor};
use operands::EncoderPass;
use prepared::Block;

use crate::dispatch::{Facts, Feature};
use crate::launch::{chained, is_aligned};
use crate::output;
use crate::without::Idea;

/// Name of the pass in traces.
const KERNEL: &str = "encoder_pass_level5";

/// TOKENS, C, F and D of `encoder.cuh`, and the heads.
pub(super) const TOKENS: usize = 197;
pub(super) const C: usize = 384;
pub(super) const F: usize = 1536;
const D: usize = 64;
pub(super) const HEADS: usize = C / D;

/// All blocks of a vision transformer: x (1, T, C) → (1, T, C).
///
/// `None` where the ops must compute it: on other devices than a GPU of compute capability 9.0, in other sizes than those
/// of `s16` at batch 1, for other weights than contiguous ones in bf16, and if one of the two ideas is left out.
///
/// # Errors
/// If a launch fails, or memory is exhausted.
pub fn encoder_pass(pass: &EncoderPass) -> Result<Option<Tensor>> {
    let is_left_out = Idea::EncoderPass.is_left_out() || Idea::Wgmma.is_left_out();
    if is_left_out || !can(Facts::of(pass.x.device())?, pass.x) {
        return Ok(None);
    }
    let Some(blocks) = prepared::of(pass)? else {
        return Ok(None);
    };
    let _span = trace::span(KERNEL);
    // No launch of the chain writes a weight: all are prepared.
    chained(|| run(pass.x, blocks)).map(Some)
}

/// Whether the kernels can read x.
pub(super) fn can(facts: &Facts, x: &Tensor) -> bool {
    let fits = x.dtype() == DType::BF16 && x.dims() == [1, TOKENS, C];
    let hopper = facts.has(Feature::Wgmma) && !facts.simulated;
    fits && hopper && x.is_contiguous() && is_aligned(&[x])
}

/// Blocks write over what the blocks before have left, so that all of it stays in the L2 cache.
fn run(x: &Tensor, blocks: &[Block]) -> Result<Tensor> {
    let bf16 = |columns| output::tensor((1, TOKENS, columns), DType::BF16, x.device());
    let (qkv, attended, hidden) = (bf16(3 * C)?, bf16(C)?, bf16(F)?);
    let [between, after] = [bf16(C)?, bf16(C)?];
    let of_between = output::tensor((TOKENS, C / PART, 2), DType::F32, x.device())?;
    let moments = moments(&x.reshape((TOKENS, C))?)?; // of the first x, then of `after`
    let mut x = x;
    for block in blocks {
        matmul::qkv(x, &moments, &block.qkv, &qkv)?;
        attention::launch(&qkv, &attended)?;
        matmul::out(&attended, &block.out, x, (&between, &of_between))?;
        matmul::up(&between, &of_between, &block.up, &hidden)?;
        matmul::down(&hidden, &block.down, &between, (&after, &moments))?;
        x = &after;
    }
    Ok(x.clone())
}
