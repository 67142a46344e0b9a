//! Checks of kernels in the simulator: findings, results on odd shapes, and the cost of a counted launch.

use std::path::Path;
use std::time::{Duration, Instant};

use data::BadInput;
use simt::case::parameters;
use simt::{Class, Error, Finding, Module, Options, Report, Schedule, in_all};

use super::{Failure, Outcome, Part, Predictions, limits, questions};
use crate::answers::Answers;
use crate::exercise::Exercise;
use crate::pattern;
use crate::printed::{in_cuda, last};
use crate::problem::Launch;
use crate::spec::{KernelSpec, Kind, Sizes};

/// A submission and its context.
pub struct Submission<'a> {
    /// The learner's file.
    pub path: &'a Path,
    /// The text of the file.
    pub text: &'a str,
    /// The learner's answers in it.
    pub answers: Answers,
    /// When its check began.
    pub begin: Instant,
}

/// A launch that has run.
pub struct Launched {
    /// The buffers before it.
    before: Launch,
    /// The buffers after it.
    after: Launch,
    /// Findings and counters.
    pub report: Report,
}

impl Launched {
    /// Describes the first wrong number of the output.
    pub fn wrong_result(&self, kernel: &KernelSpec) -> Option<String> {
        wrong_result(kernel, &self.before, &self.after)
    }
}

/// Reports of the counted launches, in the order of the kernels.
pub type Counted<'a> = Vec<(&'a KernelSpec, Report)>;

/// Checks `ptx`, which is `text` or compiled from it; `first` are the learner's first predictions.
pub fn check(
    exercise: &Exercise,
    path: &Path,
    text: &str,
    ptx: &str,
    seed: u64,
    first: Option<&Predictions>,
) -> Outcome {
    let answers = Answers::read(text);
    let submission = Submission {
        path,
        text,
        answers,
        begin: Instant::now(),
    };
    if exercise.spec.kind == Kind::OptimisationThatLoses
        && let Err(failure) = questions::written(exercise, &submission)
    {
        return Ok(Err(failure));
    }
    let module = match Module::parse(ptx) {
        Ok(module) => module,
        Err(error) => return Ok(Err(submission.not_a_kernel(&error))),
    };
    let mut counted = vec![];
    for kernel in &exercise.spec.kernels {
        let shapes = &exercise.spec.shapes;
        for (number, sizes) in (1..).zip(&shapes.odd) {
            let seed = seed.wrapping_add(number);
            for schedule in [Schedule::default(), Schedule::Random] {
                let run = submission.run(kernel, &module, sizes, seed, schedule)?;
                if let Err(failure) = run {
                    return Ok(Err(failure));
                }
            }
        }
        match submission.run(kernel, &module, &shapes.counted, seed, Schedule::default())? {
            Ok(report) => counted.push((kernel, report)),
            Err(failure) => return Ok(Err(failure)),
        }
    }
    let printed = || {
        let printed = counted.iter().map(|(_, report)| report.printed.as_str());
        last("printed", &printed.collect::<String>())
    };
    let kept = limits::check(exercise, &submission, &counted)?;
    let outcome = match kept {
        Ok(()) => questions::check(exercise, &submission, &counted, first)?,
        Err(failure) => Err(failure),
    };
    Ok(match outcome {
        Ok(notes) => Ok([printed(), notes].concat()),
        Err(failure) => Err(Failure {
            notes: [printed(), failure.notes].concat(),
            ..failure
        }),
    })
}

/// Time after which a check begins no launch: solutions need less than a second in all, and a launch ends after some seconds.
const LONGEST: Duration = Duration::from_secs(10);

/// Limits far above an exercise's needs, reached after some seconds.
fn options(schedule: Schedule, seed: u64, begin: Instant) -> Options {
    Options {
        fuel: 2_000_000,
        launch_fuel: 10_000_000,
        memory: 1 << 28,
        until: Some(begin + LONGEST),
        schedule,
        seed,
        ..Options::default()
    }
}

