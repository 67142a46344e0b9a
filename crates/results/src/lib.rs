//! Recorded figures: the one schema that the commands write and the book reads.

pub mod criterion;
mod figures;
mod kind;
mod label;
mod machine;
mod merge;
mod models;
pub mod notes;
mod ops;
mod runs_as;
mod sweep;

use std::fmt::Display;
use std::path::Path;

use data::BadInput;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use figures::{Figures, HIGHEST, Wrong, earlier};
pub use kind::Kind;
pub use label::runs_as_short;
pub use machine::{Machine, Origin};
pub use models::{Clock, Row, Workload, failed};
pub use ops::{OpClock, OpRow, is_limit};
pub use runs_as::runs_as;
pub use sweep::{SweepRow, slope, upper_half};

/// What people call a level, or another framework and how it ran: `level 5`, `PyTorch compile reduce-overhead`, `PyG`,
/// `copy`.
pub fn spoken(level: &str) -> String {
    level
        .replacen("level", "level ", 1)
        .replace("reduce_overhead", "reduce-overhead")
        .replace("max_autotune", "max-autotune")
        .replace("pytorch", "PyTorch")
        .replace("pyg", "PyG")
        .replace("cusparse_spmm", "cuSPARSE SpMM")
        .replace('_', " ")
}

/// The number of a level: 3 of `level3`; `None` of PyTorch and of copies.
pub fn level_number(level: &str) -> Option<u8> {
    level.strip_prefix("level")?.parse().ok()
}

/// The version of the format.
const SCHEMA: u32 = 1;

/// One run of a measurement: where and when, and what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded<R> {
    schema: u32,
    /// Of what.
    pub kind: Kind,
    /// Where and when.
    pub machine: Machine,
    /// What was measured.
    pub rows: Vec<R>,
    /// What else there is to say of the run, a sentence each: other frameworks' versions, and what of them could not be
    /// measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One run of `workbook compare`: a row a workload and level.
pub type Results = Recorded<Row>;

/// One run of `workbook ops`, or of `workbook small`: a row an op, shape and level.
pub type OpResults = Recorded<OpRow>;

/// One run of `workbook sweep`: a row a model, size and level.
pub type SweepResults = Recorded<SweepRow>;

/// One run of `cargo bench`: a row a case of Criterion's.
pub type BenchResults = Recorded<criterion::Case>;

impl<R: Figures> Recorded<R> {
    /// Without rows yet.
    pub fn new(machine: Machine) -> Self {
        Self {
            schema: SCHEMA,
            kind: R::KIND,
            machine,
            rows: vec![],
            notes: vec![],
        }
    }

    /// The same, of another kind that has such rows: small products are ops.
    pub fn of_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }
}

impl<R: Serialize> Recorded<R> {
    /// As JSON, a line a field.
    ///
    /// # Errors
    /// When a figure is not a number that JSON has.
    pub fn json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

impl<R: DeserializeOwned + Figures> Recorded<R> {
    /// Reads a file that holds [`json`](Self::json), with rows that can be shown.
    ///
    /// # Errors
    /// One line that names the file and, of a row that cannot be, its address and the field.
    pub fn load(path: &Path) -> Result<Self, BadInput> {
        let expected = format!("recorded results of schema {SCHEMA}, {}", R::KIND);
        let bad = |found: &dyn Display| BadInput::new(path.display(), &expected, found);
        let text = std::fs::read_to_string(path).map_err(|e| BadInput::unreadable(path, &e))?;
        let recorded: Self = serde_json::from_str(&text).map_err(|e| bad(&e))?;
        if recorded.schema != SCHEMA {
            return Err(bad(&format!("schema {}", recorded.schema)));
        }
        figures::check(path, &recorded.rows)?;
        Ok(recorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> OpResults {
        let mut results = OpResults::new(Machine {
            name: "A CPU".into(),
            threads: 2,
            ..Machine::default()
        });
        results.rows.push(OpRow {
            op: "linear".into(),
            shape: "1x512x512".into(),
            level: "level4".into(),
            dtype: "f32".into(),
            host_us: 12.5,
            flops: Some(524_288),
            ..OpRow::default()
        });
        results
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cpu.json");
        let json = example().json().unwrap();
        std::fs::write(&path, &json).unwrap();
        assert_eq!(OpResults::load(&path), Ok(example()));
        assert!(
            json.contains("\"schema\": 1") && !json.contains("driver") && !json.contains("notes")
        );
        assert_eq!(example().rows[0].key(), "linear.1x512x512.f32.level4");
    }

    #[test]
    fn a_row_that_cannot_be_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cpu.json");
        let json = example().json().unwrap().replace("12.5", "-0.5");
        std::fs::write(&path, json).unwrap();
        let error = OpResults::load(&path).unwrap_err().to_string();
        let end = "cpu.json: row 1, linear.1x512x512.f32.level4: `host_us`: \
                   expected a number from 1e-9 to 1e12, found -0.5";
        assert!(error.ends_with(end), "{error}");
    }

    #[test]
    fn another_schema_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cpu.json");
        let json = example()
            .json()
            .unwrap()
            .replace("\"schema\": 1", "\"schema\": 2");
        std::fs::write(&path, json).unwrap();
        let error = OpResults::load(&path).unwrap_err().to_string();
        let end = "expected recorded results of schema 1, ops, found schema 2";
        assert!(error.ends_with(end), "{error}");
    }
}
