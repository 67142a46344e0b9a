//! A sweep as text and as charts; the slope shows how time grows.

use std::path::Path;

use anyhow::Result;
use charts::{Axis, LineChart, Series};
use models::trace::table::{Line, aligned};
use results::{Machine, SweepRow, slope, upper_half};

use crate::compare::significant;
use crate::record::folder::{Drawing, Named, draw};

/// Draws every record of `benches/results/sweep` as `charts/NAME-MODEL-PRESET-AXIS-DTYPE`.
pub fn redraw(root: &Path, records: &Named<SweepRow>) -> Result<Vec<Drawing>> {
    let mut drawn = vec![];
    for (name, recorded) in records {
        for rows in sweeps(&recorded.rows) {
            let SweepRow {
                model,
                preset,
                axis,
                dtype,
                ..
            } = &rows[0];
            let chart = chart(rows, &recorded.machine);
            let file = format!("{model}-{preset}-{axis}-{dtype}");
            drawn.push(draw(root, name, &file, &chart)?);
        }
    }
    Ok(drawn)
}

/// Splits rows by model and axis.
fn sweeps(rows: &[SweepRow]) -> impl Iterator<Item = &[SweepRow]> {
    let of = |row: &SweepRow| [&row.model, &row.preset, &row.axis, &row.dtype].map(String::clone);
    rows.chunk_by(move |a, b| of(a) == of(b))
}

/// Lists variants in measured order: `level 1`, …, `level 4 (Rust twin)`, `level 5 in a graph`.
fn variants_of(rows: &[SweepRow], machine: &Machine) -> Vec<String> {
    let mut variants = vec![];
    for variant in rows.iter().map(|row| row.label(machine)) {
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    variants
}

/// Returns (size, ms) of a variant.
fn points(rows: &[SweepRow], machine: &Machine, variant: &str) -> Vec<(f64, f64)> {
    let of_variant = rows.iter().filter(|row| row.label(machine) == variant);
    of_variant
        .map(|row| (row.size as f64, row.median_ms))
        .collect()
}

/// Formats the growth exponent of the larger sizes: `0.97`.
fn growth(points: &[(f64, f64)]) -> String {
    format!("{:.2}", slope(upper_half(points)))
}

/// Draws one line per level on logarithmic axes, on which power laws are straight.
fn chart(rows: &[SweepRow], machine: &Machine) -> LineChart {
    let series = |variant: String| {
        let points = points(rows, machine, &variant);
        let name = format!("{variant}, slope {}", growth(&points));
        Series { name, points }
    };
    let SweepRow {
        model,
        preset,
        axis,
        what,
        dtype,
        ..
    } = &rows[0];
    LineChart {
        title: format!("{model} {preset} by {axis} in {dtype} on {}", machine.name),
        x: Axis::log(what),
        y: Axis::log("time of one forward pass (ms)"),
        series: variants_of(rows, machine).into_iter().map(series).collect(),
        note: "Slopes: of the upper half of the sizes.".into(),
    }
}

/// Formats each sweep: one line per size, one column per level, and the slopes below.
pub fn table(rows: &[SweepRow], machine: &Machine) -> String {
    let mut text = String::new();
    for rows in sweeps(rows) {
        let variants = variants_of(rows, machine);
        let SweepRow {
            model,
            preset,
            axis,
            dtype,
            ..
        } = &rows[0];
        let line = |name: &str, cells: Vec<String>| Line::of([vec![name.into()], cells].concat());
        let mut lines = vec![line(axis, variants.clone())];
        for of_size in rows.chunk_by(|a, b| a.size == b.size) {
            let cells = of_size.iter().map(|row| significant(row.median_ms));
            lines.push(line(&of_size[0].size.to_string(), cells.collect()));
        }
        let slopes = variants
            .iter()
            .map(|variant| growth(&points(rows, machine, variant)));
        lines.push(line("slope, upper half", slopes.collect()));
        text += &format!("\n{model} {preset}, {dtype}\n{}", aligned(&lines));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<SweepRow> {
        let row = |axis: &str, size: usize, level: u8, median_ms: f64| SweepRow {
            model: "gnn".into(),
            preset: "tiny".into(),
            axis: axis.into(),
            what: format!("{axis}, of graphs"),
            size,
            level,
            dtype: "f32".into(),
            median_ms,
            ..SweepRow::default()
        };
        vec![
            row("nodes", 128, 1, 1.),
            row("nodes", 128, 2, 0.5),
            row("nodes", 256, 1, 4.),
            row("nodes", 256, 2, 1.),
            row("edges", 128, 1, 1.),
        ]
    }

    #[test]
    fn the_slope_of_each_level_is_below_its_times() {
        let expected = "
gnn tiny, f32
nodes              level 1  level 2
128                   1.00    0.500
256                   4.00     1.00
slope, upper half     2.00     1.00
";
        let text = table(&rows(), &Machine::default());
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn each_axis_has_a_chart_with_its_slopes() {
        let rows = rows();
        let machine = Machine::default();
        let charts: Vec<LineChart> = sweeps(&rows).map(|rows| chart(rows, &machine)).collect();
        assert_eq!(charts.len(), 2);
        let cpu = variants_of(
            &[SweepRow {
                level: 4,
                ..rows[0].clone()
            }],
            &machine,
        );
        assert_eq!(cpu, ["level 4 (Rust twin)"]);
        let names: Vec<&str> = charts[0].series.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["level 1, slope 2.00", "level 2, slope 1.00"]);
        assert!(charts[0].x.log && charts[0].y.log);
        assert_eq!(charts[0].x.label, "nodes, of graphs");
        assert!(charts[0].note.starts_with("Slopes: "));
    }
}
