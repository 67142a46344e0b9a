//! The levels that are measured: all that the device can run.

pub use levels::{Level, able, highest};
