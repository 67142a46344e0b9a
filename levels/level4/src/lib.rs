//! Level 4: hand-written CUDA with warp shuffles.
//!
//! A warp takes a row. Each lane loads 16 bytes at a time, and the lanes reduce by exchanging registers. Matmuls keep their
//! tiles in registers, and attention uses an online softmax. On a CPU the lanes of a vector register take the place of the
//! warp. The kernels are in the crate `kernels`, one folder per operation.

mod ops;

pub use ops::Level4;
