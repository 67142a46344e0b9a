//! Recorded figures, in the schema that the commands write and the book reads.

pub mod bound;
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

pub use bound::{Bound, Rate};
pub use figures::{Figures, HIGHEST, Wrong, earlier};
pub use kind::Kind;
pub use label::runs_as_short;
pub use machine::{Machine, Origin};
pub use models::{Clock, Row, Workload, failed};
pub use ops::{OpClock, OpRow, is_limit};
pub use runs_as::runs_as;
pub use sweep::{SweepRow, slope, upper_half};

/// Returns a readable name of a level, or of another framework and its mode: `level 5`,
/// `PyTorch compile reduce-overhead`, `PyG`, `copy`.
pub fn spoken(level: &str) -> String {
    level
        .replacen("level", "level ", 1)
        .replace("reduce_overhead", "reduce-overhead")
        .replace("max_autotune", "max-autotune")
        .replace("pytorch", "PyTorch")
        .replace("pyg", "PyG")
        .replace("cusparse_spmm", "cuSPARSE SpMM")
        .replace("cuda_graph", "CUDA graph")
        .replace('_', " ")
}

/// Returns the number of a level: 3 for `level3`; `None` for PyTorch and copies.
pub fn level_number(level: &str) -> Option<u8> {
    level.strip_prefix("level")?.parse().ok()
}

/// Version of the schema.
const SCHEMA: u32 = 1;

/// Maximum bytes and rows of a file. The charts of all rows are drawn again at each change.
const MAX_FILE: u64 = 1 << 26;
const MAX_ROWS: usize = 5000;

/// A recorded run: machine, date and rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded<R> {
    schema: u32,
    /// Kind of the rows.
    pub kind: Kind,
    /// Machine and date.
    pub machine: Machine,
    /// Measured rows.
    pub rows: Vec<R>,
    /// Further facts about the run, one sentence each: versions of other frameworks, and failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A run of `workbook compare`: one row per workload and level.
pub type Results = Recorded<Row>;

/// A run of `workbook ops`, `small` or `worklog`: one row per op, shape and level.
pub type OpResults = Recorded<OpRow>;

/// A run of `workbook sweep`: one row per model, size and level.
pub type SweepResults = Recorded<SweepRow>;

/// A run of `cargo bench`: one row per Criterion case.
pub type BenchResults = Recorded<criterion::Case>;

impl<R: Figures> Recorded<R> {
    /// A run without rows.
    pub fn new(machine: Machine) -> Self {
        Self {
            schema: SCHEMA,
            kind: R::KIND,
            machine,
            rows: vec![],
            notes: vec![],
        }
    }

    /// Changes the kind to another one with the same rows: small matmuls and the steps of a worklog are ops.
    pub fn of_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }
}

