//! A level of your own: `src/ops.rs` has its methods, `kernels/` its kernels in PTX and CUDA C++.

mod ops;

use std::sync::Arc;

/// The level, for the programs that run it.
pub fn ops() -> Arc<dyn models::Ops> {
    Arc::new(ops::Own)
}
