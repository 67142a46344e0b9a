//! The figures as JSON, of this run and of those that are kept.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use data::BadInput;
use serde::{Deserialize, Serialize};

use super::{chart, readme};

/// The version of the format.
const SCHEMA: u32 = 1;

/// One run of `workbook compare`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    schema: u32,
    /// Where and when.
    pub machine: Machine,
    /// A row a workload and level.
    pub rows: Vec<Row>,
}

/// Where and when a measurement was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// `cpu` or `cuda`.
    pub device: String,
    /// What the processor or the GPU calls itself.
    pub name: String,
    /// Threads on the CPU.
    pub threads: usize,
    /// Operating system and architecture.
    pub os: String,
    /// Version of the compiler.
    pub rustc: String,
    /// Version of candle.
    pub candle: String,
    /// Of the repository.
    pub commit: String,
    /// The day, as `YYYY-MM-DD`.
    pub date: String,
    /// Of the GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// CUDA's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
}

/// One workload at one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `lm`, `vit` or `gnn`.
    pub model: String,
    /// `tiny`, or the name of a preset.
    pub preset: String,
    /// What was timed.
    pub workload: String,
    /// 1 for naive candle ops, and so on.
    pub level: u8,
    /// `f32` or `bf16`.
    pub dtype: String,
    /// Of one forward pass, milliseconds.
    pub median_ms: f64,
    /// A tenth of the samples is below.
    pub low_ms: f64,
    /// A tenth of the samples is above.
    pub high_ms: f64,
    /// Level 1's median over this one.
    pub speedup: f64,
    /// Tensors made in one forward pass, views included.
    pub tensors: usize,
    /// The most bytes that one run needed at once, beyond the weights.
    pub peak_bytes: u64,
    /// From level 1's logits, as a share of the largest of them.
    pub max_difference: f64,
    /// Timed runs.
    pub samples: usize,
}

impl Row {
    /// `lm tiny decode`, with the number format unless it is the usual one.
    pub fn title(&self) -> String {
        let dtype = match self.dtype.as_str() {
            "f32" => String::new(),
            other => format!(" {other}"),
        };
        format!("{} {} {}{dtype}", self.model, self.preset, self.workload)
    }

    /// Whether both are the same workload, at whatever level.
    fn same_workload(&self, other: &Self) -> bool {
        self.title() == other.title()
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (&self.driver, &self.toolkit) {
            (Some(driver), Some(toolkit)) => {
                write!(f, "{}, driver {driver}, CUDA {toolkit}", self.name)?
            }
            _ => write!(f, "{}, {} threads", self.name, self.threads)?,
        }
        write!(
            f,
            ", {}, rustc {}, candle {}",
            self.os, self.rustc, self.candle
        )
    }
}

impl Results {
    /// Without rows yet.
    pub fn new(machine: Machine) -> Self {
        Self {
            schema: SCHEMA,
            machine,
            rows: vec![],
        }
    }

    /// The rows of one workload each, levels in order.
    pub fn workloads(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(Row::same_workload)
    }

    /// Reads what [`save`](Self::save) wrote.
    pub fn load(path: &Path) -> Result<Self> {
        let bad = |found: &dyn fmt::Display| {
            BadInput::new(path.display(), "recorded results of schema 1", found)
        };
        let text = std::fs::read_to_string(path).map_err(|e| bad(&e))?;
        let results: Self = serde_json::from_str(&text).map_err(|e| bad(&e))?;
        match results.schema {
            SCHEMA => Ok(results),
            other => Err(bad(&format!("schema {other}")).into()),
        }
    }

    /// Writes the file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        charts::write_atomically(path, text.as_bytes())
            .with_context(|| format!("{}", path.display()))
    }
}

/// Results that are going to be kept in the repository.
#[derive(Debug)]
pub struct Record {
    folder: PathBuf,
    name: String,
    readme: PathBuf,
}

