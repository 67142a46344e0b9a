//! Criterion's output, `**/new/benchmark.json` and `**/new/estimates.json`, as recorded cases.

use std::fs;
use std::path::{Path, PathBuf};

use std::time::SystemTime;

use data::BadInput;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::figures::{self, Figures, Wrong};
use crate::{BenchResults, Kind, Origin};

/// A timed case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// An op or a model.
    pub group: String,
    /// A level, or `copy` for the limit.
    pub function: String,
    /// A shape or a workload.
    pub parameter: String,
    /// Work of one call.
    pub throughput: Throughput,
    /// Median time of one call in nanoseconds.
    pub median_ns: f64,
    /// Lower end of the median's 95% confidence interval.
    pub low_ns: f64,
    /// Upper end of the interval.
    pub high_ns: f64,
    /// Seconds that the case took, including set-up and warm-up, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The commit of the measurement, if it differs from the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl Case {
    /// The case's key: `linear/level4/128x512x512`.
    pub fn key(&self) -> String {
        [&*self.group, &self.function, &self.parameter].join("/")
    }
}

impl Figures for Case {
    const KIND: Kind = Kind::Benches;

    fn address(&self) -> String {
        self.key()
    }

    /// A run may cover some groups only: `cargo bench -- linear/`.
    fn part(&self) -> String {
        self.group.clone()
    }

    fn subject(&self) -> String {
        [&*self.function, &self.parameter].join("/")
    }

    fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    fn origin_mut(&mut self) -> &mut Option<Origin> {
        &mut self.origin
    }

    fn check(&self) -> Result<(), Wrong> {
        figures::names([("group", &self.group), ("function", &self.function)])?;
        figures::text("parameter", &self.parameter)?;
        figures::times([
            ("median_ns", Some(self.median_ns)),
            ("low_ns", Some(self.low_ns)),
            ("high_ns", Some(self.high_ns)),
            ("seconds", self.seconds),
        ])
    }
}

impl BenchResults {
    /// Total seconds of all cases; `None` if one is unknown.
    pub fn seconds(&self) -> Option<f64> {
        self.rows.iter().map(|case| case.seconds).sum()
    }
}

/// Work of one call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Throughput {
    /// Bytes moved.
    Bytes(u64),
    /// Operations, tokens, images or graphs.
    Elements(u64),
}

impl Throughput {
    /// The amount in its unit.
    pub fn amount(self) -> u64 {
        match self {
            Self::Bytes(n) | Self::Elements(n) => n,
        }
    }
}

#[derive(Deserialize)]
struct Benchmark {
    group_id: String,
    function_id: String,
    value_str: String,
    throughput: Throughput,
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
    confidence_interval: Interval,
}

#[derive(Deserialize)]
struct Interval {
    lower_bound: f64,
    upper_bound: f64,
}

/// Reads all cases below `folder`, sorted by path.
///
/// # Errors
/// If the folder cannot be read, or a file in it is not Criterion's.
pub fn cases(folder: &Path) -> Result<Vec<Case>, BadInput> {
    cases_since(SystemTime::UNIX_EPOCH, folder)
}

/// Reads the cases written at `start` or later.
///
/// # Errors
/// The errors of [`cases`].
pub fn cases_since(start: SystemTime, folder: &Path) -> Result<Vec<Case>, BadInput> {
    let mut folders = vec![];
    find(folder, start, &mut folders)
        .map_err(|e| BadInput::no_folder(folder, "results of `cargo bench`", &e))?;
    folders.sort();
    folders.iter().map(|folder| case(folder)).collect()
}

/// Finds the folders named `new` with estimates at least as new as `start`; it follows no links to folders.
fn find(folder: &Path, start: SystemTime, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            find(&path, start, found)?;
        } else if path.ends_with("new/estimates.json") && fs::metadata(&path)?.modified()? >= start
        {
            found.push(folder.to_path_buf());
        }
    }
    Ok(())
}