impl Submission<'_> {
    /// Launches a kernel once; returns its report if there is no finding and the result is right.
    fn run(
        &self,
        kernel: &KernelSpec,
        module: &Module,
        sizes: &Sizes,
        seed: u64,
        schedule: Schedule,
    ) -> Result<Result<Report, Failure>, BadInput> {
        if self.begin.elapsed() > LONGEST {
            let what = format!(
                "expected its launches to be simulated within {} s, but {} at {} is still to come",
                LONGEST.as_secs(),
                kernel.entry,
                named(sizes)
            );
            return Ok(Err(Failure::new(Part::Time, self.path.display(), what)));
        }
        let launched = match self.launch(kernel, module, sizes, seed, schedule)? {
            Ok(launched) => launched,
            Err(failure) => return Ok(Err(failure)),
        };
        let failure = match worst(&launched.report) {
            Some(finding) => Some(self.found(finding, sizes)),
            None => wrong_result(kernel, &launched.before, &launched.after).map(|what| {
                let what = format!("{} at {}: {what}", kernel.entry, named(sizes));
                Failure::new(Part::Output, self.path.display(), what)
            }),
        };
        Ok(match failure {
            Some(failure) => Err(Failure {
                notes: last("printed", &launched.report.printed),
                ..failure
            }),
            None => Ok(launched.report),
        })
    }

    /// Launches a kernel once, whatever it finds.
    pub fn launch(
        &self,
        kernel: &KernelSpec,
        module: &Module,
        sizes: &Sizes,
        seed: u64,
        schedule: Schedule,
    ) -> Result<Result<Launched, Failure>, BadInput> {
        let own_launch = kernel.launch.contains("{launch}");
        let mut before = match Launch::new(kernel, sizes, &self.answers, seed) {
            Ok(launch) => launch,
            Err(bad) if own_launch => return Ok(Err(self.no_launch(&bad))),
            Err(bad) => return Err(bad),
        };
        let entry = match before.case.kernel(module) {
            Ok(entry) => entry,
            Err(error) => return Ok(Err(self.not_a_kernel(&error))),
        };
        let cuda = parameters(entry.name(), self.text);
        before.operands.name_buffers(&entry, &cuda);
        let mut after = before.clone();
        let operands = &mut after.operands;
        let options = options(schedule, seed, self.begin);
        let launched = entry.launch(
            operands.dim,
            &mut operands.buffers,
            &operands.args,
            &options,
        );
        Ok(match launched {
            Ok(report) => Ok(Launched {
                before,
                after,
                report,
            }),
            Err(error) => Err(self.not_launched(error, own_launch)?),
        })
    }

    /// The failure of a launch that cannot be made. The outer error is not the learner's: a size that the exercise fixes,
    /// or other arguments than the kernel has.
    fn not_launched(&self, error: Error, own_launch: bool) -> Result<Failure, BadInput> {
        let sizes = ["block", "grid", "cluster"];
        let is_learners = |what: &str| {
            what.contains("memory") || own_launch && sizes.iter().any(|size| what.ends_with(size))
        };
        match error {
            Error::Launch {
                what,
                expected,
                found,
            } if !is_learners(&what) => Err(BadInput::new(what, expected, found)),
            error => Ok(self.not_a_kernel(&error)),
        }
    }

    /// Returns line `number` of the file, from 1.
    pub fn line(&self, number: u32) -> &str {
        self.text
            .lines()
            .nth((number as usize).saturating_sub(1))
            .unwrap_or_default()
            .trim()
    }

    /// Returns a line of the learner's file and `FILE:LINE`; the source line if the PTX names it.
    pub fn place(&self, line: u32, source: Option<&(String, u32)>) -> (u32, String) {
        let own = source.filter(|(file, _)| self.is_own(file));
        let line = own.map_or(line, |(_, line)| *line);
        (line, format!("{}:{line}", self.path.display()))
    }

    /// Whether a file named in the PTX is the learner's.
    fn is_own(&self, file: &str) -> bool {
        Path::new(file).file_name() == self.path.file_name()
    }

    /// The failure of an invalid line `// launch = …`.
    fn no_launch(&self, bad: &BadInput) -> Failure {
        Failure::new(Part::Text, self.launch_place(), bad)
    }

    /// The location of the launch: the learner's line, or the file if the exercise fixes the launch.
    fn launch_place(&self) -> String {
        let line = self
            .answers
            .get("launch")
            .map(|(line, _)| format!(":{line}"));
        format!("{}{}", self.path.display(), line.unwrap_or_default())
    }

    fn not_a_kernel(&self, error: &Error) -> Failure {
        let at = |line: u32| format!("{}:{line}", self.path.display());
        let (place, what) = match error {
            Error::Syntax {
                line,
                expected,
                found,
            } => (at(*line), format!("expected {expected}, found {found}")),
            Error::Name {
                location,
                expected,
                found,
            } => (
                at(location.line),
                format!("expected {expected}, found `{found}`"),
            ),
            Error::Unsupported {
                location,
                form,
                why,
            } => {
                let expected = "an instruction that the simulator runs";
                (
                    at(location.line),
                    format!("expected {expected}, found `{form}`{why}"),
                )
            }
            launch @ Error::Launch { .. } => (self.launch_place(), launch.to_string()),
        };
        Failure::new(Part::Text, place, what)
    }

    /// `FILE:41: race: thread 32 of block 0: … (3 such faults in all) | the line (at rows = 3)`
    fn found(&self, finding: &Finding, sizes: &Sizes) -> Failure {
        let (line, place) = self.place(finding.line, finding.source.as_ref());
        let times = in_all(finding.count, 1);
        let Finding {
            class,
            thread,
            what,
            source,
            ..
        } = finding;
        // A finding names another line of the file by its full path, as the compiler does; shorten it.
        let own = self.path.display().to_string();
        let what = match source.as_ref().filter(|(file, _)| self.is_own(file)) {
            Some((file, _)) => what.replace(file, &own),
            None => what.clone(),
        };
        let what = match self.path.extension() {
            Some(extension) if extension == "cu" => in_cuda(&what),
            _ => what,
        };
        let what = format!(
            "{class}: {thread}: {what}{times} | {} (at {})",
            self.line(line),
            named(sizes)
        );
        Failure::new(Part::Finding(*class), place, what)
    }
}

