//! Printed tables.

use std::fmt::Write;

use data::counted;

use crate::result::{self, Fate, FileResult, Judged, Row, Tally, Totals};

/// `FILE: 2 kernels, 5 cases, 40 of 1234 mutants: 38 killed, 1 equivalent, 1 survived`
pub fn heading(file: &FileResult) -> String {
    let Tally {
        made,
        equivalent,
        survived,
        ..
    } = Tally::of(file.mutants.iter());
    format!(
        "{}: {}, {}, {made} of {}: {} killed, {equivalent} equivalent, {survived} survived",
        file.name,
        counted(file.kernels, "kernel"),
        counted(file.cases, "case"),
        counted(file.possible, "mutant"),
        made - equivalent - survived,
    )
}

/// One line per mutant.
pub fn fates(file: &FileResult) -> String {
    let line = |judged: &Judged| {
        let m = &judged.mutant;
        let fate = match &judged.fate {
            Fate::Killed { oracle, diagnosis } => {
                let oracle = oracle.as_ref().map(|o| o.to_string());
                let diagnosis = diagnosis.as_ref().map(|d| format!("{:?}, {d}", d.class));
                let both: Vec<String> = oracle.into_iter().chain(diagnosis).collect();
                both.join("; and ")
            }
            Fate::Equivalent(reason) => format!("equivalent: {reason}"),
            Fate::Survived { .. } => "survived".into(),
            Fate::Refused(why) => format!("left out: {why}"),
        };
        format!(
            "  {}: {}: `{}` → `{}`: {fate}\n",
            m.line, m.operator, m.was, m.now
        )
    };
    file.mutants.iter().map(line).collect()
}

const COLUMNS: [&str; 8] = [
    "operator",
    "made",
    "oracle",
    "diagnosis",
    "both",
    "equivalent",
    "survived",
    "killed",
];

/// One row per operator.
pub fn operators(totals: &Totals) -> String {
    let mut text = cells(&COLUMNS.map(str::to_owned));
    let all = Row {
        name: "all".into(),
        tally: totals.all,
    };
    for row in totals.operators.iter().chain([&all]) {
        let t = &row.tally;
        text += &cells(&[
            row.name.clone(),
            t.made.to_string(),
            t.killed_by_oracle.to_string(),
            t.killed_by_diagnosis.to_string(),
            t.killed_by_both.to_string(),
            t.equivalent.to_string(),
            t.survived.to_string(),
            if t.made == t.equivalent {
                "".into()
            } else {
                format!("{:.1}%", 100. * t.killed())
            },
        ]);
    }
    text
}

fn cells(cells: &[String; 8]) -> String {
    let [name, numbers @ ..] = cells;
    let numbers: String = numbers.iter().map(|n| format!("{n:>11}")).collect();
    format!("{name:<16}{numbers}\n")
}

/// One line per surviving mutant.
pub fn survivors(files: &[FileResult]) -> String {
    let mut text = String::new();
    for s in files.iter().flat_map(result::survivors) {
        let unreached = if s.reached {
            ""
        } else {
            " (no case executes it)"
        };
        let became = if s.now.is_empty() {
            "is left out".to_owned()
        } else {
            format!("becomes `{}`", s.now)
        };
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "survived: {}:{}: {}: {}: `{}` {became}{unreached}",
            s.file, s.line, s.entry, s.operator, s.was
        );
    }
    text
}
