//! The ops of a run: a level's, with those that `--swap` takes from others.

use candle_core::Device;
use data::BadInput;
use kernels::launch::is_simulated;
use kernels::without;
use levels::{Level, Name, Selection};
use models::Scores;

use crate::args::RunArgs;
use crate::load::Request;
use crate::note::note_tables_later;
use crate::stale::note_newer_sources;

impl RunArgs {
    /// Returns the ops of `level`, with those that `--swap` takes from other levels, for a model that runs
    /// `model_ops`.
    ///
    /// # Errors
    /// The level or an op does not exist, the model does not run the op, the GPU cannot run one of the levels, or
    /// `--without` is given and level 5 does not run.
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
        } else if !self.without.is_empty() {
            let expected = "level 5, whose ideas it leaves out";
            return Err(BadInput::new("--without", expected, level.label()).into());
        }
        let runs_ptx = request.device.is_cuda() || is_simulated();
        // Level 3's PTX is no file that a compiler has made.
        if runs_ptx && levels.iter().any(|level| *level >= 4) {
            note_newer_sources();
        }
        without::set(&self.without);
        Ok(ops)
    }

    /// How this run attends. A learner's level, and one that `--swap` names, may hold all scores.
    pub fn scores(&self, level: &Name, device: &Device) -> Scores {
        if level.number() < 3 || self.swap.is_some() {
            Scores::Held
        } else if device.is_cpu() {
            Scores::TiledOnCpu
        } else {
            Scores::TiledOnGpu
        }
    }

    /// `level 4`, `level 4 with norm_qkv=2`, or `level 5 without overlap`.
    pub fn label(&self, level: &Name) -> String {
        let mut label = level.label();
        if let Some(swap) = &self.swap {
            label += &format!(" with {swap}");
        }
        if !self.without.is_empty() {
            let names: Vec<&str> = self.without.iter().map(|idea| idea.name()).collect();
            label += &format!(" without {}", names.join(", "));
        }
        label
    }
}
