//! A recorded comparison as a chart: how much faster each level is than level 1.

use crate::filter::Filter;
use crate::format;
use crate::includes::text_of;
use anyhow::{Context, Result, ensure};
use charts::{Axis, Bar, BarPanels, Group};
use results::{Machine, Results, Row};
use std::path::Path;

/// The chart of the rows that `filter` keeps, as a figure whose SVG stands in the page itself.
pub fn chart(recorded: &Results, filter: &Filter) -> Result<String> {
    let rows: Vec<&Row> = filter.rows(recorded);
    ensure!(
        !rows.is_empty(),
        "expected recorded rows of `{filter}`, found none"
    );
    let title = format!("{}: speed-up over level 1", long_name(filter.subject));
    let chart = BarPanels {
        title: title.clone(),
        axis: Axis::linear("median time of level 1 / median time of the level"),
        panels: groups(&rows, &recorded.machine),
    };
    Ok(figure("chart", &title, &charts::svg_text(&chart)?))
}

/// The chart of this name that stands below the recorded results, as it is.
pub fn drawn(charts: &Path, name: &str) -> Result<String> {
    let path = charts.join(format!("{name}.svg"));
    let svg = text_of(&path);
    let svg = svg.with_context(|| format!("expected a chart, found no {name}.svg"))?;
    Ok(figure("chart", &name.replace('-', " "), &svg))
}

/// An SVG as a figure of these classes.
pub fn figure(classes: &str, title: &str, svg: &str) -> String {
    // Markdown ends a block of HTML at the first empty line.
    let lines: Vec<&str> = svg.lines().filter(|l| !l.trim().is_empty()).collect();
    format!(
        "<figure class=\"{classes}\" role=\"img\" aria-label=\"{title}\">\n{}\n</figure>\n",
        lines.join("\n")
    )
}

fn long_name(model: &str) -> &str {
    match model {
        "lm" => "Language model",
        "vit" => "Vision transformer",
        "gnn" => "Graph transformer",
        other => other,
    }
}

/// A group a workload, in the order of the rows, and in it a bar a level.
fn groups(rows: &[&Row], machine: &Machine) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let name = format!("{} {}, {}", row.preset, row.workload, row.dtype);
        let Some(first) = rows.iter().find(|r| r.level == 1 && same_workload(r, row)) else {
            continue;
        };
        let bar = bar(row, first.median_ms, machine);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.bars.push(bar),
            None => groups.push(Group {
                name,
                bars: vec![bar],
            }),
        }
    }
    groups
}

fn same_workload(a: &Row, b: &Row) -> bool {
    (&a.preset, &a.workload, &a.dtype) == (&b.preset, &b.workload, &b.dtype)
}

fn bar(row: &Row, level1_ms: f64, machine: &Machine) -> Bar {
    let speedup = level1_ms / row.median_ms;
    Bar {
        name: row.label(machine),
        value: speedup,
        spread: (level1_ms / row.high_ms, level1_ms / row.low_ms),
        label: format!(
            "{} ({} ms)",
            format::ratio(speedup),
            format::three_digits(row.median_ms)
        ),
    }
}
