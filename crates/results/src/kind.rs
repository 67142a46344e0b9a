//! Kinds of recorded figures.

use std::fmt;
use std::path::Path;

use data::BadInput;
use serde::{Deserialize, Serialize};

/// The kind of a file's figures, which decides its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Whole models, by `workbook compare`.
    Models,
    /// Single ops, by `workbook ops`.
    Ops,
    /// Small matmuls, by `workbook small`.
    Small,
    /// Whole models over the size of their input, by `workbook sweep`.
    Sweep,
    /// Whole models at level 5 without one of its ideas, by `workbook ablation`.
    Ablations,
    /// The steps of a worklog, by `workbook worklog`.
    Worklogs,
    /// All that Criterion times, by `cargo bench`.
    Benches,
}

impl Kind {
    /// All kinds, in reading order.
    pub const ALL: [Self; 7] = [
        Self::Models,
        Self::Ops,
        Self::Small,
        Self::Sweep,
        Self::Ablations,
        Self::Worklogs,
        Self::Benches,
    ];

    /// Folder below `benches/results`; models are in that folder itself.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Models => "",
            Self::Ops => "ops",
            Self::Small => "small",
            Self::Sweep => "sweep",
            Self::Ablations => "ablations",
            Self::Worklogs => "worklogs",
            Self::Benches => "benches",
        }
    }

    /// File below `target/workbook` with the last run's results, recorded or not.
    pub fn left_by_a_run(self) -> &'static str {
        match self {
            Self::Models => "compare.json",
            Self::Ops => "ops.json",
            Self::Small => "small.json",
            Self::Sweep => "sweep.json",
            Self::Ablations => "ablation.json",
            Self::Worklogs => "worklog.json",
            Self::Benches => "benches.json",
        }
    }

    /// Returns the kind of a file.
    ///
    /// # Errors
    /// If it cannot be read, or does not contain recorded figures.
    pub fn of(path: &Path) -> Result<Self, BadInput> {
        #[derive(Deserialize)]
        struct Head {
            kind: Kind,
        }
        let expected = "recorded figures: JSON of compare, ops, small, sweep, ablation, worklog or cargo bench";
        let bad = |found: &dyn fmt::Display| BadInput::new(path.display(), expected, found);
        let text = data::read_text(path)?;
        let head: Head = serde_json::from_str(&text).map_err(|e| bad(&e))?;
        Ok(head.kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Models => "models",
            Self::Ops => "ops",
            Self::Small => "small matmuls",
            Self::Sweep => "sweeps",
            Self::Ablations => "ablations",
            Self::Worklogs => "worklogs",
            Self::Benches => "cargo bench",
        })
    }
}
