//! Charts of the results.

use charts::{Axis, Bar, BarChart, Group};

use super::significant;
use results::{Clock, Machine, Results, Row};

/// Maximum ratio on a linear axis.
const LINEAR: f64 = 20.;

/// A chart of each level's speed-up over level 1, one group per workload.
///
/// Times of different workloads differ a thousandfold, but ratios fit on one axis, which is logarithmic if
/// even they are far apart. Whiskers show the spread of the level's samples.
pub fn speed(results: &Results) -> BarChart {
    let title = format!("Speed of the levels on {}", results.machine.name);
    chart(title, results, &results.workloads().collect::<Vec<_>>())
}

/// The same as one chart per model and dtype, each with a file name: `lm-f32`.
pub fn speed_by_model(results: &Results) -> Vec<(String, BarChart)> {
    let mut charts: Vec<(&Row, Vec<&[Row]>)> = vec![];
    for rows in results.workloads() {
        let first = &rows[0];
        let same =
            |(of, _): &&mut (&Row, _)| (&of.model, &of.dtype) == (&first.model, &first.dtype);
        match charts.iter_mut().find(same) {
            Some((_, workloads)) => workloads.push(rows),
            None => charts.push((first, vec![rows])),
        }
    }
    let named = |(first, workloads): (&Row, Vec<&[Row]>)| {
        let model = long_name(&first.model);
        let title = format!("{model} in {} on {}", first.dtype, results.machine.name);
        let name = format!("{}-{}", first.model, first.dtype);
        (name, chart(title, results, &workloads))
    };
    charts.into_iter().map(named).collect()
}

fn long_name(model: &str) -> &str {
    match model {
        "lm" => "Language model",
        "vit" => "Vision transformer",
        "gnn" => "Graph transformer",
        other => other,
    }
}

fn chart(title: String, results: &Results, workloads: &[&[Row]]) -> BarChart {
    let group = |rows: &&[Row]| Group {
        name: rows[0].title(),
        bars: (rows.iter().filter(|row| results.is_shown(row, Clock::Host)))
            .map(|row| bar(row, &rows[0], &results.machine))
            .collect(),
    };
    let mut rows = workloads.iter().copied().flatten();
    let wide = rows.any(|row| row.speedup > LINEAR);
    let axis = if wide { Axis::log } else { Axis::linear };
    BarChart {
        title,
        axis: axis(
            "speed-up over level 1 (×), longer is faster; whiskers: 10th to 90th percentile",
        ),
        mark: Some(1.),
        groups: (workloads.iter().map(group))
            .filter(|group| !group.bars.is_empty())
            .collect(),
    }
}

fn bar(row: &Row, first: &Row, machine: &Machine) -> Bar {
    let ratio = |ms: f64| first.median_ms / ms;
    Bar {
        name: row.label(machine),
        value: ratio(row.median_ms),
        spread: (ratio(row.high_ms), ratio(row.low_ms)),
        label: format!("{:.2}× · {} ms", row.speedup, significant(row.median_ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::drawn::tests::example;

    #[test]
    fn a_faster_level_has_a_longer_bar() {
        let chart = speed(&example());
        let [group] = &chart.groups[..] else {
            panic!("expected one group, found {}", chart.groups.len());
        };
        assert_eq!(group.name, "lm tiny decode");
        assert_eq!(group.bars[1].label, "1.26× · 0.980 ms");
        assert_eq!(group.bars[1].name, "level 2");
        let [one, two] = [&group.bars[0], &group.bars[1]];
        assert!(!chart.axis.log);
        assert!(one.value == 1. && two.value > 1.2);
        assert!(two.spread.0 < two.value && two.value < two.spread.1);
    }

    /// A CPU runs no PTX and no CUDA, and its chart says so.
    #[test]
    fn a_chart_of_a_cpu_names_rust_twins() {
        let mut results = example();
        results.rows[1].level = 3;
        let name = |results: &Results| speed(results).groups[0].bars[1].name.clone();
        assert_eq!(name(&results), "level 3 (Rust twin)");
        results.machine.device = "cuda".into();
        assert_eq!(name(&results), "level 3 (PTX)");
    }

    #[test]
    fn each_model_and_dtype_has_a_chart() {
        let mut results = example();
        let of = |model: &str, dtype: &str| Row {
            model: model.into(),
            dtype: dtype.into(),
            ..results.rows[0].clone()
        };
        let more = [of("vit", "f32"), of("lm", "bf16"), of("vit", "f32")];
        results.rows.extend(more);
        let charts = speed_by_model(&results);
        let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["lm-f32", "vit-f32", "lm-bf16"]);
        assert_eq!(charts[0].1.title, "Language model in f32 on A CPU");
        assert_eq!(charts[0].1.groups.len(), 1);
    }

    #[test]
    fn ratios_far_apart_are_on_a_logarithmic_axis() {
        let mut results = example();
        results.rows[1].speedup = 300.;
        assert!(speed(&results).axis.log);
    }
}
