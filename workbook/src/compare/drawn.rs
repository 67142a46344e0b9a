//! What is recorded of the models, as charts and as the README's table.

use std::path::{Path, PathBuf};

use anyhow::Result;
use results::Row;

use super::{chart, readme};
use crate::record::folder::{Named, chart_path};

/// Whether the README has a place for the table.
pub fn has_place(root: &Path) -> Result<()> {
    readme::check(&root.join("README.md"))
}

/// Draws every record, a chart a model and number format (`charts/h200-lm-f32`), and writes the README's table, where there
/// is a README; returns the paths.
pub fn redraw(root: &Path, records: &Named<Row>) -> Result<Vec<PathBuf>> {
    let mut paths = vec![];
    for (name, results) in records {
        for (model, chart) in chart::speed_by_model(results) {
            if chart.groups.is_empty() {
                continue; // of a part in graphs alone
            }
            let path = chart_path(root, &format!("{name}-{model}"))?;
            paths.extend(charts::bar_grid(&path, &chart)?);
        }
    }
    let readme = root.join("README.md");
    if readme.exists() {
        readme::rewrite(&readme, records)?;
        paths.push(readme);
    }
    Ok(paths)
}

#[cfg(test)]
pub mod tests {
    use results::{Machine, Results};

    use super::*;

    /// A workload at two levels.
    pub fn example() -> Results {
        let row = |level: u8, median_ms: f64, tensors| Row {
            model: "lm".into(),
            preset: "tiny".into(),
            workload: "decode".into(),
            level,
            system: None,
            graph: false,
            dtype: "f32".into(),
            median_ms,
            low_ms: 0.95 * median_ms,
            high_ms: 1.1 * median_ms,
            device_ms: None,
            speedup: 1.23 / median_ms,
            tensors,
            launches: None,
            peak_bytes: 3 << 19,
            max_difference: if level == 1 { 0. } else { 1.25e-7 },
            samples: 20,
            origin: None,
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
    fn a_record_has_a_chart_and_a_table() -> Result<()> {
        let root = tempfile::tempdir()?;
        let readme = root.path().join("README.md");
        let empty = "# Title\n<!-- results:begin -->\n<!-- results:end -->\n";
        let records = vec![("cpu".to_string(), example())];
        let mut drawn = vec![];
        for _ in 0..2 {
            std::fs::write(&readme, empty)?;
            let paths = redraw(root.path(), &records)?;
            let name = |p: &PathBuf| p.file_name()?.to_str().map(str::to_string);
            let names: Vec<String> = paths.iter().filter_map(name).collect();
            assert_eq!(names, ["cpu-lm-f32.svg", "cpu-lm-f32.png", "README.md"]);
            assert!(std::fs::read_to_string(&readme)?.contains("| lm tiny decode | 1.23 ms |"));
            drawn.push([std::fs::read(&paths[0])?, std::fs::read(&readme)?]);
        }
        assert_eq!(drawn[0], drawn[1], "drawn again, it is the same");
        Ok(())
    }

    #[test]
    fn a_readme_without_a_place_is_refused() -> Result<()> {
        let root = tempfile::tempdir()?;
        std::fs::write(root.path().join("README.md"), "# Title\n")?;
        let error = has_place(root.path()).unwrap_err().to_string();
        assert!(error.contains("README.md: expected"), "{error}");
        Ok(())
    }

    #[test]
    fn every_level_can_be_recorded() {
        assert_eq!(results::HIGHEST, levels::highest());
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
