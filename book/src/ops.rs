//! Recorded times of one op as a table: a row a shape, a column a level.

use crate::filter::Filter;
use crate::format::{ratio, three_digits, time};
use crate::library::Beside;
use crate::markdown;
use anyhow::{Result, bail, ensure};
use results::{OpClock, OpRow, is_limit, notes};
use std::collections::BTreeSet;

/// A Markdown table of the op's rows that `filter` keeps; the time in a CUDA graph where there is one, else the device's,
/// else the host's. After each level stands how it compares with level 2, and below a shape what the reader measured of
/// it.
pub fn ops(found: &Beside<OpRow>, filter: &Filter) -> Result<String> {
    let rows = filter.op_rows(found.recorded);
    ensure!(
        !rows.is_empty(),
        "expected recorded rows of `{filter}`, found none"
    );
    let columns = columns(&rows);
    let titles: Vec<String> = (columns.iter())
        .map(|level| found.recorded.machine.label(level))
        .collect();
    let mut text = markdown::header("µs", &titles);
    let here = found.here_of(&rows);
    let mut one_by_one = false;
    for cases in rows.chunk_by(|a, b| (&a.shape, &a.dtype) == (&b.shape, &b.dtype)) {
        let clock = OpClock::of(cases.iter().copied());
        let alone = |level: &str| {
            cases
                .iter()
                .any(|row| row.level == level && !clock.has(row))
        };
        let recorded = |level: &str| {
            let mark = if alone(level) { "\\*" } else { "" };
            Some(cell(cases, level, &|row| Some(clock.us(row)))? + mark)
        };
        let line = |first: &str, cell: &dyn Fn(&str) -> Option<String>| {
            markdown::line(first, columns.iter().map(|level| cell(level)))
        };
        one_by_one |= columns.iter().any(|level| alone(level));
        let shape = cases[0].shape.replace('x', " × ");
        text += &line(&format!("{shape}, {}", cases[0].dtype), &recorded);
        for here in &here {
            if cases.iter().any(|row| here.time(*row).is_some()) {
                let title = format!("*{}*", here.title);
                text += &line(&title, &|level| cell(cases, level, &|row| here.time(row)));
            }
        }
    }
    let others = columns.iter().any(|level| level.starts_with("pytorch"));
    let all_notes = &found.recorded.notes;
    let is_op = |name: &str| found.recorded.rows.iter().any(|row| row.op == name);
    let is_about = |note: &str| match markdown::subject(note, is_op) {
        Some(op) => rows.iter().any(|row| row.op == op),
        None => notes::is_version(note) && notes::is_about(note, all_notes, &rows),
    };
    let is_shown = |note: &&str| others && is_about(note);
    let notes = all_notes.iter().map(String::as_str);
    let mark = one_by_one.then_some(ONE_BY_ONE);
    let earlier = results::earlier(rows.iter().copied());
    let earlier = earlier.iter().map(String::as_str);
    let notes: Vec<&str> = mark
        .into_iter()
        .chain(earlier)
        .chain(notes.filter(is_shown))
        .collect();
    Ok(markdown::figures(&text, &notes, &here))
}

/// The levels of `rows`, and the limits at the end.
fn columns<'r>(rows: &[&'r OpRow]) -> Vec<&'r str> {
    let levels: BTreeSet<&str> = rows.iter().map(|row| row.level.as_str()).collect();
    let (limits, levels): (Vec<&str>, Vec<&str>) = levels.into_iter().partition(|l| is_limit(l));
    [levels, limits].concat()
}

/// Below a table that has a mark.
pub const ONE_BY_ONE: &str = "* Launched one by one, the others in a CUDA graph";

/// A level's time, by `us`, on the shape of `cases`.
fn cell(cases: &[&OpRow], level: &str, us: &dyn Fn(&OpRow) -> Option<f64>) -> Option<String> {
    let find = |level: &str| us(cases.iter().find(|row| row.level == level)?);
    let time = find(level)?;
    let us = three_digits(time);
    match find("level2").filter(|_| !is_limit(level) && level != "level2") {
        Some(base) => Some(format!("{us} ({})", ratio(base / time))),
        None => Some(us),
    }
}

/// One figure of an op: `median` (in a CUDA graph or on the device, where it was measured there), `device` (one by one), `cold`
/// (the same after something that fills the L2), `host`, or `rate` (of arithmetic in GFLOP/s, unless `unit` is `TFLOP/s`).
pub fn figure(row: &OpRow, field: &str, unit: &str) -> Result<String> {
    Ok(match (field, row.bytes, row.flops) {
        ("median", ..) => time(row.us() / 1e3, unit)?,
        ("host", ..) => time(row.host_us / 1e3, unit)?,
        ("device", ..) if let Some(us) = row.device_us => time(us / 1e3, unit)?,
        ("cold", ..) if let Some(us) = row.cold_us => time(us / 1e3, unit)?,
        ("rate", Some(bytes), _) => format!("{} GB/s", three_digits(bytes as f64 / row.us() / 1e3)),
        ("rate", _, Some(flops)) => {
            let per_us = flops as f64 / row.us();
            let (rate, name) = match unit {
                "TFLOP/s" => (per_us / 1e6, unit),
                _ => (per_us / 1e3, "GFLOP/s"),
            };
            format!("{} {name}", three_digits(rate))
        }
        _ => bail!(
            "expected a field median, device, cold, host or rate that was measured, found `{field}`"
        ),
    })
}
