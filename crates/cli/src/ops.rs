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
    /// The ops that these options ask for, for a model that runs `runs`.
    ///
    /// # Errors
    /// `--swap` names an op that the model does not run, and what `compose` refuses.
    pub fn ops(
        &self,
        request: &Request,
        runs: &[&str],
        compose: impl Compose,
    ) -> Result<Arc<dyn Ops>, BadInput> {
        let swap = self.swap.as_deref();
        can_swap(swap.unwrap_or_default(), runs)?;
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

/// Refuses an op in the value `spec` of `--swap` that is not one of `runs`, the ops of the model. A part of `spec` without
/// `=` is left to [`Compose`].
///
/// # Errors
/// One line that lists `runs` and names the op.
pub fn can_swap(spec: &str, runs: &[&str]) -> Result<(), BadInput> {
    let named = spec.split(',').filter_map(|part| part.split_once('='));
    let mut named = named.map(|(op, _)| op.trim());
    match named.find(|op| !runs.contains(op)) {
        Some(op) => {
            let expected = format!("an op that this model runs ({})", runs.join(", "));
            Err(BadInput::new("--swap", expected, format!("{op:?}")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_that_the_model_does_not_run_is_refused() {
        let runs = ["linear", "edge_attention"];
        let refusal = |spec| can_swap(spec, &runs).map_err(|bad| bad.to_string());
        assert_eq!(refusal(""), Ok(()));
        assert_eq!(refusal("linear=1, edge_attention = 2,linear"), Ok(()));
        let expected = "--swap: expected an op that this model runs (linear, edge_attention), found \"attention\"";
        assert_eq!(refusal("linear=1,attention=2"), Err(expected.into()));
    }
}
