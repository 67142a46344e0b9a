//! Level 2: fused candle ops.
//!
//! The same formulas with the fused operations of candle-nn (softmax, norms, rotary embedding), one
//! matmul where level 1 has three, and no copy or temporary that candle's own ops can avoid. The
//! fused norms, softmax and rotation have no gradient: this level infers, level 1 trains.

mod masks;
pub mod ops;
mod patches;

pub use ops::Level2;

/// Opens a trace span for a function of this level: `rms_norm` is recorded as `rms_norm_level2`.
macro_rules! span {
    ($function:literal) => {
        models::trace::span(concat!($function, "_level2"))
    };
}
use span;
