//! Level 3: hand-written PTX.
//!
//! Each operation is one pass over memory: a kernel written by hand in PTX, which a block of threads runs
//! with reductions as trees in shared memory. On a CPU it is a loop over rows, also by hand, without an
//! intermediate tensor. The kernels are in the crate `kernels`, one folder an operation.

mod ops;

pub use ops::Level3;
