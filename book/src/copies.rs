//! The copies that were recorded beside the ops that memory limits: what a machine's memory gives, size by size.

use crate::format::{bytes, three_digits};
use anyhow::{Result, ensure};
use results::{OpResults, OpRow};

/// A Markdown table of copies, each at least twice as large as the one above it.
pub fn copies(recorded: &OpResults) -> Result<String> {
    let mut rows: Vec<(u64, &OpRow)> = (recorded.rows.iter())
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
    let mut text = "| read and written | µs | GB/s |\n|---:|---:|---:|\n".to_string();
    for (size, row) in shown {
        let rate = three_digits(size as f64 / row.us() / 1e3);
        text += &format!(
            "| {} | {} | {rate} |\n",
            bytes(size),
            three_digits(row.us())
        );
    }
    Ok(text)
}
