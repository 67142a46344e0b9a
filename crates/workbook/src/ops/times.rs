//! Charts of the recorded times of every op on its shapes, level by level.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use benches::ops::{Chart, ops};
use charts::{Axis, Bar, BarChart, BarGrid, Group};
use results::{Machine, OpClock, OpResults, OpRow};

use crate::compare::significant;
use crate::record::folder::{Drawing, draw};

/// The charts of a dtype: in the name of the file, in the title, and in the table of ops.
const KINDS: [(&str, &str, Chart); 4] = [
    ("matmuls", "Matmuls", Chart::Matmuls),
    ("rows", "Row ops", Chart::Rows),
    ("attention", "Attention", Chart::Attention),
    ("graphs", "Graph ops", Chart::Graphs),
];

/// The chart of an op that is timed.
fn chart_of(op: &str) -> Option<Chart> {
    ops()
        .find(|timed| timed.name == op)
        .map(|timed| timed.chart)
}

/// The level that the others are compared with, as in the tables.
const BASE: &str = "level2";

/// Draws every record of `benches/results/ops` as `charts/NAME-matmuls-DTYPE` and so on.
pub fn redraw(root: &Path, records: &[(String, OpResults)]) -> Result<Vec<Drawing>> {
    let mut drawn = vec![];
    for (name, recorded) in records {
        for (kind, chart) in charts(recorded) {
            drawn.push(draw(root, name, &kind, &BarGrid(&chart))?);
        }
    }
    Ok(drawn)
}

/// The charts of [`KINDS`] for each dtype.
fn charts(recorded: &OpResults) -> Vec<(String, BarChart)> {
    let dtypes: BTreeSet<&str> = recorded.rows.iter().map(|row| row.dtype.as_str()).collect();
    let mut charts = vec![];
    for dtype in dtypes {
        for (kind, title, of) in KINDS {
            let of_kind = |row: &&OpRow| row.dtype == dtype && chart_of(&row.op) == Some(of);
            let rows: Vec<&OpRow> = recorded.rows.iter().filter(of_kind).collect();
            let groups = rows.chunk_by(|a, b| (&a.op, &a.shape) == (&b.op, &b.shape));
            let groups: Vec<Group> = groups
                .filter_map(|rows| group(rows, &recorded.machine))
                .collect();
            if !groups.is_empty() {
                let title = format!("{title} in {dtype} on {}", recorded.machine.name);
                charts.push((format!("{kind}-{dtype}"), chart(title, groups)));
            }
        }
    }
    charts
}

fn chart(title: String, groups: Vec<Group>) -> BarChart {
    BarChart {
        title,
        axis: Axis::log(
            "speed-up over level 2 (×), longer is faster; whiskers: 10th to 90th percentile",
        ),
        mark: Some(1.),
        groups,
    }
}

/// One op on one shape, which has to have been measured at [`BASE`].
fn group(rows: &[&OpRow], machine: &Machine) -> Option<Group> {
    let base = rows.iter().find(|row| row.level == BASE)?;
    let clock = OpClock::of(rows.iter().copied());
    let bar = |row: &&OpRow| {
        let (base, us) = (clock.us(base), clock.us(row));
        let how = if clock.has(row) { "" } else { " one by one" };
        let (low, high) = row.spread();
        let ratio = base / us;
        Bar {
            name: machine.label(&row.level),
            value: ratio,
            spread: (ratio * row.us() / high, ratio * row.us() / low),
            label: format!("{} µs{how} · {}×", significant(us), significant(ratio)),
        }
    };
    Some(Group {
        name: format!("{} {}", rows[0].op, rows[0].shape.replace('x', " × ")),
        bars: rows.iter().map(bar).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::spoken;

    /// An op that is recorded and in no chart would be missed by nobody.
    #[test]
    fn every_recorded_op_has_a_chart() -> Result<()> {
        let json = crate::compare::root()?.join("benches/results/ops/h200.json");
        for row in OpResults::load(&json)?.rows {
            assert!(
                row.op == "limits" || chart_of(&row.op).is_some(),
                "{}",
                row.op
            );
        }
        Ok(())
    }

    #[test]
    fn every_op_is_timed_under_the_name_in_its_table() -> Result<()> {
        let timed = crate::ops::tests::timed()?;
        let timed: BTreeSet<&str> = timed.iter().map(|(op, _)| op.as_str()).collect();
        let listed = ops().map(|op| op.name).collect();
        assert_eq!(timed, listed, "see `timed!` in benches/src/ops/*.rs");
        Ok(())
    }

    #[test]
    fn products_and_others_are_compared_with_level_2() {
        let row = |op: &str, level: &str, host_us: f64| OpRow {
            op: op.into(),
            shape: "1x2x3".into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us,
            ..OpRow::default()
        };
        let mut results = OpResults::new(Machine::default());
        results.rows = vec![
            row("limits", "limits", 1e6),
            row("linear", "level1", 8.),
            row("linear", "level2", 4.),
            row("linear", "level3", 2.),
            row("next_token", "level1", 1.),
            row("softmax", "level2", 1.),
            row("softmax", "copy", 0.5),
        ];
        let charts = charts(&results);
        let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["matmuls-f32", "rows-f32"]);
        let group = &charts[0].1.groups[0];
        let labels: Vec<&str> = group.bars.iter().map(|bar| bar.label.as_str()).collect();
        assert_eq!(
            labels,
            ["8.00 µs · 0.500×", "4.00 µs · 1.00×", "2.00 µs · 2.00×"]
        );
        assert_eq!(group.bars[2].name, "level 3 (Rust twin)");
        // Speed-ups need a time at level 2.
        let others: Vec<&str> = charts[1].1.groups.iter().map(|g| g.name.as_str()).collect();
        assert_eq!(others, ["softmax 1 × 2 × 3"]);
        assert_eq!(charts[1].1.groups[0].bars[1].name, "copy");
        assert_eq!(spoken("pytorch_compile"), "PyTorch compile");
    }
}
