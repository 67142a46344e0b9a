//! The figures as a picture.

use charts::{Axis, Bar, BarChart, Group};

use super::readme::significant;
use super::record::{Results, Row};

/// Ratios up to here fit on one linear axis.
const LINEAR: f64 = 20.;

/// How much faster than level 1 each level is, a group a workload.
///
/// Times of different workloads differ a thousandfold; ratios fit on one axis, logarithmic where they
/// too are far apart. The whiskers are the spread of the level's own samples.
pub fn speed(results: &Results) -> BarChart {
    let group = |rows: &[Row]| Group {
        name: rows[0].title(),
        bars: (rows.iter().filter(|row| results.is_shown(row)))
            .map(|row| bar(row, &rows[0]))
            .collect(),
    };
    let machine = &results.machine;
    let wide = results.rows.iter().any(|row| row.speedup > LINEAR);
    let axis = if wide { Axis::log } else { Axis::linear };
    BarChart {
        title: format!("Speed of the levels on {}", machine.name),
        axis: axis("speed-up over level 1 (×), longer is faster"),
        mark: Some(1.),
        groups: results.workloads().map(group).collect(),
    }
}

fn bar(row: &Row, first: &Row) -> Bar {
    let ratio = |ms: f64| first.median_ms / ms;
    Bar {
        name: row.variant(),
        value: ratio(row.median_ms),
        spread: (ratio(row.high_ms), ratio(row.low_ms)),
        label: format!("{:.2}× · {} ms", row.speedup, significant(row.median_ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::record::tests::example;

    #[test]
    fn a_faster_level_has_a_longer_bar() {
        let chart = speed(&example());
        let [group] = &chart.groups[..] else {
            panic!("expected one group, found {}", chart.groups.len());
        };
        assert_eq!(group.name, "lm tiny decode");
        assert_eq!(group.bars[1].label, "1.26× · 0.980 ms");
        let [one, two] = [&group.bars[0], &group.bars[1]];
        assert!(!chart.axis.log);
        assert!(one.value == 1. && two.value > 1.2);
        assert!(two.spread.0 < two.value && two.value < two.spread.1);
    }

    #[test]
    fn ratios_far_apart_are_on_a_logarithmic_axis() {
        let mut results = example();
        results.rows[1].speedup = 300.;
        assert!(speed(&results).axis.log);
    }
}