impl<R: Serialize> Recorded<R> {
    /// Formats as JSON, one row per line.
    ///
    /// # Errors
    /// If JSON cannot represent a number.
    pub fn json(&self) -> serde_json::Result<String> {
        let mut all = serde_json::to_value(self)?;
        let rows = all["rows"].take();
        let rows = rows.as_array().into_iter().flatten();
        let rows: Vec<String> = rows.map(|row| format!("\n    {row}")).collect();
        let all = serde_json::to_string_pretty(&all)? + "\n";
        // Within a string the quotes would be escaped, so this is the field.
        let rows = format!("\"rows\": [{}\n  ]", rows.join(","));
        Ok(all.replacen(r#""rows": null"#, &rows, 1))
    }
}

impl<R: DeserializeOwned + Figures> Recorded<R> {
    /// Reads a file in the format of [`json`](Self::json) and checks its rows.
    ///
    /// # Errors
    /// One line that names the file, and for an invalid row its key and the field.
    pub fn load(path: &Path) -> Result<Self, BadInput> {
        let expected = format!("recorded results of schema {SCHEMA}, {}", R::KIND);
        let bad = |found: &dyn Display| BadInput::new(path.display(), &expected, found);
        let text = data::read_text_file(path, MAX_FILE)?;
        data::unique_keys(text.as_bytes()).map_err(|e| bad(&e))?;
        let recorded: Self = serde_json::from_str(&text).map_err(|e| bad(&e))?;
        if recorded.schema != SCHEMA {
            return Err(bad(&format!("schema {}", recorded.schema)));
        }
        if !(1..=MAX_ROWS).contains(&recorded.rows.len()) {
            let what = format!("{}: `rows`", path.display());
            let expected = format!("1 to {MAX_ROWS} rows");
            return Err(BadInput::new(what, expected, recorded.rows.len()));
        }
        recorded.machine.check(path)?;
        notes::check(path, &recorded.notes)?;
        figures::check(path, &recorded.rows)?;
        Ok(recorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> OpResults {
        let mut results = OpResults::new(Machine {
            device: "cpu".into(),
            name: "A CPU".into(),
            threads: 2,
            date: "2026-11-21".into(),
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
    fn written_files_can_be_read() {
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

    /// Records keep the field `graph`, and older ones the idea's earlier name.
    #[test]
    fn rows_of_earlier_records_are_read() {
        let row = |system: &str, graph: bool| -> models::Row {
            let mut row = serde_json::to_value(models::Row::default()).unwrap();
            row["system"] = system.into();
            row["graph"] = graph.into();
            serde_json::from_value(row).unwrap()
        };
        let without = row("without_graph", false);
        assert_eq!(without.system.as_deref(), Some("without_cuda_graph"));
        assert_eq!(without.variant(), "without CUDA graph");
        assert_eq!(row("pyg", false).variant(), "PyG");
        assert!(row("pyg", true).cuda_graph);
    }

    #[test]
    fn an_invalid_row_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cpu.json");
        let json = example().json().unwrap().replace("12.5", "-0.5");
        std::fs::write(&path, json).unwrap();
        let error = OpResults::load(&path).unwrap_err().to_string();
        let end = "cpu.json: row 1, linear.1x512x512.f32.level4: `host_us`: \
                   expected a number from 1e-9 to 1e12, found -0.5";
        assert!(error.ends_with(end), "{error}");
    }

    /// Texts of a file become parts of charts and pages.
    #[test]
    fn texts_and_rows_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cpu.json");
        let wrong = |from: &str, to: &str| {
            let json = example().json().unwrap().replacen(from, to, 1);
            std::fs::write(&path, json).unwrap();
            OpResults::load(&path).unwrap_err().to_string()
        };
        for text in ["", "\\u001b[2J", "a\\nb", "<script>", "a|b", "\\u202e"] {
            let error = wrong("A CPU", text);
            assert!(
                error.contains("cpu.json: `machine.name`: expected "),
                "{error}"
            );
        }
        let error = wrong("\"threads\": 2", "\"threads\": 0");
        assert!(error.ends_with("`machine.threads`: expected a number above 0, found 0"));
        for device in ["tpu", ""] {
            let error = wrong(r#""device": "cpu""#, &format!(r#""device": "{device}""#));
            let end = format!("`machine.device`: expected cpu or cuda, found \"{device}\"");
            assert!(error.ends_with(&end), "{error}");
        }
        let no_days = [
            "2026-13-01",
            "2026-02-29",
            "2100-02-29",
            "2026-04-31",
            "0000-01-01",
        ];
        for date in ["yesterday", "26-11-27", "2026-+1-27"]
            .iter()
            .chain(&no_days)
        {
            let error = wrong("2026-11-21", date);
            let end = format!("`machine.date`: expected a date as YYYY-MM-DD, found {date}");
            assert!(error.ends_with(&end), "{error}");
        }
        let origin = |commit: &str, date: &str| {
            let origin = format!(r#"{{"commit": "{commit}", "date": "{date}"}}"#);
            wrong("\"op\":", &format!(r#""origin": {origin}, "op": "#))
        };
        let long = "a".repeat(3_000_000);
        for commit in [
            "",
            "<!-- results:end -->",
            "<script>",
            "\\u001b[2J",
            "a\\nb",
            &long,
        ] {
            let error = origin(commit, "2026-11-21");
            assert!(error.contains("`origin.commit`: expected "), "{error}");
            assert!(error.len() < 1000, "{error}");
        }
        let error = origin("abc", "2026-11-32");
        let end = "`origin.date`: expected a date as YYYY-MM-DD, found 2026-11-32";
        assert!(error.ends_with(end), "{error}");
        let notes = |text: &str| format!("\"notes\": [\"{text}\"], \"rows\"");
        for text in ["<!-- results:end -->", "\\u001b[2J", "a\\nb"] {
            let error = wrong("\"rows\"", &notes(text));
            assert!(
                error.contains("cpu.json: `notes`: expected sentences"),
                "{error}"
            );
        }
        let error = wrong("\"rows\"", "\"colour\": 3, \"rows\"");
        assert!(error.contains("unknown field `colour`"), "{error}");
        let error = wrong("\"schema\": 1", "\"schema\": 1, \"schema\": 1");
        assert!(error.contains("`schema` twice"), "{error}");
        std::fs::write(&path, OpResults::new(example().machine).json().unwrap()).unwrap();
        let error = OpResults::load(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("`rows`: expected 1 to 5000 rows, found 0"),
            "{error}"
        );
    }

    #[test]
    fn another_schema_is_an_error() {
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
