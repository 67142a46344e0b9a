//! Level 2: fused candle ops.
//!
//! The same formulas with the fused operations of candle-nn (softmax, norms, rotary embedding), one
//! product where level 1 has three, and no copy or temporary that candle's own ops can avoid. None of
//! the fused ops has a gradient: this level infers, level 1 trains.

mod attend;
mod ops;

pub use ops::Level2;