/// Causes before their consequences: threads that miss a barrier, or never reach it, also race.
const CAUSES: [Class; 3] = [Class::BarrierDivergence, Class::Endless, Class::Race];

/// Returns the finding to fix first. A race of two warps comes before one within a warp, because it needs the stronger barrier.
fn worst(report: &Report) -> Option<&Finding> {
    let first = |class: &Class| {
        let of_class = report.findings.iter().filter(|f| f.class == *class);
        of_class.min_by_key(|f| f.within_warp)
    };
    let cause = CAUSES.iter().find_map(first);
    cause.or_else(|| report.findings.first())
}

/// `columns = 100, rows = 3`
pub fn named(sizes: &Sizes) -> String {
    let each = sizes.iter().map(|(name, size)| format!("{name} = {size}"));
    each.collect::<Vec<_>>().join(", ")
}

/// Formats a number with the digits of an f32.
fn digits(x: f64) -> String {
    let x = x as f32;
    if x == 0. || (1e-4..1e9).contains(&x.abs()) {
        x.to_string()
    } else {
        format!("{x:e}")
    }
}

/// Describes the first wrong number of the output and counts the wrong ones, or describes a changed input.
fn wrong_result(kernel: &KernelSpec, before: &Launch, after: &Launch) -> Option<String> {
    let found = after.values(kernel.output);
    let both: Vec<(f64, f64)> = found.into_iter().zip(before.expected.clone()).collect();
    let is_close = |f: f64, e: f64| f == e || (f - e).abs() <= kernel.tolerance * e.abs().max(1.);
    let is_wrong = |&(f, e): &(f64, f64)| !is_close(f, e);
    let Some(first) = both.iter().position(is_wrong) else {
        return changed_input(kernel, before, after);
    };
    let (f, e) = both[first];
    let found = match f.is_nan() {
        _ if after.is_unwritten(kernel.output, first) => "nothing: no thread wrote it".to_owned(),
        true => "NaN (not a number)".to_owned(),
        false => digits(f),
    };
    let many = match both.iter().filter(|pair| is_wrong(pair)).count() {
        1 => String::new(),
        wrong => format!("; {wrong} of {} are wrong", both.len()),
    };
    let (all, expected): (Vec<f64>, Vec<f64>) = both.iter().copied().unzip();
    let result = pattern::Compared {
        shape: &after.shape(kernel.output),
        expected: &expected,
        found: &all,
        is_close: &is_close,
    };
    let mut mistakes = kernel.mistakes.iter().zip(&before.mistakes);
    let is_it = |wrong: &[f64]| all.iter().zip(wrong).all(|(f, w)| is_close(*f, *w));
    let mistake = mistakes.find(|(_, wrong)| is_it(wrong));
    let mistake = mistake.map(|(mistake, _)| mistake.what.clone());
    let pattern = mistake.or_else(|| result.pattern());
    let pattern = pattern.map_or(String::new(), |pattern| format!(": {pattern}"));
    Some(format!(
        "{}: expected {}, found {found}{many}{pattern}",
        after.element(kernel.output, first),
        digits(e),
    ))
}

/// Describes an input that the kernel changed.
fn changed_input(kernel: &KernelSpec, before: &Launch, after: &Launch) -> Option<String> {
    let output = after.operands.buffer(kernel.output);
    let inputs = (0..after.case.args.len()).filter(|&k| after.operands.buffer(k) != output);
    let changed = inputs.into_iter().find(|&k| {
        let buffer = after.operands.buffer(k);
        buffer.is_some_and(|b| after.operands.buffers[b] != before.operands.buffers[b])
    });
    let what = "expected an input that is only read, found it changed";
    changed.map(|k| format!("{}: {what}", after.name(k)))
}
