//! Whole passes of a model: for a level that has one launch, or a few, for more than one method of [`Ops`](crate::Ops).

use candle_core::{Result, Tensor};
pub use operands::{EncoderBlock, EncoderPass, GraphBlock, GraphPass, HeadPass, NextStep};

/// Passes that a level may compute at once. A model asks for them before it calls the methods of [`Ops`](crate::Ops), one
/// by one.
///
/// **Architecture invariants:** `Ok(None)`, the default, is always a correct answer. A level that computes a pass gives the
/// same answer as its methods do. Wrappers of a level, such as the swap, keep the default, so that its methods run.
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

    /// The end of a language model's decode step: logits (1, 1, V), the choice of the token and the next position. `None`
    /// where the methods must compute the logits; then nothing has been written.
    ///
    /// # Errors
    /// If a launch fails, or memory is exhausted.
    fn head_pass(&self, _pass: &HeadPass) -> Result<Option<Tensor>> {
        Ok(None)
    }
}
