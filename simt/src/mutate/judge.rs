//! What becomes of a mutant: its launches beside those of the right kernel.

use std::collections::HashSet;
use std::path::Path;

use super::Mutant;
use super::outputs::{Difference, difference};
use crate::case::Operands;
use crate::error::{Error, Result};
use crate::{Case, Class, Finding, Kernel, Module, Options, Report, Schedule};

/// How often each case runs: under the schedule that hardware mostly has on fresh numbers, then under the
/// others, where a `bar.warp.sync` that is missing shows.
const ROUNDS: [(Schedule, u64); 6] = [
    (Schedule::PostDominator, 1),
    (Schedule::PostDominator, 2),
    (Schedule::MaxPc, 1),
    (Schedule::MinPc, 1),
    (Schedule::Random, 1),
    (Schedule::Random, 2),
];

/// Instructions of a mutant's block, as a multiple of those of all the right kernel's blocks, before it is
/// called endless.
const PATIENCE: u64 = 10;

/// The same for the smallest kernels: a loop of theirs may run a few times more.
const LEAST_FUEL: u64 = 10_000;

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// A launch showed it, in one way or in both.
    Killed {
        /// A result that is not the right kernel's.
        oracle: Option<Difference>,
        /// What the machine reported.
        diagnosis: Option<Finding>,
    },
    /// No launch did.
    Survived {
        /// Whether any launch executes the instruction that was changed.
        reached: bool,
    },
}

/// A kernel's launches, and what they give when the kernel is right.
#[derive(Debug)]
pub struct Judge {
    runs: Vec<Run>,
}

#[derive(Debug)]
struct Run {
    before: Operands,
    after: Operands,
    options: Options,
    /// Those of the text that are executed.
    lines: HashSet<u32>,
    /// Instructions of all warps.
    cost: u64,
}

impl Judge {
    /// Runs the right kernel on each case; files of cases are looked for in `folder`.
    ///
    /// # Errors
    /// Those of the cases, and [`Error::Launch`] when the right kernel has a finding: no mutant could be told from it.
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

    /// Runs a mutant of `module` until a launch shows it: the cheapest first, and none that does not get to
    /// where it differs.
    ///
    /// # Errors
    /// When the mutant is no kernel that this machine runs.
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

    /// What tells a mutant from the right kernel.
    fn compare(&self, mutant: &Kernel) -> Result<(Option<Difference>, Option<Finding>)> {
        let mut found = self.before.clone();
        let report = launch(mutant, &mut found, &self.options)?;
        let worst = |f: &Finding| f.class == Class::Endless;
        // What ran out of fuel is an endless loop first, whatever else it did on its way.
        let endless = report.findings.iter().find(|f| worst(f));
        let diagnosis = endless.or(report.findings.first()).cloned();
        Ok((difference(&self.after, &found), diagnosis))
    }
}

fn launch(kernel: &Kernel, operands: &mut Operands, options: &Options) -> Result<Report> {
    let (dim, args) = (operands.dim, operands.args.clone());
    kernel.launch(dim, &mut operands.buffers, &args, options)
}
