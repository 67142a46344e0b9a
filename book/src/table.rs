//! A recorded comparison as a table, and the line that says where it was measured.

use crate::format;
use anyhow::{Result, ensure};
use results::{Machine, Results, Row};

/// Which rows of a comparison a table shows: those of a model, and of each column that is named.
#[derive(Debug, Default)]
pub struct Filter<'a> {
    /// `lm`, `vit` or `gnn`.
    pub model: &'a str,
    /// Only this preset.
    pub preset: Option<&'a str>,
    /// Only this workload.
    pub workload: Option<&'a str>,
    /// Only this number format.
    pub dtype: Option<&'a str>,
}

impl Filter<'_> {
    /// The rows of a comparison that it keeps, in their order.
    pub fn rows<'r>(&self, results: &'r Results) -> Vec<&'r Row> {
        results.rows.iter().filter(|row| self.keeps(row)).collect()
    }

    fn keeps(&self, row: &Row) -> bool {
        let same = |wanted: Option<&str>, found: &str| wanted.is_none_or(|w| w == found);
        row.model == self.model
            && same(self.preset, &row.preset)
            && same(self.workload, &row.workload)
            && same(self.dtype, &row.dtype)
    }
}

/// A Markdown table of the rows that `filter` keeps; with a column behind the median where the reader's own run has any of
/// them.
pub fn table(recorded: &Results, own: Option<&Results>, filter: &Filter) -> Result<String> {
    let rows = filter.rows(recorded);
    ensure!(
        !rows.is_empty(),
        "expected recorded rows of {filter:?}, found none"
    );
    let here = |row: &Row| own.and_then(|own| own.rows.iter().find(|r| r.key() == row.key()));
    let with_here = rows.iter().any(|row| here(row).is_some());

    // On a CPU there are none.
    let launches = rows.iter().any(|row| row.launches.is_some());
    let mut text = header(with_here, launches);
    let mut above = String::new();
    for row in rows {
        let name = format!("{} {}, {}", row.preset, row.workload, row.dtype);
        // Once for all of its levels.
        let shown = if name == above { "" } else { &name };
        let own = with_here.then(|| here(row).map(|own| own.median_ms));
        text += &line(shown, row, own, launches);
        text.push('\n');
        above = name;
    }
    Ok(text)
}

fn header(with_here: bool, launches: bool) -> String {
    let here = if with_here { " here, ms |" } else { "" };
    let launches = if launches { " launches |" } else { "" };
    let titles = format!(
        "| preset, workload | level | ms |{here} low–high | speed-up | tensors |{launches} peak | difference |"
    );
    let columns = titles.matches('|').count() - 3; // of numbers
    format!("{titles}\n|---|---:|{}\n", "---:|".repeat(columns))
}

/// `own`: the reader's median, in a table that has a column for it.
fn line(name: &str, row: &Row, own: Option<Option<f64>>, launches: bool) -> String {
    // What is counted of the levels alone.
    let of_level = |text: String| or_dash(row.system.is_none().then_some(text));
    let mut cells = vec![
        name.into(),
        row.variant()
            .replace("level ", "")
            .replace("in a ", "")
            .replace("PyTorch compile ", "compile, "),
        format::three_digits(row.median_ms),
    ];
    cells.extend(own.map(|ms| or_dash(ms.map(format::three_digits))));
    cells.extend([
        format!(
            "{}–{}",
            format::three_digits(row.low_ms),
            format::three_digits(row.high_ms)
        ),
        format::ratio(row.speedup),
        of_level(row.tensors.to_string()),
    ]);
    cells.extend(launches.then(|| or_dash(row.launches.map(|n| n.to_string()))));
    cells.extend([
        of_level(format::bytes(row.peak_bytes)),
        format::difference(row.max_difference),
    ]);
    format!("| {} |", cells.join(" | "))
}

fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "–".into())
}

/// `EPYC, 2 threads, linux x86_64; rustc 1.95.0, candle 0.11.1, commit abc; 2026-11-21`; driver and
/// toolkit in place of the threads where a GPU was measured.
pub fn machine(machine: &Machine) -> String {
    let Machine {
        name,
        threads,
        os,
        rustc,
        candle,
        commit,
        date,
        ..
    } = machine;
    let device = match (&machine.driver, &machine.toolkit) {
        (Some(driver), Some(toolkit)) => format!("{name}, driver {driver}, CUDA {toolkit}"),
        _ => format!("{name}, {threads} threads"),
    };
    format!("{device}, {os}; rustc {rustc}, candle {candle}, commit {commit}; {date}")
}
