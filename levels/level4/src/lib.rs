//! Level 4: hand-written CUDA with warp shuffles.
//!
//! A warp takes a row: 16 bytes a lane, reductions by exchanging registers, tiles of products in
//! registers, attention with the running softmax. On a CPU the lanes of a vector register are the warp.
//! The kernels are in the crate `kernels`, one folder an operation.

mod ops;

pub use ops::Level4;
