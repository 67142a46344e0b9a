//! Level 1: naive candle ops.
//!
//! Each formula is spelled in primitive tensor operations, as the paper has it: one line, one term.
//! Every intermediate is a tensor of its own, written to memory and read back. Everything here has a
//! gradient, so this is also the level that trains.

pub mod ops;

pub use ops::{Level1, segment_max};

/// Opens a trace span for a function of this level: `linear` is recorded as `linear_level1`.
macro_rules! span {
    ($function:literal) => {
        models::trace::span(concat!($function, "_level1"))
    };
}
use span;