impl Record {
    /// Checks, before anything is measured, that `name` can be a file's and the README has a place
    /// for the table.
    pub fn new(root: &Path, name: &str) -> Result<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            let expected = "a name of letters, digits, '-', '_' and '.'";
            return Err(BadInput::new("--record", expected, format!("{name:?}")).into());
        }
        let readme = root.join("README.md");
        if readme.exists() {
            readme::check(&readme)?;
        }
        Ok(Self {
            folder: root.join("benches/results"),
            name: name.into(),
            readme,
        })
    }

    /// Writes the JSON, its chart, and the README's table; returns their paths.
    pub fn write(&self, results: &Results) -> Result<Vec<PathBuf>> {
        let context = || format!("{}", self.folder.display());
        std::fs::create_dir_all(&self.folder).with_context(context)?;
        let stem = self.folder.join(&self.name);
        let json = self.folder.join(format!("{}.json", self.name));
        results.save(&json)?;
        let mut paths = vec![json];
        paths.extend(charts::bar_chart(&stem, &chart::speed(results))?);
        if self.readme.exists() {
            readme::rewrite(&self.readme, &recorded(&self.folder)?)?;
            paths.push(self.readme.clone());
        }
        Ok(paths)
    }
}

/// All results in `folder`, by name.
fn recorded(folder: &Path) -> Result<Vec<Results>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    paths.sort();
    paths.iter().map(|path| Results::load(path)).collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A workload at two levels.
    pub fn example() -> Results {
        let row = |level: u8, median_ms: f64, tensors| Row {
            model: "lm".into(),
            preset: "tiny".into(),
            workload: "decode".into(),
            level,
            dtype: "f32".into(),
            median_ms,
            low_ms: 0.95 * median_ms,
            high_ms: 1.1 * median_ms,
            speedup: 1.23 / median_ms,
            tensors,
            peak_bytes: 3 << 19,
            max_difference: if level == 1 { 0. } else { 1.25e-7 },
            samples: 20,
        };
        let mut results = Results::new(Machine {
            device: "cpu".into(),
            name: "A CPU".into(),
            threads: 2,
            os: "linux x86_64".into(),
            rustc: "1.95.0".into(),
            candle: "0.11.1".into(),
            commit: "abc".into(),
            date: "2026-11-21".into(),
            driver: None,
            toolkit: None,
        });
        results.rows = vec![row(1, 1.23, 321), row(2, 0.98, 150)];
        results
    }

    #[test]
    fn json_says_what_was_measured() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("cpu.json");
        let mut results = example();
        results.save(&path)?;
        assert_eq!(Results::load(&path)?, results);
        let text = std::fs::read_to_string(&path)?;
        assert!(text.contains("\"schema\": 1") && !text.contains("driver"));

        results.machine.driver = Some("580.82".into());
        results.save(&path)?;
        assert_eq!(Results::load(&path)?, results);
        Ok(())
    }

    #[test]
    fn another_schema_is_refused() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("cpu.json");
        let results = Results {
            schema: 2,
            ..example()
        };
        results.save(&path)?;
        let error = Results::load(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("expected recorded results of schema 1, found schema 2"),
            "{error}"
        );
        Ok(())
    }

    #[test]
    fn a_record_is_json_chart_and_table() -> Result<()> {
        let root = tempfile::tempdir()?;
        let readme = root.path().join("README.md");
        std::fs::write(
            &readme,
            "# Title\n<!-- results:begin -->\n<!-- results:end -->\n",
        )?;
        let record = Record::new(root.path(), "cpu")?;
        let paths = record.write(&example())?;
        let names: Vec<_> = paths
            .iter()
            .filter_map(|p| p.file_name()?.to_str())
            .collect();
        assert_eq!(names, ["cpu.json", "cpu.svg", "cpu.png", "README.md"]);
        assert!(std::fs::read_to_string(&readme)?.contains("| lm tiny decode | 1.23 ms |"));
        Ok(())
    }

    #[test]
    fn a_record_without_a_place_is_refused_before_the_measurement() -> Result<()> {
        let root = tempfile::tempdir()?;
        for bad in ["", "../cpu", ".cpu", "a b"] {
            assert!(Record::new(root.path(), bad).is_err(), "{bad:?}");
        }
        std::fs::write(root.path().join("README.md"), "# Title\n")?;
        let error = Record::new(root.path(), "cpu").unwrap_err().to_string();
        assert!(error.contains("README.md: expected"), "{error}");
        Ok(())
    }

    #[test]
    fn rows_of_one_workload_stay_together() {
        let mut results = example();
        let other = Row {
            workload: "prefill".into(),
            ..results.rows[0].clone()
        };
        results.rows.push(other);
        let sizes: Vec<usize> = results.workloads().map(<[Row]>::len).collect();
        assert_eq!(sizes, [2, 1]);
    }
}
