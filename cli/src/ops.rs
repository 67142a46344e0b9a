//! The ops of a run: a level, and what `--swap` takes from others.

use std::sync::Arc;

use candle_core::{DType, Device};
use data::BadInput;
use models::Ops;

use crate::args::RunArgs;
use crate::load::Request;

/// What knows the levels, which the programs do not.
///
/// Makes the ops of a level, with those that the value of `--swap` takes from other levels, for tensors of a
/// number format on a device; the last argument asks for ops that tell the trace what each needs. It
/// refuses what is not there, and a GPU that cannot run it.
pub trait Compose:
    Fn(Option<&str>, DType, &Device, bool) -> Result<Arc<dyn Ops>, BadInput> + Send
{
}

impl<F> Compose for F where
    F: Fn(Option<&str>, DType, &Device, bool) -> Result<Arc<dyn Ops>, BadInput> + Send
{
}

impl RunArgs {
    /// The ops that these options ask for.
    pub fn ops(&self, request: &Request, compose: impl Compose) -> Result<Arc<dyn Ops>, BadInput> {
        let swap = self.swap.as_deref();
        compose(swap, request.dtype, &request.device, self.trace)
    }

    /// `level 4`, or `level 4 with norm_qkv=2`.
    pub fn level(&self, ops: &dyn Ops) -> String {
        let level = ops.level();
        match &self.swap {
            Some(swap) => format!("level {level} with {swap}"),
            None => format!("level {level}"),
        }
    }
}
