//! Checks of Rust exercises: the submission in one process, its check in another.
//!
//! The checking program is built with the crate `exercise` (candle, and helpers for both sides), so cargo has compiled the
//! library, and names its file. From one source file rustc makes the crate `submission`, without `unsafe`. With the exercise's
//! `calls.rs` it becomes a program that answers calls; `check.rs` becomes the program that calls it and decides. rustc and
//! both programs run in a sandbox, each with what it needs to read and nothing else.
//!
//! So the right results, the seed and the verdict are in a process that runs no line of the submission, and a submission
//! that prints, exits, crashes or hangs gives no right answer. What a call costs (tensors, bytes of the heap) is counted
//! by `calls.rs` in the submission's process, where only a defect of rustc or of a library, used on purpose, would let
//! safe code reach the counters.

mod compile;
mod library;
mod said;
mod toolchain;
mod trial;
mod unchanged;

use std::fs;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use data::{BadInput, Temporary};
use sandbox::{Killed, Limits};

use super::{Failure, Outcome, Part};
use crate::exercise::Exercise;
use crate::printed::{last, printable};
use compile::{Package, compile};
pub use library::{KNOWN, Library, libraries};
use toolchain::Toolchain;
use trial::Trial;
use unchanged::Unchanged;

/// Time limit of a compilation.
pub const TO_COMPILE: Duration = Duration::from_secs(60);

/// Compiler and limits for Rust exercises.
#[derive(Debug, Clone)]
pub struct Rustc {
    /// Time limit of a submission's run.
    pub limit: Duration,
    /// Arguments of cargo that build what the running program is made of, such as `build -p workbook --lib`. With other
    /// arguments, dependencies could have other features, and cargo would compile them again.
    pub cargo: Vec<String>,
}

impl Rustc {
    /// Maximum time of a check: the submission is compiled as a library, then as a program.
    pub fn longest(&self) -> Duration {
        2 * TO_COMPILE + self.limit + trial::TO_JUDGE
    }

    /// Compiles and runs the submission `text` of the file `path`.
    pub fn check(&self, exercise: &Exercise, path: &Path, text: &str, seed: u64) -> Outcome {
        let parent = std::env::temp_dir();
        let folder = Temporary::new(&parent)
            .map_err(|e| BadInput::new(parent.display(), "a folder for temporary files", e))?;
        let package = Package::write(exercise, path, text, folder.path())?;
        let programs = match compile(&package, &self.cargo)? {
            Ok(programs) => programs,
            Err(failure) => return Ok(Err(failure)),
        };
        let before = Unchanged::of([&package.check, &package.calls, &programs.judge])?;
        let trial = Trial::run(&programs, self.limit, seed)?;
        if let Some(changed) = before.changed() {
            let what = format!(
                "expected no change of {} while it runs, found one",
                changed.display()
            );
            return Ok(Err(Failure::new(Part::Crash, path.display(), what)));
        }
        verdict(&trial, &package, self.limit)
    }
}

/// Checks that no submission can read the folder of its class, because it lies in one that rustc reads for each of them.
///
/// # Errors
/// It does.
pub fn keeps_out(class: &Path, libraries: &[Library]) -> Result<(), BadInput> {
    let libraries = libraries.iter().cloned();
    // Without a compiler, each check says why.
    let mut toolchains = libraries.filter_map(|library| Toolchain::of(library).ok());
    toolchains.try_for_each(|toolchain| out_of_reach(class, &toolchain.limits()))
}

/// Checks that no program with `limits` can read the folder of a class.
///
/// # Errors
/// It can.
pub fn out_of_reach(class: &Path, limits: &Limits) -> Result<(), BadInput> {
    match limits.exposes(class) {
        Some(folder) => {
            let expected =
                "a folder that no submission can read, because students' files are in it";
            let found = format!("it in {}, which each of them reads", folder.display());
            Err(BadInput::new(class.display(), expected, found))
        }
        None => Ok(()),
    }
}

/// The failure of a submission that does not end.
fn too_long(path: &Path, what: &str, limit: Duration) -> Failure {
    let what = format!(
        "expected it to end within {} s, but it still {what}",
        limit.as_secs_f32()
    );
    Failure::new(Part::Time, path.display(), what)
}

/// The check's verdict, or why there is none; the submission's output becomes notes. A check that gives none is no fault
/// of the submission.
fn verdict(trial: &Trial, package: &Package, limit: Duration) -> Outcome {
    let path = package.path;
    let stderr = trial.submission.stderr.text();
    let (printed, panic) = match stderr.rfind("thread '") {
        Some(at) if stderr[at..].contains("panicked at ") => stderr.split_at(at),
        _ => (&*stderr, ""),
    };
    let copy = package.source.display().to_string();
    let printed = printed.replace(&copy, &path.display().to_string());
    let notes = last("printed", &printed);
    let judged = trial.judge.stderr.text();
    let lines = judged.lines().rev();
    let said = lines
        .map(|line| line.strip_prefix("verdict: "))
        .next()
        .flatten()
        .filter(|_| trial.judge.success());
    let failure = match said.map(|said| said.split_once(' ').unwrap_or((said, ""))) {
        Some(("passed", "")) => {
            let costs = judged
                .lines()
                .filter_map(|line| line.strip_prefix("note: "));
            return Ok(Ok(notes.into_iter().chain(costs.map(printable)).collect()));
        }
        Some(("failed", why)) => failed(path, why),
        Some(_) => match trial.submission.killed {
            Some(Killed::Time | Killed::Cpu) => too_long(path, "runs", limit),
            _ => ended_early(package, trial.submission.status, panic, &printed),
        },
        None => {
            let found = trial.of_judge();
            return Err(BadInput::new(package.check.display(), "a verdict", found));
        }
    };
    Ok(Err(Failure { notes, ..failure }))
}

