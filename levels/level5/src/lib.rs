//! Level 5: tuned small-matrix dispatch, and a forward pass as one CUDA graph.
//!
//! A table that was measured on the device names the fastest kernel for a matmul's shape and dtype. Small matrices gain the
//! most; in the H200's table cuBLASLt runs most bf16 matmuls of middle size. The position of a decode step is in the
//! device's memory, so that one recording serves the steps that follow.

mod ops;
pub mod system;
pub mod tuned;
pub mod tuning;
mod whole_pass;

pub use ops::Level5;
