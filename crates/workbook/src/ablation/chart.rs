//! Charts of ablations: how much slower a workload is without each idea.

use std::path::Path;

use anyhow::Result;
use charts::{Axis, Bar, BarPanels, Group};
use results::{Results, Row, spoken};

use crate::compare::significant;
use crate::record::folder::{Drawing, Named, draw};

/// A bar for an idea that is worth less says nothing that the spread of the samples does not say, too.
const LEAST: f64 = 1.04;

/// Draws every record of `benches/results/ablations`, a chart per dtype, as `charts/NAME-ablation-DTYPE`.
pub fn redraw(root: &Path, records: &Named<Row>) -> Result<Vec<Drawing>> {
    let mut drawn = vec![];
    for (name, recorded) in records {
        for dtype in ["bf16", "f32"] {
            let chart = chart(recorded, dtype);
            if !chart.panels.is_empty() {
                drawn.push(draw(root, name, &format!("ablation-{dtype}"), &chart)?);
            }
        }
    }
    Ok(drawn)
}

fn chart(results: &Results, dtype: &str) -> BarPanels {
    let mut groups: Vec<Group> = vec![];
    for row in results.rows.iter().filter(|row| row.dtype == dtype) {
        match (&row.system, groups.last_mut()) {
            (Some(system), Some(group)) if 1. / row.speedup >= LEAST => {
                group.bars.push(bar(row, system));
            }
            (None, _) => groups.push(Group {
                name: row.title(),
                bars: vec![],
            }),
            _ => {}
        }
    }
    groups.retain(|group| !group.bars.is_empty());
    let name = &results.machine.name;
    BarPanels {
        title: format!("Level 5 without one idea, {dtype}, on {name}"),
        axis: Axis::linear("time without the idea, with all ideas = 1"),
        panels: groups,
    }
}

fn bar(row: &Row, system: &str) -> Bar {
    let slower = 1. / row.speedup;
    let part = |ms: f64| slower * ms / row.median_ms;
    Bar {
        name: spoken(system),
        value: slower,
        spread: (part(row.low_ms), part(row.high_ms)),
        label: format!("{slower:.2}× · {} ms", significant(row.median_ms)),
    }
}

#[cfg(test)]
mod tests {
    use results::Machine;

    use super::*;

    #[test]
    fn ideas_that_bring_nothing_have_no_bar() {
        let row = |workload: &str, system: Option<&str>, speedup: f64| Row {
            model: "lm".into(),
            preset: "tiny".into(),
            workload: workload.into(),
            dtype: "f32".into(),
            system: system.map(str::to_owned),
            median_ms: 1. / speedup,
            speedup,
            ..Row::default()
        };
        let mut results = Results::new(Machine::default());
        results.rows = vec![
            row("prefill", None, 1.),
            row("prefill", Some("without_overlap"), 0.99),
            row("decode", None, 1.),
            row("decode", Some("without_cuda_graph"), 0.5),
            row("decode", Some("without_overlap"), 1.01),
        ];
        let chart = chart(&results, "f32");
        let [group] = &chart.panels[..] else {
            panic!("expected one group, found {:?}", chart.panels);
        };
        assert_eq!(group.name, "lm tiny decode");
        let bars: Vec<_> = group
            .bars
            .iter()
            .map(|bar| (&*bar.name, bar.value))
            .collect();
        assert_eq!(bars, [("without CUDA graph", 2.)]);
        assert!(super::chart(&results, "bf16").panels.is_empty());
    }
}
