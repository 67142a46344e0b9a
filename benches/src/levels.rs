//! The levels that are measured: all of them.

pub use levels::{Level, all};
