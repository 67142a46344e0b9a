//! Times of the reader's `cargo bench` in `target/criterion`, by the keys that recorded rows have.

use std::collections::BTreeMap;
use std::path::Path;

use data::BadInput;
use results::criterion::{Case, cases};

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

impl Benches {
    /// Reads every `new/estimates.json` below `folder`; empty where there is no such folder.
    pub fn read(folder: &Path) -> Result<Self, BadInput> {
        let cases = if folder.exists() {
            cases(folder)?
        } else {
            vec![]
        };
        // The series of the device's own clock only a GPU has.
        let on_gpu = cases.iter().any(|case| case.function.ends_with("_device"));
        let mut benches = Self {
            device: if on_gpu { "cuda" } else { "cpu" },
            ..Self::default()
        };
        for case in &cases {
            benches.add(case, on_gpu);
        }
        Ok(benches)
    }

    fn add(&mut self, case: &Case, on_gpu: bool) {
        let ns = case.median_ns;
        let key = |level: &str| format!("{}.{}.f32.{level}", case.group, case.parameter);
        let function = match case.function.as_str() {
            "gemm" => "gemm_one_thread", // as the record of small products says it
            function => function,
        };
        if matches!(case.group.as_str(), "lm" | "vit" | "gnn") {
            let key = key(&function.replace("_graph", ".graph"));
            self.models.insert(key, ns / 1e6);
            return;
        }
        let level = if on_gpu {
            function.strip_suffix("_device")
        } else {
            Some(function)
        };
        self.ops.extend(level.map(|level| (key(level), ns / 1e3)));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(cases: &[[&str; 3]]) -> Benches {
        let root = tempfile::tempdir().unwrap();
        for [group, function, value] in cases {
            for name in ["new", "base"] {
                let folder = (root.path()).join(format!("{group}/{function}/{value}/{name}"));
                fs::create_dir_all(&folder).unwrap();
                let benchmark = serde_json::json!({
                    "group_id": group, "function_id": function, "value_str": value, "throughput": {"Bytes": 8},
                });
                fs::write(folder.join("benchmark.json"), benchmark.to_string()).unwrap();
                let estimates = r#"{"median": {"point_estimate": 2500.0,
                    "confidence_interval": {"lower_bound": 2400.0, "upper_bound": 2600.0}}}"#;
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
    fn without_a_run_there_is_nothing() {
        let none = Benches::read(Path::new("no/such/folder")).unwrap();
        assert!(none.models.is_empty() && none.ops.is_empty());
    }
}
