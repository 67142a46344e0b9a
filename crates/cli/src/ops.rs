//! The ops of a run: a level's, with those that `--swap` takes from others.

use levels::{Level, Name, Selection};

use crate::args::RunArgs;
use crate::load::Request;
use crate::note::note_tables_later;

impl RunArgs {
    /// Returns the ops of `level`, with those that `--swap` takes from other levels, for a model that runs
    /// `model_ops`.
    ///
    /// # Errors
    /// The level or an op does not exist, the model does not run the op, or the GPU cannot run one of the
    /// levels.
    pub fn ops(
        &self,
        request: &Request,
        model_ops: &[&'static str],
        level: &Name,
    ) -> anyhow::Result<Level> {
        let swap = self.swap.as_deref();
        let selection = Selection {
            level,
            swap,
            model_ops,
        };
        let (ops, levels) = selection.ops(request.dtype, &request.device, self.trace)?;
        if levels.contains(&5) {
            note_tables_later(&request.device)?;
        }
        Ok(ops)
    }

    /// `level 4`, or `level 4 with norm_qkv=2`.
    pub fn label(&self, level: &Name) -> String {
        match &self.swap {
            Some(swap) => format!("{} with {swap}", level.label()),
            None => level.label(),
        }
    }
}
