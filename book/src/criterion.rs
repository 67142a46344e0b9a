//! What the reader's `cargo bench` left in `target/criterion`: times by the keys that recorded rows have.

use anyhow::Result;
use data::BadInput;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Medians by key, of a run on one kind of device.
#[derive(Debug, Default, PartialEq)]
pub struct Benches {
    /// `cpu` or `cuda`, as a recorded machine says it.
    pub device: &'static str,
    /// Milliseconds: `lm.tiny.decode.f32.level1`.
    pub models: BTreeMap<String, f64>,
    /// Microseconds, the device's own on a GPU: `linear.1x512x512.f32.level4`.
    pub ops: BTreeMap<String, f64>,
}

/// `benchmark.json`: an op or a model, a level, and a shape or a workload.
#[derive(Deserialize)]
struct Benchmark {
    group_id: String,
    function_id: String,
    value_str: String,
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

impl Benches {
    /// Reads every `new/estimates.json` below `folder`; empty where there is no such folder.
    pub fn read(folder: &Path) -> Result<Self, BadInput> {
        let mut folders = vec![];
        find(folder, &mut folders);
        let cases = folders.iter().map(|folder| case(folder));
        let cases = cases.collect::<Result<Vec<_>, _>>()?;
        // The series of the device's own clock only a GPU has.
        let on_gpu = (cases.iter()).any(|(case, _)| case.function_id.ends_with("_device"));
        let mut benches = Self {
            device: if on_gpu { "cuda" } else { "cpu" },
            ..Self::default()
        };
        for (case, ns) in cases {
            benches.add(&case, ns, on_gpu);
        }
        Ok(benches)
    }

    fn add(&mut self, case: &Benchmark, ns: f64, on_gpu: bool) {
        let key = |level: &str| format!("{}.{}.f32.{level}", case.group_id, case.value_str);
        let function = match case.function_id.as_str() {
            "gemm" => "gemm_one_thread", // as the record of small products says it
            function => function,
        };
        if matches!(case.group_id.as_str(), "lm" | "vit" | "gnn") {
            let key = key(&function.replace("_graph", ".graph"));
            self.models.insert(key, ns / 1e6);
            return;
        }
        let level = match on_gpu {
            true => function.strip_suffix("_device"),
            false => Some(function),
        };
        self.ops.extend(level.map(|level| (key(level), ns / 1e3)));
    }
}

/// The folders named `new` that hold estimates.
fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.ends_with("new/estimates.json") {
            found.push(folder.to_path_buf());
        } else if path.is_dir() {
            find(&path, found);
        }
    }
}

fn case(folder: &Path) -> Result<(Benchmark, f64), BadInput> {
    let Estimates { median } = json(&folder.join("estimates.json"))?;
    Ok((json(&folder.join("benchmark.json"))?, median.point_estimate))
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, BadInput> {
    let bad = |found: &dyn std::fmt::Display| {
        BadInput::new(path.display(), "a result of `cargo bench`", found)
    };
    let text = fs::read_to_string(path).map_err(|e| bad(&e))?;
    serde_json::from_str(&text).map_err(|e| bad(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cases: &[[&str; 3]]) -> Benches {
        let root = tempfile::tempdir().unwrap();
        for [group, function, value] in cases {
            for name in ["new", "base"] {
                let folder = (root.path()).join(format!("{group}/{function}/{value}/{name}"));
                fs::create_dir_all(&folder).unwrap();
                let benchmark = serde_json::json!({
                    "group_id": group, "function_id": function, "value_str": value, "full_id": "",
                });
                fs::write(folder.join("benchmark.json"), benchmark.to_string()).unwrap();
                let estimates = r#"{"mean": {}, "median": {"point_estimate": 2500.0}}"#;
                fs::write(folder.join("estimates.json"), estimates).unwrap();
            }
        }
        Benches::read(root.path()).unwrap()
    }

    #[test]
    fn times_have_the_keys_of_recorded_rows() {
        let found = read(&[
            ["linear", "level2", "1x2x3"],
            ["matmul", "gemm", "8x8x8"],
            ["lm", "level5", "tiny.decode"],
        ]);
        assert_eq!(found.device, "cpu");
        assert_eq!(found.ops["linear.1x2x3.f32.level2"], 2.5);
        assert_eq!(found.ops["matmul.8x8x8.f32.gemm_one_thread"], 2.5);
        assert_eq!(found.models["lm.tiny.decode.f32.level5"], 0.0025);
    }

    #[test]
    fn on_a_gpu_an_op_has_the_device_s_time_and_a_model_a_graph() {
        let found = read(&[
            ["linear", "level2", "1x2x3"],
            ["linear", "level2_device", "1x2x3"],
            ["linear", "level2_graph", "1x2x3"],
            ["lm", "level5_graph", "tiny.decode"],
        ]);
        assert_eq!((found.device, found.ops.len()), ("cuda", 1));
        assert!(found.ops.contains_key("linear.1x2x3.f32.level2"));
        assert!(found.models.contains_key("lm.tiny.decode.f32.level5.graph"));
    }

    #[test]
    fn without_a_run_there_is_nothing_and_a_damaged_one_is_named() {
        let root = tempfile::tempdir().unwrap();
        let none = Benches::read(&root.path().join("none")).unwrap();
        assert!(none.models.is_empty() && none.ops.is_empty());
        fs::create_dir(root.path().join("new")).unwrap();
        fs::write(root.path().join("new/estimates.json"), "{").unwrap();
        let error = Benches::read(root.path()).unwrap_err().to_string();
        assert!(
            error.contains("estimates.json: expected a result of"),
            "{error}"
        );
    }
}
