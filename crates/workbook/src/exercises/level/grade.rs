//! `level grade`: the levels of a class.

mod board;
mod class;
mod copied;
mod names;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use classroom::check::out_of_reach;
use classroom::class::NotGraded;
use classroom::grade::{Grade, Grades, Verdict};
use classroom::junit::junit;
use classroom::printable;
use cli::own::{self, Artifacts, OwnLevel, Program};
use cli::progress::Progress;
use data::{BadInput, Temporary, say};
use sandbox::Limits;
use serde::Serialize;

use self::class::{Class, NAME, Submission};
use super::check::for_kernels;
use super::milestones::{self, Milestone, Milestones, TIMED};
use super::report::{Method, methods};
use super::rung::{Checks, Options, Rung};

/// Options of a class's grading.
#[derive(Debug)]
pub struct Grading {
    pub submissions: PathBuf,
    pub out: PathBuf,
    pub starter: Option<PathBuf>,
    pub timed: bool,
    pub limit: Duration,
    pub seed: Option<u64>,
    /// Whether to grade on a system without a sandbox.
    pub unsandboxed: bool,
}

/// Result of a submission, as its JSON file has it.
#[derive(Debug, Clone, Serialize)]
pub struct Graded {
    pub student: String,
    /// Number of milestones that are reached, as the grader checked.
    pub reached: usize,
    /// Number of these that belong to methods of the starter.
    pub from_starter: usize,
    /// Number of milestones that count.
    pub of: usize,
    /// Milestones that rest on the word of the level's process: times, and steps other than launches. They do not count.
    pub reported: Vec<Reported>,
    /// Why no method was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Counts of each method.
    pub methods: Vec<Method>,
    /// One grade per milestone, as `exercises grade` writes them.
    pub grades: Vec<Grade>,
    pub seconds: f64,
}

/// A milestone that a level reached as its process says, and the figures.
#[derive(Debug, Clone, Serialize)]
pub struct Reported {
    pub milestone: String,
    pub line: String,
}

/// Whether the steps of a method are the grader's own count: its kernels alone computed the results of a repeat.
fn is_repeated(method: &Method) -> bool {
    !method.part && method.counts.is_some_and(|counts| counts.launches > 0)
}

/// All results.
#[derive(Debug, Serialize)]
struct Total<'g> {
    schema: u32,
    seed: u64,
    /// Whether times are reported.
    timed: bool,
    submissions: &'g [Graded],
    not_graded: &'g [NotGraded],
}

/// Grades all submissions; returns whether each has reached every milestone.
pub fn grade(grading: &Grading) -> Result<bool> {
    let class = Class::read(&grading.submissions)?;
    if let Err(reason) = sandbox::available()
        && !grading.unsandboxed
    {
        let expected = "a sandbox for submissions, or `--unsandboxed`";
        return Err(BadInput::new("grade", expected, reason).into());
    }
    if let Some(starter) = &grading.starter {
        OwnLevel::at(starter)?;
    }
    let of_class = grading.submissions.canonicalize().ok();
    let out = std::path::absolute(&grading.out)?;
    // The folder may not exist yet.
    let out = out
        .ancestors()
        .find_map(|folder| folder.canonicalize().ok());
    if out
        .zip(of_class)
        .is_some_and(|(out, class)| out.starts_with(class))
    {
        let found = "a folder in that of the class, where it would be graded as a submission";
        let expected = "a folder outside the submissions";
        return Err(
            BadInput::new(format!("--out {}", grading.out.display()), expected, found).into(),
        );
    }
    let artifacts = Artifacts::of(Program::Workbook)?;
    let limits = for_kernels().fold(own::limits(&artifacts), Limits::readable);
    out_of_reach(&grading.submissions, &limits)?;
    data::writable_folder(&grading.out)?;
    let students = grading.out.join("students");
    data::writable_folder(&students)?;
    let options = Options {
        timed: if grading.timed { TIMED } else { &[] },
        limit: grading.limit,
        ..Options::new(grading.seed)
    };
    let seed = options.seed;
    class.not_graded.iter().try_for_each(say)?;
    say(format_args!(
        "seed {seed} (`--seed {seed}` repeats the grading with the same random numbers)"
    ))?;
    let progress = Progress::new("grading levels", class.submissions.len());
    let mut all = vec![];
    for (i, submission) in class.submissions.iter().enumerate() {
        let graded = of_one(submission, grading, options, &artifacts)?;
        let name = names::file_name(&submission.student, i);
        let file = students.join(format!("{name}.json"));
        data::save_as(&file, &serde_json::to_vec_pretty(&graded)?)?;
        progress.suspend(|| say(line(&graded)))?;
        all.push(graded);
        progress.step();
    }
    drop(progress);
    let board = board::board(&all);
    let total = Total {
        schema: 1,
        seed,
        timed: grading.timed,
        submissions: &all,
        not_graded: &class.not_graded,
    };
    let write = |name: &str, text: String| data::save_as(grading.out.join(name), text.as_bytes());
    write("grades.json", serde_json::to_string_pretty(&total)? + "\n")?;
    write("leaderboard.md", board::markdown(&board))?;
    let grades = all.iter().flat_map(|one| one.grades.clone()).collect();
    let not_graded = class.not_graded;
    write(
        "junit.xml",
        junit(&Grades {
            complete: true,
            grades,
            not_graded,
        })?,
    )?;
    say(format_args!(
        "\n{}grades   {}",
        board::text(&board),
        grading.out.display()
    ))?;
    Ok(all.iter().all(|one| one.reached == one.of))
}