/// Parses the check's message `LINE WHY`.
fn failed(path: &Path, said: &str) -> Failure {
    match said.split_once(' ') {
        Some((line, why)) if line != "0" && line.parse::<u32>().is_ok() => {
            Failure::new(Part::Check, format!("{}:{line}", path.display()), why)
        }
        Some(("0", why)) => Failure::new(Part::Check, path.display(), why),
        _ => Failure::new(Part::Check, path.display(), said),
    }
}

/// The failure of a submission that ended the program, by a panic or otherwise.
fn ended_early(package: &Package, status: ExitStatus, panic: &str, printed: &str) -> Failure {
    let path = package.path;
    if let Some((place, why)) = place_of(panic, package) {
        return Failure::new(Part::Crash, place, why);
    }
    let said = format!("{panic}\n{printed}");
    if said.lines().any(is_out_of_memory) {
        let what = format!("needs more than {MEMORY} GiB of memory, the limit of a submission");
        return Failure::new(Part::Crash, path.display(), what);
    }
    // Safe code does not reach memory that is not its own, except below its stack.
    let status = match status.to_string() {
        status if status.contains("SIGSEGV") => format!("{status}: a stack overflow"),
        status => status,
    };
    let what = format!("ended before its check did ({status})");
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    // In quotes, because it may be the submission's text.
    let what = match lines.next() {
        None => what,
        Some(line) => format!("{what}; it printed: {:?}", without_number(line)),
    };
    Failure::new(Part::Crash, path.display(), what)
}

/// Memory of a submission, in GiB: `MOST` of `exercise`, whose allocator refuses more.
const MEMORY: usize = 2;

/// Whether the standard library says that an allocation was refused.
fn is_out_of_memory(line: &str) -> bool {
    line.starts_with("memory allocation of ") && line.ends_with(" bytes failed")
}

/// Removes the thread number, which changes between runs: `thread 'main' has …` for
/// `thread 'main' (5504) has …`.
fn without_number(line: &str) -> String {
    let (name, rest) = line.split_once("' (").unwrap_or((line, ""));
    match rest.split_once(") ") {
        Some((number, said)) if number.bytes().all(|c| c.is_ascii_digit()) => {
            format!("{name}' {said}")
        }
        _ => line.to_owned(),
    }
}

/// Finds location and reason in a panic message: `… panicked at FILE:LINE:COLUMN:`, the reason, and for
/// `assert_eq!` both sides.
fn place_of(panic: &str, package: &Package) -> Option<(String, String)> {
    let (_, panic) = panic.split_once("panicked at ")?;
    let (place, why) = panic.split_once(":\n")?;
    let place = place.strip_prefix(package.source.to_str()?)?;
    let mut lines = why.lines().map(str::trim);
    let reason = lines.next().unwrap_or_default();
    let sides = lines.filter(|line| line.starts_with("left:") || line.starts_with("right:"));
    let all: Vec<&str> = std::iter::once(reason).chain(sides).collect();
    Some((
        format!("{}{place}", package.path.display()),
        format!("panicked: {}", all.join(", ")),
    ))
}

/// A new folder inside another.
fn new_folder(folder: &Path, name: &str) -> Result<std::path::PathBuf, BadInput> {
    let new = folder.join(name);
    fs::create_dir(&new).map_err(|e| BadInput::new(new.display(), "a new folder", e))?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MEMORY, Rustc, TO_COMPILE, trial, without_number};

    #[test]
    fn a_check_has_time_for_each_of_its_programs() {
        let (limit, cargo) = (Duration::from_secs(10), vec![]);
        let needed = TO_COMPILE + TO_COMPILE + limit + trial::TO_JUDGE;
        assert!(Rustc { limit, cargo }.longest() >= needed);
    }

    #[test]
    fn the_limit_of_memory_is_that_of_the_allocator() {
        assert_eq!(exercise::MOST, MEMORY << 30);
    }

    #[test]
    fn a_threads_number_is_left_out() {
        let line = "thread 'main' (5504) has overflowed its stack";
        assert_eq!(
            without_number(line),
            "thread 'main' has overflowed its stack"
        );
        for line in ["thread 'main' has ended", "it's ' (five) times"] {
            assert_eq!(without_number(line), line);
        }
    }
}
