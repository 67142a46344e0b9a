//! A run of any measurement.

use std::path::Path;

use data::BadInput;
use results::{BenchResults, Kind, OpResults, Results, SweepResults};

/// A run of `compare`, `ops`, `small`, `sweep`, `ablation`, `worklog` or `cargo bench`.
#[derive(Debug, Clone)]
pub enum Run {
    Models(Results),
    Ops(OpResults),
    Sweep(SweepResults),
    Benches(BenchResults),
}

impl Run {
    /// Reads a file of any kind.
    pub fn load(path: &Path) -> Result<Self, BadInput> {
        Ok(match Kind::of(path)? {
            Kind::Models | Kind::Ablations => Self::Models(Results::load(path)?),
            Kind::Ops | Kind::Small | Kind::Worklogs => Self::Ops(OpResults::load(path)?),
            Kind::Sweep => Self::Sweep(SweepResults::load(path)?),
            Kind::Benches => Self::Benches(BenchResults::load(path)?),
        })
    }

    /// Kind of the run.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Models(run) => run.kind,
            Self::Ops(run) => run.kind,
            Self::Sweep(run) => run.kind,
            Self::Benches(run) => run.kind,
        }
    }
}
