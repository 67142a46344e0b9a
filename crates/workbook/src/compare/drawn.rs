//! Charts of the recorded models.

use std::path::{Path, PathBuf};

use anyhow::Result;
use charts::BarGrid;
use results::Row;

use super::{chart, overview as panels};
use crate::record::folder::{Drawing, Named, draw, draw_named};

/// Draws every record, one chart per model and dtype, such as `charts/h200-lm-f32`.
pub fn redraw(root: &Path, records: &Named<Row>) -> Result<Vec<Drawing>> {
    let mut drawn = vec![];
    for (name, results) in records {
        for (model, chart) in chart::speed_by_model(results) {
            if chart.groups.is_empty() {
                continue; // a part with graphs only
            }
            drawn.push(draw(root, name, &model, &BarGrid(&chart))?);
        }
    }
    Ok(drawn)
}

/// Draws `charts/overview` and returns its path; prints that it is skipped if no record has its workload.
pub fn overview(root: &Path, records: &Named<Row>) -> Result<Option<PathBuf>> {
    let chart = panels::chart(records);
    if chart.panels.is_empty() {
        data::note(format_args!(
            "skipped: no overview chart: no record has {}",
            panels::DECODE
        ));
        return Ok(None);
    }
    draw_named(root, "overview", &chart).map(Some)
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
            cuda_graph: false,
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
    fn a_record_has_a_chart_per_model() -> Result<()> {
        let root = tempfile::tempdir()?;
        let records = vec![("cpu".to_string(), example())];
        let mut svgs = vec![];
        for _ in 0..2 {
            let [drawing] = &redraw(root.path(), &records)?[..] else {
                panic!("expected one chart");
            };
            let charts = root.path().join("benches/results/charts");
            assert_eq!(drawing.path, charts.join("cpu-lm-f32.svg"));
            assert_eq!(drawing.title, "Language model in f32 on A CPU");
            svgs.push(std::fs::read(&drawing.path)?);
        }
        assert_eq!(svgs[0], svgs[1], "drawn again, it is the same");
        assert_eq!(overview(root.path(), &records)?, None, "it has no such row");
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
