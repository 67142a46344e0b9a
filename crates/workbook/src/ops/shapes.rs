//! Recorded times of every op against its shapes, a line a level, as charts.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use charts::{Axis, LineChart, LinePanels, Series};
use results::{Machine, OpResults, OpRow};

use crate::record::folder::{Drawing, draw};

/// Shapes of an op that make a line.
const LEAST: usize = 3;

/// Draws every record of `benches/results/ops` as `charts/NAME-shapes-DTYPE`.
pub fn redraw(root: &Path, records: &[(String, OpResults)]) -> Result<Vec<Drawing>> {
    let mut drawn = vec![];
    for (name, recorded) in records {
        for (dtype, chart) in charts(recorded) {
            drawn.push(draw(root, name, &format!("shapes-{dtype}"), &chart)?);
        }
    }
    Ok(drawn)
}

/// One chart per dtype, with one panel per op that has enough measured shapes.
fn charts(recorded: &OpResults) -> Vec<(String, LinePanels)> {
    let dtypes: BTreeSet<&str> = recorded.rows.iter().map(|row| row.dtype.as_str()).collect();
    let chart = |dtype: &str| {
        let rows: Vec<&OpRow> = (recorded.rows.iter())
            .filter(|row| row.dtype == dtype)
            .collect();
        let ops = rows.chunk_by(|a, b| a.op == b.op);
        let panels: Vec<LineChart> = ops
            .filter_map(|rows| panel(rows, &recorded.machine))
            .collect();
        let name = &recorded.machine.name;
        let title = format!("Op time by shape in {dtype} on {name}");
        (!panels.is_empty()).then(|| (dtype.to_string(), LinePanels { title, panels }))
    };
    dtypes.into_iter().filter_map(chart).collect()
}

/// One op: its shapes by what they have to do, and a line a level.
fn panel(rows: &[&OpRow], machine: &Machine) -> Option<LineChart> {
    let amount = |row: &OpRow| row.flops.or(row.bytes);
    let amounts: BTreeSet<u64> = rows.iter().filter_map(|row| amount(row)).collect();
    if amounts.len() < LEAST {
        return None;
    }
    let mut series: Vec<Series> = vec![];
    for row in rows {
        let name = machine.label(&row.level);
        let point = (amount(row)? as f64, row.us());
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series {
                name,
                points: vec![point],
            }),
        }
    }
    for series in &mut series {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let x = match rows[0].flops {
        Some(_) => "FLOPs",
        None => "bytes that must be read and written",
    };
    Some(LineChart {
        title: rows[0].op.replace('_', " "),
        x: Axis::log(x),
        y: Axis::log("time (µs)"),
        series,
        note: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_of_three_shapes_has_a_panel_with_a_line_a_level() {
        let row = |op: &str, shape: &str, level: &str, flops, host_us| OpRow {
            op: op.into(),
            shape: shape.into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us,
            flops: Some(flops),
            ..OpRow::default()
        };
        let mut results = OpResults::new(Machine::default());
        for (shape, flops) in [("1x4x4", 32), ("9x4x4", 288), ("2x4x4", 64)] {
            for (level, us) in [("level1", 3.), ("level5", 1.)] {
                results.rows.push(row("linear", shape, level, flops, us));
            }
        }
        results
            .rows
            .push(row("linear_gelu", "1x4x12", "level1", 96, 2.));
        let charts = charts(&results);
        let [(dtype, chart)] = &charts[..] else {
            panic!("expected one chart, found {}", charts.len());
        };
        assert_eq!((dtype.as_str(), chart.panels.len()), ("f32", 1));
        let LineChart { series, x, y, .. } = &chart.panels[0];
        assert!(x.log && y.log && x.label == "FLOPs");
        assert_eq!(series[1].name, "level 5 (Rust twin)");
        assert_eq!(series[1].points, [(32., 1.), (64., 1.), (288., 1.)]);
    }
}
