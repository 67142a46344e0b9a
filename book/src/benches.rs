//! `{{benches}}`: the cases that a run of `cargo bench` has timed, and how long each took.

use crate::format::three_digits;
use crate::markdown;
use crate::table::machine;
use anyhow::{Context, Result};
use results::BenchResults;
use results::criterion::Case;
use std::collections::BTreeMap;

/// A Markdown table of the groups in the order of their cost: cases and minutes.
pub fn benches(recorded: &BenchResults) -> Result<String> {
    let all = (recorded.seconds()).context("expected the seconds of every case, found not all")?;
    let mut groups: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    for case in &recorded.rows {
        let (cases, seconds) = groups.entry(&case.group).or_default();
        *cases += 1;
        *seconds += case.seconds.unwrap_or_default();
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|(_, (_, a)), (_, (_, b))| b.total_cmp(a));
    groups.push(("all", (recorded.rows.len(), all)));
    let mut text = markdown::header("group", &["cases", "minutes"].map(String::from));
    for (name, (cases, seconds)) in groups {
        let cells = [cases.to_string(), format!("{:.1}", seconds / 60.)];
        text += &markdown::line(name, cells.into_iter().map(Some));
    }
    Ok(markdown::figures(
        &text,
        &[&machine(&recorded.machine)],
        &[],
    ))
}

/// The median of one case, `launch/kernel/empty`, in microseconds.
pub fn bench(recorded: &BenchResults, key: &str) -> Result<String> {
    let is_it = |case: &&Case| case.key() == key;
    let case = recorded.rows.iter().find(is_it);
    let case = case
        .context("expected a recorded case `group/function/parameter`, found none of that key")?;
    Ok(format!("{} µs", three_digits(case.median_ns / 1e3)))
}
