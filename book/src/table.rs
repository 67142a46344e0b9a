//! A recorded comparison as a table, and the line that says where it was measured.

use std::collections::BTreeSet;

use crate::filter::Filter;
use crate::format::{self, three_digits};
use crate::library::{Beside, Here};
use crate::markdown;
use anyhow::{Result, ensure};
use results::{Machine, Results, Row, notes};

/// The title of a column that a phone has no room for.
const RANGE: &str = "<span class=\"range\">low–high</span>";
/// Fewer samples than these have no tenths.
const ENOUGH: usize = 5;

/// A Markdown table of the rows that `filter` keeps, with a column for each of the reader's own runs that has any of them.
/// Rows of one workload have no column for its name. If they were timed on a GPU, the table is about times and launches.
pub fn table(found: &Beside<Row>, filter: &Filter) -> Result<String> {
    let rows = filter.rows(found.recorded);
    ensure!(
        !rows.is_empty(),
        "expected recorded rows of `{filter}`, found none"
    );
    let here = found.here_of(&rows);
    let mut columns = columns(&here, &found.recorded.machine);
    columns.retain(|column| rows.iter().any(|row| (column.cell)(row).is_some()));
    let is_one = rows.iter().all(|row| workload(row) == workload(rows[0]));
    if is_one && rows.iter().any(|row| row.device_ms.is_some()) {
        columns.retain(|column| !["tensors", "memory", "max diff"].contains(&&*column.title));
    }
    let first = if is_one {
        columns.remove(0).title
    } else {
        "preset, workload".into()
    };
    let titles: Vec<String> = columns.iter().map(|column| column.title.clone()).collect();
    let mut text = markdown::header(&first, &titles);
    let mut above = String::new();
    for row in &rows {
        let name = if is_one {
            level(row, &found.recorded.machine)
        } else {
            format!("{} {}, {}", row.preset, row.workload, row.dtype)
        };
        // Once for all of its levels.
        let shown = if name == above { "" } else { &name };
        let cells = columns.iter().map(|column| (column.cell)(row));
        text += &markdown::line(shown, cells);
        above = name;
    }
    let earlier = results::earlier(rows.iter().copied());
    let mut notes = notes(found.recorded, &rows);
    notes.extend(earlier.iter().map(String::as_str));
    // Counts change from commit to commit, too.
    let others = format!("All other columns: {}", machine(&found.recorded.machine));
    notes.extend((!here.is_empty()).then_some(&*others));
    Ok(markdown::figures(&text, &notes, &here))
}

/// A column of numbers; one that no row has a number for is not shown.
struct Column<'a> {
    title: String,
    cell: Cell<'a>,
}

type Cell<'a> = Box<dyn Fn(&Row) -> Option<String> + 'a>;

fn column<'a>(title: impl Into<String>, cell: impl Fn(&Row) -> Option<String> + 'a) -> Column<'a> {
    Column {
        title: title.into(),
        cell: Box::new(cell),
    }
}

/// All that a table may have, in order; `here` after the median.
fn columns<'a>(here: &[&'a Here], machine: &'a Machine) -> Vec<Column<'a>> {
    // Columns that are counted for levels only.
    let is_level = |row: &Row| row.system.is_none();
    let mut columns = vec![
        column("level", |row| Some(level(row, machine))),
        column("ms", |row| Some(three_digits(row.median_ms))),
    ];
    columns.extend(here.iter().map(|here| {
        column(format!("{}, ms", here.title), |row| {
            here.time(row).map(three_digits)
        })
    }));
    columns.extend([
        column("device, ms", |row| row.device_ms.map(three_digits)),
        column(RANGE, tenths),
        column("speed-up", |row| Some(format::ratio(row.speedup))),
        column("tensors", move |row| {
            is_level(row).then(|| row.tensors.to_string())
        }),
        column("launches", |row| row.launches.map(|n| n.to_string())),
        column("memory", move |row| {
            is_level(row).then(|| format::bytes(row.peak_bytes))
        }),
        column("max diff", |row| {
            Some(format::difference(row.max_difference))
        }),
    ]);
    columns
}

/// `4 (Rust twin)`, `5 graph`, `PyTorch compile`, and of a mode of that compiler its name alone.
fn level(row: &Row, machine: &Machine) -> String {
    let variant = row
        .label(machine)
        .replace("level ", "")
        .replace("in a ", "");
    variant.replace("PyTorch compile ", "")
}

fn tenths(row: &Row) -> Option<String> {
    let [low, high] = [row.low_ms, row.high_ms].map(three_digits);
    (row.samples >= ENOUGH).then(|| format!("{low}–{high}"))
}

/// Notes on the other frameworks of the table: their versions, remarks on these rows' workloads, and which of these
/// rows failed.
fn notes<'a>(recorded: &'a Results, rows: &[&Row]) -> Vec<&'a str> {
    let is_about = |note: &str, row: &Row| note.starts_with(&format!("{} ", workload(row)));
    let is_workload = |name: &str| recorded.rows.iter().any(|row| row.workload == name);
    let concerns = |note: &&str| match markdown::subject(note, is_workload) {
        Some(workload) => rows.iter().any(|row| row.workload == workload),
        None if notes::is_version(note) => notes::is_about(note, &recorded.notes, rows),
        None => rows.iter().any(|row| is_about(note, row)),
    };
    if rows.iter().any(|row| row.system.is_some()) {
        (recorded.notes.iter().map(String::as_str))
            .filter(concerns)
            .collect()
    } else {
        vec![]
    }
}

/// `lm readme decode f32`, as notes name it.
fn workload(row: &Row) -> String {
    [&*row.model, &row.preset, &row.workload, &row.dtype].join(" ")
}

/// `EPYC, 2 threads, linux x86_64; rustc 1.95.0, candle 0.11.1, commit abc; 2026-11-21`; driver and
/// toolkit in place of the threads where a GPU was measured.
pub fn machine(machine: &Machine) -> String {
    let Machine { commit, date, .. } = machine;
    format!("{}, commit {commit}; {date}", place(machine))
}

/// The same for all rows of a file: those of several commits have only their dates.
pub fn machine_of(recorded: &Results) -> String {
    let own = &recorded.machine;
    let origins: BTreeSet<_> = (recorded.rows.iter())
        .map(|row| own.origin_of(row))
        .map(|origin| (origin.date, origin.commit))
        .collect();
    if origins.len() > 1 {
        let days = own.days(&recorded.rows);
        return format!("{}, several commits; {days}", place(own));
    }
    machine(own)
}

/// Device, system and versions.
fn place(machine: &Machine) -> String {
    let Machine {
        name,
        threads,
        os,
        rustc,
        candle,
        ..
    } = machine;
    let device = match (&machine.driver, &machine.toolkit) {
        (Some(driver), Some(toolkit)) => format!("{name}, driver {driver}, CUDA {toolkit}"),
        _ => format!("{name}, {threads} threads"),
    };
    format!("{device}, {os}; rustc {rustc}, candle {candle}")
}
