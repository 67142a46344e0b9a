//! Whole models: the workloads that `workbook compare` has.

use benches::job::{self, models_of};
use benches::{Job, Workload};
use candle_core::{DType, Result, Tensor};
use cli::load::Request;

use benches::ops::{Timed, Work};

use crate::harness::Harness;

/// The trained models, and one preset of each.
const PRESETS: [&str; 4] = ["tiny", "readme", "s16", "base"];

/// A job of `workbook compare`.
struct Model(Box<dyn Job>);

impl Timed for Model {
    fn has_state(&self) -> bool {
        true
    }

    /// For the logits of each forward pass.
    fn waits(&self) -> bool {
        true
    }

    fn prepare(&mut self) -> Result<()> {
        self.0.prepare()
    }

    fn call(&mut self) -> Result<Tensor> {
        self.0.run()
    }

    fn results(&self) -> usize {
        self.0.forwards()
    }
}

/// Every preset of [`PRESETS`] at every level.
pub fn all(harness: &mut Harness) -> anyhow::Result<()> {
    for preset in PRESETS {
        for model in models_of(preset)? {
            for level in levels::able(DType::F32, &harness.device) {
                let request = Request {
                    model: preset.into(),
                    dtype: DType::F32,
                    device: harness.device.clone(),
                    seed: 0,
                };
                let level_name = format!("level{}", level.level());
                for workload in job::load(model, &request, &level, false)? {
                    one(harness, &level_name, workload)?;
                }
                // The highest level is also timed as a CUDA graph, without the host's time.
                if harness.device.is_cuda() && level.level() == levels::highest() {
                    for workload in job::load(model, &request, &level, true)? {
                        one(harness, &format!("{level_name}_graph"), workload)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn one(harness: &mut Harness, level: &str, workload: Workload) -> Result<()> {
    let name = format!("{}.{}", workload.preset, workload.name);
    let work = Work::Items(workload.items);
    harness.one(
        workload.model.name(),
        level,
        &name,
        work,
        &mut Model(workload.job),
    )
}
