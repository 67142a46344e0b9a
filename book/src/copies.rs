//! The copies that were recorded next to memory-bound ops: a machine's memory bandwidth, size by size.

use crate::format::{bytes, three_digits};
use crate::library::Beside;
use crate::markdown;
use anyhow::{Result, ensure};
use results::OpRow;
use std::collections::BTreeSet;
use std::iter::once;

/// Sizes from here on are in the table if they are multiples of this: a driver copies others more slowly.
const ROUND: u64 = 64 << 10;

/// A Markdown table of copies, and the reader's own after them. Of sizes with the same power of two below them, it has the
/// fastest.
pub fn copies(found: &Beside<OpRow>) -> Result<String> {
    let mut rows: Vec<(u64, &OpRow)> = (found.recorded.rows.iter())
        .filter(|row| row.level == "copy")
        .filter_map(|row| Some((row.bytes?, row)))
        .filter(|(size, _)| *size < ROUND || size.is_multiple_of(ROUND))
        .collect();
    ensure!(!rows.is_empty(), "expected recorded copies, found none");
    let bandwidth = |(size, row): &(u64, &OpRow)| *size as f64 / row.us();
    rows.sort_by(|a, b| bandwidth(b).total_cmp(&bandwidth(a)));
    let mut powers = BTreeSet::new();
    rows.retain(|(size, _)| powers.insert(size.checked_ilog2()));
    rows.sort_by_key(|(size, _)| *size);
    let here = found.here_of(&rows.iter().map(|(_, row)| *row).collect::<Vec<_>>());
    let whose = here.iter().map(|here| format!("{}, ", here.title));
    let titles = once(String::new()).chain(whose);
    let titles = titles.flat_map(|whose| ["µs", "GB/s"].map(|unit| format!("{whose}{unit}")));
    let mut text = markdown::header("read and written", &titles.collect::<Vec<_>>());
    for (size, row) in rows {
        let times = once(Some(row.us())).chain(here.iter().map(|here| here.time(row)));
        let cells = times.flat_map(|us| [us, us.map(|us| size as f64 / us / 1e3)]);
        text += &markdown::line(&bytes(size), cells.map(|cell| cell.map(three_digits)));
    }
    Ok(markdown::figures(&text, &[], &here))
}