fn case(folder: &Path) -> Result<Case, BadInput> {
    let benchmark: Benchmark = json(&folder.join("benchmark.json"))?;
    let Estimates { median } = json(&folder.join("estimates.json"))?;
    let case = Case {
        group: benchmark.group_id,
        function: benchmark.function_id,
        parameter: benchmark.value_str,
        throughput: benchmark.throughput,
        median_ns: median.point_estimate,
        low_ns: median.confidence_interval.lower_bound,
        high_ns: median.confidence_interval.upper_bound,
        seconds: None,
        origin: None,
    };
    if case.throughput.amount() == 0 {
        let what = format!("{}: `throughput`", folder.display());
        return Err(BadInput::new(what, "1 or more", 0));
    }
    figures::check(folder, std::slice::from_ref(&case))?;
    Ok(case)
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, BadInput> {
    let bad = |found: &dyn std::fmt::Display| {
        BadInput::new(path.display(), "a result of `cargo bench`", found)
    };
    let text = data::read_text_file(path, 1 << 20)?;
    serde_json::from_str(&text).map_err(|e| bad(&e))
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::time::Duration;

    use super::*;

    const BENCHMARK: &str = r#"{"group_id": "linear", "function_id": "level2",
        "value_str": "1x512x512", "throughput": {"Elements": 524288}, "full_id": "", "title": ""}"#;
    const ESTIMATES: &str = r#"{"mean": {}, "median": {"point_estimate": 20.5, "standard_error": 0.1,
        "confidence_interval": {"confidence_level": 0.95, "lower_bound": 20.0, "upper_bound": 21.0}}}"#;

    #[test]
    fn results_are_found_in_all_subfolders() -> Result<(), Box<dyn Error>> {
        let root = tempfile::tempdir()?;
        for name in ["new", "base"] {
            let folder = root.path().join("linear/level2/1x512x512").join(name);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("benchmark.json"), BENCHMARK)?;
            fs::write(folder.join("estimates.json"), ESTIMATES)?;
        }
        let cases = cases(root.path())?;
        let expected = Case {
            group: "linear".into(),
            function: "level2".into(),
            parameter: "1x512x512".into(),
            throughput: Throughput::Elements(524_288),
            median_ns: 20.5,
            low_ns: 20.,
            high_ns: 21.,
            seconds: None,
            origin: None,
        };
        assert_eq!(cases, [expected]);
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(cases_since(later, root.path())?, []);
        Ok(())
    }

    /// A group's name becomes a file's, and a chart divides by times.
    #[test]
    fn a_result_that_no_chart_can_show_is_refused() -> Result<(), Box<dyn Error>> {
        for change in [
            "linear ../x",
            "linear /x",
            "524288 0",
            "20.5 -20.5",
            "20.5 0.0",
        ] {
            let root = tempfile::tempdir()?;
            let (from, to) = change.split_once(' ').ok_or(change)?;
            for (name, text) in [("benchmark", BENCHMARK), ("estimates", ESTIMATES)] {
                fs::write(
                    root.path().join(name).with_extension("json"),
                    text.replace(from, to),
                )?;
            }
            case(root.path()).unwrap_err();
        }
        Ok(())
    }

    #[test]
    fn a_damaged_result_is_named() -> Result<(), Box<dyn Error>> {
        let root = tempfile::tempdir()?;
        let folder = root.path().join("new");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("benchmark.json"), BENCHMARK)?;
        fs::write(folder.join("estimates.json"), "{")?;
        let error = cases(root.path()).unwrap_err().to_string();
        assert!(
            error.contains("estimates.json: expected a result of"),
            "{error}"
        );
        let missing = cases(&root.path().join("no")).unwrap_err().to_string();
        assert!(
            missing.contains("expected results of `cargo bench`"),
            "{missing}"
        );
        Ok(())
    }
}
