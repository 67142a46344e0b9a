//! Recorded times of one op: a row per shape, a column per level, and the bound.

use super::escape;
use crate::format::three_digits;
use crate::markdown;
use anyhow::Result;
use results::{OpClock, OpResults, OpRow, is_limit, level_number, spoken};

/// The rows of one shape and dtype.
pub type Case<'r> = Vec<&'r OpRow>;

/// The cases of an op, f32 before bf16.
pub fn cases<'r>(recorded: &'r OpResults, op: &str) -> Vec<Case<'r>> {
    let cases = recorded.cases().filter(|case| case[0].op == op);
    let mut cases: Vec<Case> = cases.map(|case| case.iter().collect()).collect();
    cases.sort_by_key(|case| case[0].dtype != "f32");
    cases
}

/// The rows of a case that are levels, in their order.
pub fn levels<'r>(case: &[&'r OpRow]) -> Vec<&'r OpRow> {
    let is_level = |row: &&&OpRow| !row.is_other() && !is_limit(&row.level);
    let mut levels: Vec<&OpRow> = case.iter().filter(is_level).copied().collect();
    levels.sort_by_key(|row| number(&row.level));
    levels
}

/// The number of a level. Kernels of one level with names of their own, as `lut` and `dp4a`, are level 4's.
pub fn number(level: &str) -> u8 {
    level_number(level).unwrap_or(4)
}

/// `level 3`, or `level 4 (lut)`.
pub fn name(level: &str) -> String {
    match level_number(level) {
        Some(_) => spoken(level),
        None => format!("level 4 ({level})"),
    }
}

/// The table of an op's times.
pub fn table(recorded: &OpResults, op: &str) -> Result<String> {
    let cases = cases(recorded, op);
    let columns = columns(&cases);
    let mut titles: Vec<String> = columns.iter().map(|level| name(level)).collect();
    titles.push("bound".into());
    let mut text = markdown::header("shape", &titles);
    let dtypes = cases.chunk_by(|a, b| a[0].dtype == b[0].dtype);
    for cases in dtypes {
        let empty = titles.iter().map(|_| Some(String::new()));
        text += &markdown::line(&format!("**{}**", cases[0][0].dtype), empty);
        for case in cases {
            text += &line(recorded, case, &columns);
        }
    }
    let rows = || cases.iter().flatten().copied();
    let mut notes = vec![];
    if cases
        .iter()
        .any(|case| levels(case).iter().any(|row| is_alone(row, case)))
    {
        notes.push("* Launched one by one, the others in a CUDA graph".to_string());
    }
    notes.extend(results::earlier(rows()));
    let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
    Ok(markdown::figures(&text, &notes, &[]))
}

/// The levels of all cases, in their order.
pub fn columns<'r>(cases: &[Case<'r>]) -> Vec<&'r str> {
    let mut columns: Vec<&str> = vec![];
    for row in cases.iter().flat_map(|case| levels(case)) {
        if !columns.contains(&row.level.as_str()) {
            columns.push(&row.level);
        }
    }
    columns.sort_by_key(|level| number(level));
    columns
}

fn is_alone(row: &OpRow, case: &[&OpRow]) -> bool {
    !OpClock::of(levels(case)).has(row)
}

/// A time in µs: bold if it is the fastest, and with a star if it was launched one by one.
pub fn time(us: f64, fastest: f64, is_alone: bool) -> String {
    let shown = three_digits(us);
    let mark = if is_alone { "\\*" } else { "" };
    if us == fastest {
        format!("**{shown}**{mark}")
    } else {
        shown + mark
    }
}

fn line(recorded: &OpResults, case: &[&OpRow], columns: &[&str]) -> String {
    let rows = levels(case);
    let clock = OpClock::of(rows.iter().copied());
    let fastest = rows
        .iter()
        .map(|row| clock.us(row))
        .fold(f64::INFINITY, f64::min);
    let cell = |level: &&str| {
        let row = rows.iter().find(|row| row.level == **level)?;
        Some(time(clock.us(row), fastest, is_alone(row, case)))
    };
    let bound = rows.first().and_then(|row| recorded.bound(row));
    let bound = bound.map(|bound| format!("{} ({})", short(bound.us), percent(bound.us / fastest)));
    let cells = columns.iter().map(cell).chain([bound]);
    markdown::line(&escape::shape(&case[0].shape), cells)
}

/// Formats a time to a tenth.
fn short(us: f64) -> String {
    if us < 0.1 {
        "<0.1".into()
    } else {
        three_digits(us)
    }
}

fn percent(part: f64) -> String {
    if part < 0.01 {
        "<1%".into()
    } else {
        format!("{:.0}%", 100. * part)
    }
}
