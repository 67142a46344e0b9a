//! An op's page.

use super::contract::contract;
use super::files::{files, list};
use super::heat::heat;
use super::pass;
use super::remarks::Remarks;
use super::slower::{Record, Slower, slower};
use super::table::{cases, table};
use super::{Reference, Subject};
use crate::library::Library;
use crate::markdown;
use crate::table::machine;
use anyhow::{Result, bail};
use results::{Machine, OpResults};

/// Text that replaces `{{op …}}`: the op's contract, its times on each recorded machine, and its files.
pub fn page(reference: &Reference, subject: &Subject, library: &mut Library) -> Result<String> {
    let folder = reference.folder(subject);
    let contract = contract(&folder)?;
    let times = times(subject, library, &reference.remarks)?;
    let files = list(subject, &files(&folder)?);
    Ok(format!("{contract}\n{times}\n{files}"))
}

/// The times of all ops on all machines; the first chart and table of the page are open, the others folded.
fn times(subject: &Subject, library: &mut Library, remarks: &Remarks) -> Result<String> {
    let mut text = String::new();
    let mut shown = vec![];
    let mut older = vec![];
    for on in library.ops.names()? {
        let recorded = library.ops.on(&on)?.recorded;
        if lacks(recorded, subject, remarks) {
            older.push(recorded.machine.clone());
        }
        let is_recorded = |op: &&String| !cases(recorded, op).is_empty();
        let ops: Vec<&String> = subject.ops.iter().filter(is_recorded).collect();
        let several = ops.len() > 1;
        if !ops.is_empty() {
            text += &head(recorded);
        }
        let record = Record {
            on: &on,
            results: recorded,
        };
        for op in ops {
            // On most pages the title of the page is that of its only op.
            if several || *op != subject.folder {
                text += &format!("### {op}\n\n");
            }
            let is_folded = !shown.is_empty();
            text += &times_of(&record, op, remarks, is_folded)?;
            shown.push(op);
        }
    }
    for op in subject.ops.iter().filter(|op| !shown.contains(op)) {
        if !subject.is_default(op) {
            bail!("expected recorded rows of `{op}`, found none");
        }
        let pass = pass::times(op, library, remarks)?;
        if pass.is_empty() {
            let about = remarks.about(op).next();
            let about = about.unwrap_or("No recorded run times this op alone.");
            text += &format!("## Times\n\n{about}\n");
        }
        text += &pass;
    }
    Ok(text + &without_a_row(&older))
}

/// Whether a record is from before `workbook ops` timed an op of the page.
fn lacks(recorded: &OpResults, subject: &Subject, remarks: &Remarks) -> bool {
    let is_missing = |op: &String| remarks.is_timed(op) && cases(recorded, op).is_empty();
    subject.ops.iter().any(is_missing)
}

/// A line that names records from before `workbook ops` timed the op.
fn without_a_row(older: &[Machine]) -> String {
    if older.is_empty() {
        return String::new();
    }
    let record = |Machine {
                      name, commit, date, ..
                  }: &Machine| format!("{name}, commit {commit}, {date}");
    let records: Vec<String> = older.iter().map(record).collect();
    format!(
        "\nThese records were made before `workbook ops` timed this op: {}.\n",
        records.join("; ")
    )
}

/// The heading of a machine, and how to read what is below it.
fn head(recorded: &OpResults) -> String {
    let (clock, levels) = if recorded.machine.is_gpu() {
        (
            "on the device, in a CUDA graph where one could be recorded",
            "",
        )
    } else {
        (
            "by the host's clock",
            " Levels 3 to 5 are the Rust twins of the kernels.",
        )
    };
    format!(
        "## {}\n\nMedian times in µs, {clock}; the fastest level is bold. *Bound* is the minimum time that the \
         measured memory bandwidth or the fastest measured matmul allows. In parentheses: the percentage of that limit \
         that the fastest level reaches. The limit is measured, too, so up to about 103% means that the level is at the limit; \
         above, the data is in caches.{levels}\n\n<p>{}.</p>\n\n",
        recorded.machine.name,
        machine(&recorded.machine)
    )
}

/// The chart and the table of an op, which may be folded, and where a level is slower than the one below.
fn times_of(record: &Record, op: &str, remarks: &Remarks, is_folded: bool) -> Result<String> {
    let recorded = record.results;
    let about = remarks.about(op);
    let mut text: String = about.map(|about| format!("{about}\n\n")).collect();
    let heat = heat(recorded, op)?;
    let shown = format!("{heat}\n{}\n", table(recorded, op)?);
    if is_folded {
        let content = if heat.is_empty() {
            "Table"
        } else {
            "Chart and table"
        };
        let summary = format!("{content}: {op} on {}", recorded.machine.name);
        text += &markdown::folded(&summary, &shown);
    } else {
        text += &shown;
    }
    let slower: Vec<Slower> = slower(record, op);
    text += &remarks.explain(&slower);
    Ok(text)
}
