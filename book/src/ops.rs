//! Recorded times of one op as a table: a row a shape, a column a level.

use crate::format::{ratio, three_digits, time};
use anyhow::{Result, bail, ensure};
use results::{OpResults, OpRow, spoken};
use std::collections::BTreeSet;

/// A Markdown table of `op`, narrowed to `dtype`; the device's time where there is one, else the
/// host's. Below each level stands how it compares with level 2, or with the lowest there is.
pub fn ops(op: &str, recorded: &OpResults, dtype: Option<&str>) -> Result<String> {
    let of_op = |row: &&OpRow| row.op == op && dtype.is_none_or(|dtype| dtype == row.dtype);
    let rows: Vec<&OpRow> = recorded.rows.iter().filter(of_op).collect();
    ensure!(
        !rows.is_empty(),
        "expected recorded rows of `{op}`, found none"
    );
    let levels: BTreeSet<&str> = rows.iter().map(|row| row.level.as_str()).collect();
    // `copy` is the limit and stands last.
    let (copy, levels): (Vec<&str>, Vec<&str>) = levels.into_iter().partition(|l| *l == "copy");
    let columns: Vec<&str> = levels.into_iter().chain(copy).collect();
    let titles: String = columns
        .iter()
        .map(|c| format!(" {} |", spoken(c)))
        .collect();
    let mut text = format!("| µs |{titles}\n|---|{}\n", "---:|".repeat(columns.len()));
    for cases in rows.chunk_by(|a, b| (&a.shape, &a.dtype) == (&b.shape, &b.dtype)) {
        let cells: Vec<String> = columns.iter().map(|c| cell(cases, c)).collect();
        let shape = cases[0].shape.replace('x', " × ");
        text += &format!("| {shape}, {} | {} |\n", cases[0].dtype, cells.join(" | "));
    }
    Ok(text)
}

fn cell(cases: &[&OpRow], level: &str) -> String {
    let find = |level: &str| cases.iter().find(|row| row.level == level);
    let Some(row) = find(level) else {
        return "–".into();
    };
    let us = three_digits(row.us());
    let base = find("level2").filter(|_| level != "copy" && level != "level2");
    base.map_or(us.clone(), |base| {
        format!("{us} ({})", ratio(base.us() / row.us()))
    })
}

/// One figure of an op: `median` (on the device where it was measured there), `host`, or `rate`.
pub fn figure(row: &OpRow, field: &str, unit: &str) -> Result<String> {
    Ok(match (field, row.bytes, row.flops) {
        ("median", ..) => time(row.us() / 1e3, unit)?,
        ("host", ..) => time(row.host_us / 1e3, unit)?,
        ("rate", Some(bytes), _) => format!("{} GB/s", three_digits(bytes as f64 / row.us() / 1e3)),
        ("rate", _, Some(flops)) => {
            format!("{} GFLOP/s", three_digits(flops as f64 / row.us() / 1e3))
        }
        _ => bail!("expected a field median, host or rate, found `{field}`"),
    })
}
