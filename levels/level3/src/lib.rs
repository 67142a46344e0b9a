//! Level 3: hand-written PTX.
//!
//! An operation is one pass over memory: a kernel written by hand in PTX, which a block of threads runs
//! with reductions as trees in shared memory. On a CPU it is a loop over rows, also by hand, without an
//! intermediate tensor. The greedy `next_token` is level 1's, and on a CPU the library `gemm` computes the matmuls. The
//! kernels are in the crate `kernels`, one folder per operation.

mod ops;

pub use ops::Level3;
