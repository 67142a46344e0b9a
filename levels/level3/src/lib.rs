//! Level 3: hand-written PTX.
//!
//! An operation is a kernel written by hand in PTX. A block of threads works on a row and reduces it with a tree in shared
//! memory. It may read the row two or three times, but only the first read comes from memory; the others hit a cache. On a
//! CPU it is a hand-written loop over rows, without an intermediate tensor. The greedy `next_token` is level 1's, and on a
//! CPU the library `gemm` computes the matmuls. The kernels are in the crate `kernels`, one folder per operation.

mod ops;

pub use ops::Level3;
