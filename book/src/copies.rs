//! The copies that were recorded beside the ops that memory limits: what a machine's memory gives, size by size.

use crate::format::{bytes, three_digits};
use crate::library::Beside;
use crate::markdown;
use anyhow::{Result, ensure};
use results::OpRow;

/// A Markdown table of copies, each at least twice as large as the one above it, and the reader's own behind them.
pub fn copies(found: &Beside<OpRow>) -> Result<String> {
    let mut rows: Vec<(u64, &OpRow)> = (found.recorded.rows.iter())
        .filter(|row| row.level == "copy")
        .filter_map(|row| Some((row.bytes?, row)))
        .collect();
    ensure!(!rows.is_empty(), "expected recorded copies, found none");
    rows.sort_by_key(|(size, _)| *size);
    let mut shown: Vec<(u64, &OpRow)> = vec![];
    for (size, row) in rows {
        if shown.last().is_none_or(|(last, _)| size >= 2 * last) {
            shown.push((size, row));
        }
    }
    let rows: Vec<&OpRow> = shown.iter().map(|(_, row)| *row).collect();
    let here = found.here_of(&rows);
    let own = here
        .iter()
        .flat_map(|here| ["µs", "GB/s"].map(|unit| format!("{}, {unit}", here.title)));
    let titles: Vec<String> = ["µs", "GB/s"]
        .map(String::from)
        .into_iter()
        .chain(own)
        .collect();
    let mut text = markdown::header("read and written", &titles);
    for (size, row) in shown {
        let own = here.iter().map(|here| here.time(row));
        let times = [Some(row.us())].into_iter().chain(own);
        let cells = times.flat_map(|us| [us, us.map(|us| size as f64 / us / 1e3)]);
        text += &markdown::line(&bytes(size), cells.map(|cell| cell.map(three_digits)));
    }
    Ok(markdown::figures(&text, &[], &here))
}
