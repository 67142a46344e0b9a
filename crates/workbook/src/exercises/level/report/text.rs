//! A report for a terminal.

use models::trace::table::{Line, aligned};
use results::Clock;

use super::super::milestones::TIMED;
use super::super::simulated;
use super::{Method, Report};
use crate::compare::{noisy, significant};

/// Titles of the columns about methods.
pub const METHODS: [&str; 9] = [
    "method", "steps", "traffic", "ms", "over 1", "over 2", "over 3", "over 4", "over 5",
];

/// Explains the columns.
pub const LEGEND: &str = "steps: of yours / of level 1. traffic: bytes that your kernels moved in the simulator / minimum bytes;\n\
                          part: kernels did not do all of the work. \
                          ms: median of yours. over 1: speed-up over level 1.\n\
                          ~: a noisy time; the slow runs took more than 1.5× as long as the fast runs.";

/// Marks a noisy time.
pub fn mark(is_noisy: bool) -> &'static str {
    if is_noisy { "~" } else { "" }
}

/// Figures of a method in the order of [`METHODS`]: its name, then what was counted and measured.
pub fn cells(method: &Method) -> Vec<String> {
    let none = || "–".to_owned();
    let counts = method.counts;
    let steps = counts.map(|counts| format!("{} / {}", counts.steps(), method.level1_steps));
    let traffic = counts
        .filter(|counts| counts.launches > 0)
        .map(|counts| format!("{:.2}×", counts.bytes as f64 / method.minimum_bytes as f64))
        .map(|ratio| {
            if method.part {
                "part".to_owned()
            } else {
                ratio
            }
        });
    let own_ms = method.times.as_ref().and_then(|times| times.own_ms);
    let speed = |level: &u8| {
        let times = method.times.as_ref()?;
        let noise = mark(times.noise.contains_key(level));
        Some(format!("{noise}{:.2}×", times.levels.get(level)? / own_ms?))
    };
    let times = method.times.as_ref();
    let own_noise = mark(times.is_some_and(|times| times.own_noise.is_some()));
    let own = own_ms.map(|ms| format!("{own_noise}{}", significant(ms)));
    let mut cells = vec![
        method.name.clone(),
        steps.unwrap_or_else(none),
        traffic.unwrap_or_else(none),
        own.unwrap_or_else(none),
    ];
    cells.extend(TIMED.iter().map(|level| speed(level).unwrap_or_else(none)));
    cells
}

/// Names of the columns of the whole models, and a line of times in ms for each workload.
pub fn whole(report: &Report) -> (Vec<String>, Vec<Vec<String>>) {
    let results = &report.whole.results;
    let mut names: Vec<String> = vec![];
    let mut lines = vec![];
    for rows in results.workloads() {
        let shown = rows.iter().filter(|row| results.is_shown(row, Clock::Host));
        let mut line = vec![rows[0].title()];
        let mut of_line = vec![];
        for row in shown {
            of_line.push(row.variant());
            line.push(format!(
                "{}{} ({:.2}×)",
                mark(noisy(row).is_some()),
                significant(row.median_ms),
                row.speedup
            ));
        }
        if names.len() < of_line.len() {
            names = of_line;
        }
        lines.push(line);
    }
    // A level that was left out of a workload has no time there.
    for line in &mut lines {
        line.resize(1 + names.len(), "–".into());
    }
    (names, lines)
}

/// Sentences about methods that the whole models run at level 1, and about models that do not run the level.
pub fn instead(report: &Report) -> Vec<String> {
    let instead = report.methods.iter();
    let sentence = |method: &Method| {
        let why = method.instead.as_ref()?;
        Some(simulated::sentence(&method.name, why))
    };
    let left_out = report.whole.left_out.iter();
    let left_out = left_out.map(|line| format!("Not compared: {line}"));
    instead.filter_map(sentence).chain(left_out).collect()
}

pub fn text(report: &Report) -> String {
    let mut text = format!("{}\n\n", report.machine);
    let (names, lines) = whole(report);
    let mut table = vec![Line::of([vec!["ms (speed-up)".into()], names].concat())];
    table.extend(lines.into_iter().map(Line::of));
    text += &aligned(&table);
    for sentence in instead(report) {
        text += &format!("{sentence}\n");
    }
    text.push('\n');
    let replaced: Vec<&Method> = report.replaced().collect();
    if replaced.is_empty() {
        text += "No method is replaced yet: all of them run level 1's.\n";
    } else {
        let mut table = vec![Line::of(METHODS.map(String::from))];
        table.extend(replaced.into_iter().map(|method| Line::of(cells(method))));
        text += &aligned(&table);
        text += &format!("{LEGEND}\n");
    }
    for wrong in report.methods.iter().filter_map(|m| m.wrong.as_ref()) {
        text += &format!("{wrong}\n");
    }
    text += &format!("\n{}\n", report.tally());
    text
}
