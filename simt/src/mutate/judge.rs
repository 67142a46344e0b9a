//! Judges mutants by their launches, compared with those of the original kernel.

use std::collections::HashSet;
use std::path::Path;

use super::Mutant;
use super::outputs::{Difference, difference};
use crate::case::Operands;
use crate::error::{Error, Result};
use crate::{Case, Class, Finding, Kernel, Module, Options, Report, Schedule};

/// Runs per case, as schedules and seeds: the usual schedule on new numbers, then the other schedules, which
/// reveal a missing `bar.warp.sync`.
const ROUNDS: [(Schedule, u64); 6] = [
    (Schedule::PostDominator, 1),
    (Schedule::PostDominator, 2),
    (Schedule::MaxPc, 1),
    (Schedule::MinPc, 1),
    (Schedule::Random, 1),
    (Schedule::Random, 2),
];

/// Fuel of a mutant's block, as a multiple of the instructions of all blocks of the original kernel.
const PATIENCE: u64 = 10;

/// Minimum fuel, so that loops of the smallest kernels may run a few more times.
const LEAST_FUEL: u64 = 10_000;

/// The verdict on a mutant.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// A launch revealed it, by its output, a finding, or both.
    Killed {
        /// An output that differs from the original kernel's.
        oracle: Option<Difference>,
        /// A finding of the machine.
        diagnosis: Option<Finding>,
    },
    /// No launch revealed it.
    Survived {
        /// Whether a launch executes the changed instruction.
        reached: bool,
    },
}

/// A kernel's launches and their correct results.
#[derive(Debug)]
pub struct Judge {
    runs: Vec<Run>,
}

#[derive(Debug)]
struct Run {
    before: Operands,
    after: Operands,
    options: Options,
    /// Lines that the launches execute.
    lines: HashSet<u32>,
    /// Instructions of all warps.
    cost: u64,
}

impl Judge {
    /// Runs the original kernel on each case. Relative file names start from `folder`.
    ///
    /// # Errors
    /// The errors of the cases, and [`Error::Launch`] if the original kernel has a finding, because no mutant
    /// could be told from it.
    pub fn new(module: &Module, entry: &str, cases: &[Case], folder: &Path) -> Result<Self> {
        let kernel = module.kernel(entry)?;
        let mut runs = vec![];
        for &(schedule, seed) in &ROUNDS {
            let first = runs.len();
            for case in cases {
                let options = Options {
                    schedule,
                    seed,
                    parallel: false,
                    ..Options::default()
                };
                runs.push(Run::new(&kernel, case.operands(seed, folder)?, options)?);
            }
            runs[first..].sort_by_key(|run| run.cost);
        }
        Ok(Self { runs })
    }

    /// Whether a launch executes this line.
    pub fn reaches(&self, line: u32) -> bool {
        self.runs.iter().any(|run| run.lines.contains(&line))
    }

    /// Runs a mutant of `module` until a launch reveals it: the cheapest launch first, and only those that
    /// execute the changed line.
    ///
    /// # Errors
    /// If this machine cannot run the mutant.
    pub fn verdict(&self, module: &Module, mutant: &Mutant) -> Result<Verdict> {
        let kernel = mutant.apply(module).kernel(&mutant.entry)?;
        let mut reached = false;
        for run in self.runs.iter().filter(|r| r.lines.contains(&mutant.line)) {
            reached = true;
            let (oracle, diagnosis) = run.compare(&kernel)?;
            if oracle.is_some() || diagnosis.is_some() {
                return Ok(Verdict::Killed { oracle, diagnosis });
            }
        }
        Ok(Verdict::Survived { reached })
    }
}

impl Run {
    fn new(kernel: &Kernel, before: Operands, options: Options) -> Result<Self> {
        let mut after = before.clone();
        let report = launch(kernel, &mut after, &options)?;
        if let Some(finding) = report.findings.first() {
            return Err(Error::Launch {
                what: format!("{} as it is", kernel.name()),
                expected: "a launch without findings".into(),
                found: format!("{finding}"),
            });
        }
        let cost = report.total.warps;
        Ok(Self {
            before,
            after,
            options: Options {
                fuel: LEAST_FUEL.max(PATIENCE * cost),
                ..options
            },
            lines: report.lines.iter().map(|line| line.line).collect(),
            cost,
        })
    }

    /// Compares a mutant with the original kernel by output and findings.
    fn compare(&self, mutant: &Kernel) -> Result<(Option<Difference>, Option<Finding>)> {
        let mut found = self.before.clone();
        let report = launch(mutant, &mut found, &self.options)?;
        let worst = |f: &Finding| f.class == Class::Endless;
        // Running out of fuel comes first, whatever else the mutant did.
        let endless = report.findings.iter().find(|f| worst(f));
        let diagnosis = endless.or(report.findings.first()).cloned();
        Ok((difference(&self.after, &found), diagnosis))
    }
}

fn launch(kernel: &Kernel, operands: &mut Operands, options: &Options) -> Result<Report> {
    let (dim, args) = (operands.dim, operands.args.clone());
    kernel.launch(dim, &mut operands.buffers, &args, options)
}
