//! Level 2: fused candle ops.
//!
//! The same formulas with the fused operations of candle-nn (softmax, norms, rotary embedding), one
//! product where level 1 has three, and no copy or temporary that candle's own ops can avoid. The
//! fused norms, softmax and rotation have no gradient: this level infers, level 1 trains.

mod attend;
mod ops;
mod patches;

pub use ops::Level2;