/// `ada: 17 of 41 milestones, 12 of them from the starter, and 3 reported`, and the first fault.
fn line(graded: &Graded) -> String {
    let Graded {
        student,
        reached,
        from_starter,
        of,
        reported,
        ..
    } = graded;
    let wrong = graded.methods.iter().find_map(|m| m.wrong.as_ref());
    let fault = graded.refused.as_ref().or(wrong);
    let fault = fault.map_or(String::new(), |fault| format!("; {}", printable(fault)));
    format!(
        "{student}: {reached} of {of} milestones, {from_starter} of them from the starter, and {} reported{fault}",
        reported.len()
    )
}

/// Grades one submission. What goes wrong here, and not in the submission, leaves its milestones unchecked.
fn of_one(
    submission: &Submission,
    grading: &Grading,
    options: Options,
    artifacts: &Artifacts,
) -> Result<Graded> {
    let begin = Instant::now();
    let milestones = Milestones::read()?;
    let checked = check(submission, grading, options, artifacts);
    let mut found = Found::default();
    let (by, refused) = match checked {
        Ok(Ok(checked)) => {
            found = checked;
            ("", None)
        }
        Ok(Err(line)) => ("compile", Some(printable(&line))),
        Err(error) => ("unchecked", Some(printable(&format!("{error:#}")))),
    };
    let seconds = begin.elapsed().as_secs_f64();
    let (mut grades, mut reported) = (vec![], vec![]);
    for milestone in milestones.all() {
        let state = found.progress.get(&milestone.key());
        let passed = state.is_some_and(|state| state.passed);
        if passed && !found.is_checked(&milestone) {
            reported.push(Reported {
                milestone: milestone.key(),
                line: state.map_or(String::new(), |state| printable(&state.line)),
            });
        }
        if milestones::compared(milestone.kind).is_some() {
            continue;
        }
        let line = match (&refused, state) {
            (Some(line), _) => Some(line.clone()),
            (None, Some(_)) if passed && found.is_checked(&milestone) => None,
            (None, Some(state)) if passed => Some(format!(
                "{}: reported, not checked, because its kernels do not do all of the work: {}",
                milestone.key(),
                printable(&state.line)
            )),
            (None, Some(state)) => Some(printable(&state.line)),
            (None, None) => Some(found.unmeasured(milestone.method)),
        };
        let by = if by.is_empty() { milestone.kind } else { by };
        grades.push(Grade {
            student: submission.student.clone(),
            exercise: milestone.key(),
            graded: true,
            verdict: Verdict {
                passed: line.is_none(),
                by: line.is_some().then(|| by.to_owned()),
                line,
            },
            seed: options.seed,
            seconds: 0.,
            hints_used: submission.hints_used(&milestones),
            first_prediction: None,
        });
    }
    let each = seconds / grades.len().max(1) as f64;
    grades.iter_mut().for_each(|grade| grade.seconds = each);
    let starters: Vec<&str> = found
        .methods
        .iter()
        .filter(|method| !method.replaced)
        .map(|method| &*method.name)
        .collect();
    let of_starter = |grade: &&Grade| {
        let method = grade.exercise.split(' ').next().unwrap_or_default();
        grade.verdict.passed && starters.contains(&method)
    };
    Ok(Graded {
        student: submission.student.clone(),
        reached: grades.iter().filter(|grade| grade.verdict.passed).count(),
        from_starter: grades.iter().filter(of_starter).count(),
        of: grades.len(),
        reported,
        refused,
        methods: found.methods,
        grades,
        seconds,
    })
}

/// Results of a check.
#[derive(Default)]
struct Found {
    progress: milestones::Progress,
    methods: Vec<Method>,
}

impl Found {
    /// Whether the grader checked or repeated what a milestone rests on.
    fn is_checked(&self, milestone: &Milestone) -> bool {
        let mut methods = self.methods.iter();
        match milestone.kind {
            "correct" | "traffic" => true,
            "steps" => methods.any(|m| m.name == milestone.method && is_repeated(m)),
            _ => false,
        }
    }

    /// Why a milestone of `method` has no state.
    fn unmeasured(&self, method: &str) -> String {
        let wrong = self.progress.get(&format!("{method} correct"));
        match wrong.filter(|state| !state.passed) {
            Some(wrong) => {
                let line = printable(&wrong.line);
                format!("not measured, because the method is wrong: {line}")
            }
            None => format!("{method}: not measured"),
        }
    }
}

/// Compiles and checks a submission in a folder of its own, which is removed afterwards. The inner error is about the
/// submission.
fn check(
    submission: &Submission,
    grading: &Grading,
    options: Options,
    artifacts: &Artifacts,
) -> Result<std::result::Result<Found, String>> {
    let folder = Temporary::new(&std::env::temp_dir())?;
    let to = folder.path().join(NAME);
    if let Err(line) = submission.assemble(grading.starter.as_deref(), &to)? {
        return Ok(Err(line));
    }
    let built = Temporary::new(&artifacts.folder())?;
    let rung = Rung::with(OwnLevel::at(&to)?.confined(built.path()), artifacts.clone())?;
    // A student knows the files by their names in the crate.
    let prefix = format!("{}/", to.display());
    let built = match rung.build()? {
        Ok(built) => built,
        Err(bad) => return Ok(Err(bad.to_string().replace(&prefix, ""))),
    };
    let mut found = Found::default();
    let mut checks: Checks = rung.check(&built, levels::OPS, options, &mut found.progress)?;
    for line in checks.wrong.values_mut() {
        *line = line.replace(&prefix, "");
    }
    for state in found.progress.values_mut() {
        state.line = state.line.replace(&prefix, "");
    }
    found.methods = methods(&rung, &checks)?;
    Ok(Ok(found))
}
