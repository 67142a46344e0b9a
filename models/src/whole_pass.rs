//! Whole passes of a model: for a level that has one launch, or a few, for more than one method of [`Ops`](crate::Ops).

use candle_core::{Result, Tensor};
pub use operands::{
    DecoderBlock, EncoderBlock, EncoderPass, GraphBlock, GraphPass, HeadPass, NextStep,
};

use crate::{Heads, KvCache, Rope, Weight};

/// All that the embedding and the blocks of a language model read in a decode step, and the caches, which they write.
pub struct DecoderPass<'a> {
    /// (1, 1) u32, one token.
    pub ids: &'a Tensor,
    /// (V, C)
    pub embedding: &'a Weight,
    /// The blocks, in order.
    pub blocks: Vec<DecoderBlock<'a>>,
    /// Heads of the attention.
    pub heads: Heads,
    /// The angles of all positions.
    pub rope: &'a Rope,
    /// One for each block.
    pub caches: &'a mut [KvCache],
}

/// Passes that a level may compute at once. A model asks for them before it calls the methods of [`Ops`](crate::Ops), one
/// by one.
///
/// **Architecture invariants:** `Ok(None)`, the default, is always a correct answer. A level that computes a pass gives the
/// same answer as its methods do. Wrappers of a level that need its methods to run, such as the swap, answer `Ok(None)`.
pub trait WholePass {
    /// The graph transformer, from features to logits: (G, classes); `None` where the methods must compute it.
    ///
    /// # Errors
    /// If a launch fails, or memory is exhausted.
    fn graph_pass(&self, _pass: &GraphPass) -> Result<Option<Tensor>> {
        Ok(None)
    }

    /// All blocks of the vision transformer: x (B, T, C) → (B, T, C); `None` where the methods must compute it.
    ///
    /// # Errors
    /// If a launch fails, or memory is exhausted.
    fn encoder_pass(&self, _pass: &EncoderPass) -> Result<Option<Tensor>> {
        Ok(None)
    }

    /// The embedding and all blocks of a language model for one token of one sequence: (1, 1, C), with its keys and values
    /// appended to each cache. `None` where the methods must compute it; then the caches are as before.
    ///
    /// # Errors
    /// If a launch fails, or memory is exhausted.
    fn decoder_pass(&self, _pass: &mut DecoderPass) -> Result<Option<Tensor>> {
        Ok(None)
    }

    /// The end of a language model's decode step: logits (1, 1, V), the choice of the token and the next position. `None`
    /// where the methods must compute the logits; then nothing has been written.
    ///
    /// # Errors
    /// If a launch fails, or memory is exhausted.
    fn head_pass(&self, _pass: &HeadPass) -> Result<Option<Tensor>> {
        Ok(None)
    }
}
