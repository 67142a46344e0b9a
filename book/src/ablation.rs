//! `{{ablation on=h200 lm.readme.decode.bf16 …}}`: how much slower workloads are at level 5 without each idea, as a table
//! and as a chart.

use std::path::Path;

use anyhow::{Context, Result};
use charts::{Axis, Bar, BarPanels, Group};
use results::{Results, Row, spoken};

use crate::chart::figure;
use crate::directives;
use crate::format;
use crate::markdown;
use crate::table::machine;

const NOTE: &str = "First row: the host's time with all ideas; below, how many times that a pass takes without one. \
                    A dash: within 4%. Compare within this run only: the hosts of other runs are faster or slower";

/// Differences that the spread of the samples explains as well.
const LEAST: f64 = 1.04;

/// `text` with every `{{ablation …}}` replaced; `results` is the folder of records.
///
/// # Errors
/// A record or a row that is not there.
pub fn expand(text: &str, results: &Path) -> Result<String> {
    directives::expand(text, "ablation", |_, arguments| {
        let mut words = arguments.split_whitespace();
        let on = words.next().and_then(|word| word.strip_prefix("on="));
        let on = on.context("expected `ablation on=NAME MODEL.PRESET.WORKLOAD.DTYPE …`")?;
        let record = Results::load(&results.join(format!("ablations/{on}.json")))?;
        let columns = words.map(|workload| column(&record, workload));
        let columns: Vec<Vec<&Row>> = columns.collect::<Result<_>>()?;
        Ok(table(&record, &columns)? + "\n" + &chart(&columns)?)
    })
}

/// A column per workload and a row per idea that changes one of them.
fn table(record: &Results, columns: &[Vec<&Row>]) -> Result<String> {
    let first = columns.first().context("expected a workload, found none")?;
    let titles: Vec<String> = columns.iter().map(|rows| rows[0].title()).collect();
    let mut text = markdown::header("", &titles);
    for (at, row) in first.iter().enumerate() {
        let cells: Vec<Option<String>> = columns.iter().map(|rows| cell(rows[at])).collect();
        if cells.iter().any(Option::is_some) {
            let name = row.system.as_deref().map_or("all ideas".into(), spoken);
            text += &markdown::line(&name, cells.into_iter());
        }
    }
    Ok(markdown::figures(
        &text,
        &[NOTE, &machine(&record.machine)],
        &[],
    ))
}

/// A panel per workload and a bar per idea without which it is slower.
fn chart(columns: &[Vec<&Row>]) -> Result<String> {
    let bar = |row: &&Row| {
        let slower = 1. / row.speedup;
        Some(Bar {
            name: row.system.as_deref().map(spoken)?,
            value: slower,
            spread: (slower, slower),
            label: format::ratio(slower),
        })
    };
    let panel = |rows: &Vec<&Row>| Group {
        name: rows[0].title(),
        bars: (rows.iter().filter_map(bar).filter(|bar| bar.value >= LEAST)).collect(),
    };
    let panels = columns.iter().map(panel);
    let panels = panels.filter(|panel| !panel.bars.is_empty());
    let title = "Level 5 without one idea";
    let chart = BarPanels {
        title: title.into(),
        axis: Axis::linear("time without the idea / time with all ideas"),
        panels: panels.collect(),
    };
    Ok(figure("chart", title, &charts::svg_text(&chart)?))
}

/// The rows of a workload: with all ideas, then without each.
fn column<'r>(record: &'r Results, workload: &str) -> Result<Vec<&'r Row>> {
    let prefix = format!("{workload}.");
    let rows: Vec<&Row> = record
        .rows
        .iter()
        .filter(|row| row.key().starts_with(&prefix))
        .collect();
    let is_whole = rows.first().is_some_and(|row| row.system.is_none());
    is_whole
        .then_some(rows)
        .with_context(|| format!("expected an ablation of {workload}, found none"))
}

/// `90.4 µs`, `1.23×`, or none where the idea changes nothing.
fn cell(row: &Row) -> Option<String> {
    let slower = 1. / row.speedup;
    match row.system {
        None => Some(format!("{} µs", format::three_digits(row.median_ms * 1e3))),
        Some(_) if (1. / LEAST..LEAST).contains(&slower) => None,
        Some(_) => Some(format::ratio(slower)),
    }
}

#[cfg(test)]
mod tests {
    use results::{Kind, Machine};

    use super::*;

    fn record() -> Results {
        let row = |workload: &str, idea: Option<&str>, speedup: f64| Row {
            model: "lm".into(),
            preset: "tiny".into(),
            workload: workload.into(),
            level: if idea.is_none() { 5 } else { 0 },
            cuda_graph: idea.is_none(),
            system: idea.map(|idea| format!("without_{idea}")),
            dtype: "bf16".into(),
            median_ms: 0.1 / speedup,
            low_ms: 0.1 / speedup,
            high_ms: 0.1 / speedup,
            speedup,
            samples: 5,
            ..Row::default()
        };
        let machine = Machine {
            name: "A GPU".into(),
            ..Machine::default()
        };
        let mut record = Results::new(machine).of_kind(Kind::Ablations);
        for workload in ["prefill", "decode"] {
            record.rows.push(row(workload, None, 1.));
            record.rows.push(row(workload, Some("dispatch"), 0.99));
            let of_graph = if workload == "decode" { 0.5 } else { 1.01 };
            record
                .rows
                .push(row(workload, Some("cuda_graph"), of_graph));
        }
        record
    }

    fn columns<'r>(record: &'r Results, workloads: &[&str]) -> Result<Vec<Vec<&'r Row>>> {
        let columns = workloads.iter().map(|workload| column(record, workload));
        columns.collect()
    }

    #[test]
    fn ideas_that_change_nothing_have_no_row_and_no_bar() {
        let record = record();
        let columns = columns(&record, &["lm.tiny.prefill.bf16", "lm.tiny.decode.bf16"]).unwrap();
        let text = table(&record, &columns).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[2].starts_with("| all ideas | 100"), "{text}");
        assert_eq!(lines[3], "| without CUDA graph | – | 2.00× |");
        assert!(text.contains("A GPU"), "{text}");
        let drawn = chart(&columns).unwrap();
        assert!(
            drawn.contains("without CUDA graph") && drawn.contains("2.00×"),
            "{drawn}"
        );
        assert!(!drawn.contains("without dispatch"), "{drawn}");
    }

    #[test]
    fn a_missing_workload_is_an_error() {
        let record = record();
        let error = columns(&record, &["lm.tiny.prefill4.bf16"]).unwrap_err();
        assert!(error.to_string().contains("lm.tiny.prefill4.bf16"));
        assert!(table(&record, &[]).is_err());
    }
}
