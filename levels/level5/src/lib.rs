//! Level 5: kernels picked from a measured table, and decode steps that one CUDA graph repeats.
//!
//! A table that was measured on the device names the fastest kernel for a matmul's shape and dtype. Small matrices gain the
//! most. The position of a decode step is in the device's memory, so that one recording serves the steps that follow.

mod ops;
pub mod system;
pub mod tuned;
pub mod tuning;
mod whole_pass;

pub use ops::Level5;
