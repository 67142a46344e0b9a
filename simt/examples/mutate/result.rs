//! Results of the mutants, and their totals.

use serde::Serialize;
use simt::Finding;
use simt::mutate::{Difference, Mutant, OPERATORS};

/// The fate of a mutant.
#[derive(Debug)]
pub enum Fate {
    Killed {
        oracle: Option<Difference>,
        diagnosis: Option<Finding>,
    },
    /// Survived, but is listed as equivalent, with the reason.
    Equivalent(String),
    Survived {
        reached: bool,
    },
    /// No longer a valid kernel: an assembler would reject it. Totals do not count it.
    Refused(String),
}

/// A mutant and its fate.
#[derive(Debug)]
pub struct Judged {
    pub mutant: Mutant,
    pub fate: Fate,
}

/// The results of one text.
#[derive(Debug)]
pub struct FileResult {
    pub name: String,
    pub kernels: usize,
    pub cases: usize,
    /// Number of possible mutants.
    pub possible: usize,
    /// Mutants that were run.
    pub mutants: Vec<Judged>,
}

/// Counts by fate. A mutant runs until the first launch that reveals it; `both` counts those that this launch
/// reveals by output and finding.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct Tally {
    pub made: usize,
    pub killed_by_oracle: usize,
    pub killed_by_diagnosis: usize,
    pub killed_by_both: usize,
    pub equivalent: usize,
    pub survived: usize,
}

impl Tally {
    /// Counts the fates of some mutants.
    pub fn of<'a>(mutants: impl Iterator<Item = &'a Judged>) -> Self {
        let mut tally = Self::default();
        for judged in mutants {
            let end = match &judged.fate {
                Fate::Refused(_) => continue,
                Fate::Killed { oracle: None, .. } => &mut tally.killed_by_diagnosis,
                Fate::Killed {
                    diagnosis: None, ..
                } => &mut tally.killed_by_oracle,
                Fate::Killed { .. } => &mut tally.killed_by_both,
                Fate::Equivalent(_) => &mut tally.equivalent,
                Fate::Survived { .. } => &mut tally.survived,
            };
            *end += 1;
            tally.made += 1;
        }
        tally
    }

    /// Returns the share of non-equivalent mutants that were killed.
    pub fn killed(&self) -> f64 {
        let killed = self.killed_by_oracle + self.killed_by_diagnosis + self.killed_by_both;
        killed as f64 / (self.made - self.equivalent).max(1) as f64
    }
}

/// The totals in JSON.
#[derive(Debug, Serialize)]
pub struct Totals {
    /// The commit of the files.
    pub commit: Option<String>,
    pub all: Tally,
    /// Share of non-equivalent mutants that were killed.
    pub share_killed: f64,
    pub operators: Vec<Row>,
    pub files: Vec<Row>,
    pub survivors: Vec<Survivor>,
}

#[derive(Debug, Serialize)]
pub struct Row {
    pub name: String,
    #[serde(flatten)]
    pub tally: Tally,
}

#[derive(Debug, Serialize)]
pub struct Survivor {
    pub file: String,
    pub entry: String,
    pub line: u32,
    pub operator: String,
    pub was: String,
    pub now: String,
    /// Whether a case executes the line.
    pub reached: bool,
}

impl Totals {
    /// Totals over all files.
    pub fn new(results: &[FileResult], commit: Option<String>) -> Self {
        let all = || results.iter().flat_map(|file| &file.mutants);
        let tally = Tally::of(all());
        let operator = |name: &str| Row {
            name: name.to_owned(),
            tally: Tally::of(all().filter(|judged| judged.mutant.operator == name)),
        };
        let file = |file: &FileResult| Row {
            name: file.name.clone(),
            tally: Tally::of(file.mutants.iter()),
        };
        Self {
            commit,
            all: tally,
            share_killed: tally.killed(),
            operators: OPERATORS.iter().map(|o| operator(o.name)).collect(),
            files: results.iter().map(file).collect(),
            survivors: results.iter().flat_map(survivors).collect(),
        }
    }
}

/// Lists the surviving mutants of a file that are not known to be equivalent.
pub fn survivors(file: &FileResult) -> Vec<Survivor> {
    let survivor = |judged: &Judged| {
        let Fate::Survived { reached } = judged.fate else {
            return None;
        };
        let Mutant {
            entry,
            operator,
            line,
            was,
            now,
            ..
        } = &judged.mutant;
        Some(Survivor {
            file: file.name.clone(),
            entry: entry.clone(),
            line: *line,
            operator: (*operator).into(),
            was: was.clone(),
            now: now.clone(),
            reached,
        })
    };
    file.mutants.iter().filter_map(survivor).collect()
}
