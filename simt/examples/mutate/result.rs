//! What became of the mutants, and its figures.

use serde::Serialize;
use simt::Finding;
use simt::mutate::{Difference, Mutant, OPERATORS};

/// Of one mutant.
#[derive(Debug)]
pub enum Fate {
    Killed {
        oracle: Option<Difference>,
        diagnosis: Option<Finding>,
    },
    /// Survived, and is listed, with the reason.
    Equivalent(String),
    Survived {
        reached: bool,
    },
    /// No kernel any more: an assembler would refuse it. It is in no figure.
    Refused(String),
}

/// A mutant and its fate.
#[derive(Debug)]
pub struct Judged {
    pub mutant: Mutant,
    pub fate: Fate,
}

/// Of one text.
#[derive(Debug)]
pub struct FileResult {
    pub name: String,
    pub kernels: usize,
    pub cases: usize,
    /// Mutants that there are.
    pub possible: usize,
    /// Those that were run.
    pub mutants: Vec<Judged>,
}

/// How many came to which end. A mutant is run until the first launch that shows it: `both` are those of which
/// that launch said it in both ways.
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
    /// Of some mutants.
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

    /// Of those that are mistakes, the share that was killed.
    pub fn killed(&self) -> f64 {
        let killed = self.killed_by_oracle + self.killed_by_diagnosis + self.killed_by_both;
        killed as f64 / (self.made - self.equivalent).max(1) as f64
    }
}

/// The figures, as they are written.
#[derive(Debug, Serialize)]
pub struct Totals {
    pub all: Tally,
    /// Of the mutants that are mistakes.
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
    /// Over all files.
    pub fn new(results: &[FileResult]) -> Self {
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
            all: tally,
            share_killed: tally.killed(),
            operators: OPERATORS.iter().map(|o| operator(o.name)).collect(),
            files: results.iter().map(file).collect(),
            survivors: results.iter().flat_map(survivors).collect(),
        }
    }
}

/// Those of a file that are not known to be equivalent.
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
