//! Charts of recorded worklogs: one bar per step, or one line per step if there are several sizes.

use std::path::Path;

use anyhow::Result;
use charts::{Axis, Bar, BarChart, Group, LineChart, Series};
use results::OpResults;

use super::{WORKLOGS, Worklog, step_name};
use crate::record::folder::{Drawing, draw};

/// Steps without a line: nine steps and two references are too many lines to tell apart.
const NOT_DRAWN: [usize; 2] = [6, 7];
/// Text below the lines.
const NOTE: &str = "Steps 6 and 7 are not drawn. Step 9 computes in TF32.";

/// Draws every record of `benches/results/worklogs` as `charts/NAME-worklog-OP`.
pub fn redraw(root: &Path, records: &[(String, OpResults)]) -> Result<Vec<Drawing>> {
    let mut drawn = vec![];
    for (name, recorded) in records {
        for worklog in WORKLOGS {
            let drawing = redraw_one(root, name, worklog, recorded)?;
            if drawing.is_none() {
                data::note(format_args!(
                    "skipped: no chart of {} in worklogs/{name}.json: not recorded",
                    worklog.op
                ));
            }
            drawn.extend(drawing);
        }
    }
    Ok(drawn)
}

/// Draws a worklog if a record has it.
fn redraw_one(
    root: &Path,
    name: &str,
    worklog: &Worklog,
    recorded: &OpResults,
) -> Result<Option<Drawing>> {
    let file = format!("worklog-{}", worklog.op);
    if let [size] = *worklog.sizes {
        let chart = bars(worklog, size, recorded)?;
        let is_recorded = !chart.groups.is_empty();
        return is_recorded
            .then(|| draw(root, name, &file, &chart))
            .transpose();
    }
    let chart = lines(worklog, recorded);
    let is_recorded = !chart.series.is_empty();
    is_recorded
        .then(|| draw(root, name, &file, &chart))
        .transpose()
}

fn bars(worklog: &Worklog, size: usize, results: &OpResults) -> Result<BarChart> {
    let mut groups = vec![];
    for step in worklog.shares(results, size)? {
        let percent = 100. * step.share;
        groups.push(Group {
            name: format!("{}. {}", step.number, step.idea),
            bars: vec![Bar {
                name: format!("compared with {}", step.reference),
                value: percent,
                spread: (percent, percent),
                label: format!("{percent:.0}%, {}", step.rate()),
            }],
        });
    }
    Ok(BarChart {
        title: title(worklog, results),
        axis: Axis::linear("throughput (% of what it is compared with)"),
        mark: Some(100.),
        groups,
    })
}

fn lines(worklog: &Worklog, results: &OpResults) -> LineChart {
    let mut series = vec![];
    for (level, name) in levels(worklog) {
        let point = |&size: &usize| {
            let row = worklog.recorded(results, size, &level)?;
            Some((size as f64, row.flops? as f64 / row.us() / 1e6))
        };
        let points: Vec<(f64, f64)> = worklog.sizes.iter().filter_map(point).collect();
        if !points.is_empty() {
            series.push(Series { name, points });
        }
    }
    LineChart {
        title: title(worklog, results),
        x: Axis::log2("M = N = K"),
        y: Axis::log("throughput (TFLOP/s)"),
        series,
        note: NOTE.into(),
    }
}

/// The rows that have a line, each with its name: steps, and what they are compared with.
fn levels(worklog: &Worklog) -> Vec<(String, String)> {
    let mut levels = vec![];
    let mut references: Vec<(String, String)> = vec![];
    for (number, _) in (worklog.steps)() {
        if !NOT_DRAWN.contains(&number) {
            levels.push((step_name(number), format!("step {number}")));
        }
        let (level, name) = (worklog.reference_of)(number);
        let reference = (level.into(), name.into());
        if !references.contains(&reference) {
            references.push(reference);
        }
    }
    levels.extend(references);
    levels
}

fn title(worklog: &Worklog, results: &OpResults) -> String {
    format!("{}, {}", worklog.title, results.machine.name)
}

#[cfg(test)]
mod tests {
    use super::super::matmul;
    use super::super::tests::recorded;
    use super::*;

    #[test]
    fn a_line_has_the_throughput_at_each_recorded_size() {
        let results = recorded(&[
            ("matmul", 4096, "step1", 1.),
            ("matmul_sizes", 512, "step1", 256.),
            ("matmul_sizes", 1024, "step1", 1024.),
            ("matmul_sizes", 512, "step6", 256.),
            ("matmul_sizes", 512, "candle_tf32", 256.),
            ("matmul_sizes", 512, "candle", 128.),
        ]);
        let LineChart { series, x, y, .. } = lines(&matmul::BY_SIZE, &results);
        assert!(x.log && x.binary && y.log && !y.binary);
        let found: Vec<(&str, &[(f64, f64)])> = series
            .iter()
            .map(|line| (&*line.name, &*line.points))
            .collect();
        assert_eq!(
            found,
            [
                ("step 1", &[(512., 1.048576), (1024., 2.097152)][..]),
                ("cuBLAS", &[(512., 2.097152)][..]),
                ("cuBLAS with TF32", &[(512., 1.048576)][..]),
            ]
        );
    }

    #[test]
    fn only_recorded_worklogs_are_drawn() -> Result<()> {
        let root = tempfile::tempdir()?;
        let names = |rows: &[(&str, usize, &str, f64)]| -> Result<Vec<String>> {
            let drawn = redraw(root.path(), &[("new".into(), recorded(rows))])?;
            let name = |drawing: &Drawing| {
                let name = drawing.path.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            };
            Ok(drawn.iter().map(name).collect())
        };
        let step = |op| (op, 4096, "step1", 400.);
        let library = |op| (op, 4096, "candle", 100.);
        let large = [step("matmul"), library("matmul")];
        assert_eq!(names(&large)?, ["new-worklog-matmul.svg"]);
        let sizes = [step("matmul_sizes"), library("matmul_sizes")];
        assert_eq!(names(&sizes)?, ["new-worklog-matmul_sizes.svg"]);
        Ok(())
    }
}
