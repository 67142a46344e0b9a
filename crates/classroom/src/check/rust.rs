//! Checks of Rust exercises: submission and check become one program with a time limit.
//!
//! The checking program is built with the crate `exercise` (candle and helpers for checks), so the compiled
//! library is next to it. One call of rustc compiles a submission against it, into a temporary folder.
//!
//! Endless loops, crashes and early exits are detected. Deliberate deception is not prevented: a submission
//! shares a process and a user with the check, and could find the check's secret word in memory.

mod compile;
mod said;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use data::BadInput;
use tempfile::TempDir;

use super::process::{self, Ended};
use super::{Failure, Notes, Outcome, Part};
use crate::exercise::Exercise;
use crate::printed::last;

/// Time limit of a compilation.
pub const TO_COMPILE: Duration = Duration::from_secs(60);

/// Compiler and limits for Rust exercises.
#[derive(Debug, Clone)]
pub struct Rustc {
    /// Time limit of a submission's run.
    pub limit: Duration,
}

impl Rustc {
    /// Maximum time of a check.
    pub fn longest(&self) -> Duration {
        TO_COMPILE + self.limit
    }

    /// Compiles and runs a submission with its check.
    pub fn check(&self, exercise: &Exercise, path: &Path, seed: u64) -> Outcome {
        let folder = TempDir::new().map_err(|e| BadInput::new("a temporary folder", "one", e))?;
        let program = match compile::compile(exercise, path, folder.path())? {
            Ok(program) => program,
            Err(failure) => return Ok(Err(failure)),
        };
        let word = format!("verdict-{:016x}", rand::random::<u64>());
        let here = folder.path().join("here");
        fs::create_dir(&here).map_err(|e| BadInput::new(here.display(), "a new folder", e))?;
        let mut command = Command::new(program);
        // Relative paths of a submission lead to this temporary folder, which is deleted afterwards.
        command.current_dir(here);
        // candle's errors need a backtrace to name their location; a panic names it anyway.
        command
            .arg(seed.to_string())
            .envs([("RUST_BACKTRACE", "0"), ("RUST_LIB_BACKTRACE", "1")]);
        let ended = run(command, self.limit, &format!("{word}\n"))?;
        Ok(verdict(&ended, &word, path, self.limit))
    }
}

/// Runs a program that must exist.
fn run(command: Command, limit: Duration, input: &str) -> Result<Ended, BadInput> {
    let name = command.get_program().to_string_lossy().into_owned();
    process::run(command, limit, input)
        .map_err(|e| BadInput::new(name, "a program that can be started", e))
}

/// The failure of a submission that does not end.
fn too_long(path: &Path, what: &str, limit: Duration) -> Failure {
    let what = format!(
        "expected it to end within {} s, but it still {what}",
        limit.as_secs_f32()
    );
    Failure::new(Part::Time, path.display(), what)
}

/// Reads the verdict in the program's last line, or explains why there is none; other output becomes notes.
fn verdict(ended: &Ended, word: &str, path: &Path, limit: Duration) -> Result<Notes, Failure> {
    let (printed, said) = match ended.stdout.split_once(word) {
        Some((printed, said)) => (printed, said.trim()),
        None => (&*ended.stdout, ""),
    };
    let (complained, panic) = match ended.stderr.find("thread '") {
        Some(at) if ended.stderr[at..].contains("panicked at ") => ended.stderr.split_at(at),
        _ => (&*ended.stderr, ""),
    };
    let notes = [
        last("printed", printed),
        last("printed to stderr", complained),
    ]
    .concat();
    let failure = match (ended.status, said.split_once(' ')) {
        (None, _) => too_long(path, "runs", limit),
        (Some(status), None) if said == "passed" && status.success() => return Ok(notes),
        (Some(_), Some(("failed", why))) => failed(path, why),
        (Some(status), _) => ended_early(path, status, panic, complained),
    };
    Err(Failure { notes, ..failure })
}

/// Parses the check's message `LINE WHY`.
fn failed(path: &Path, said: &str) -> Failure {
    match said.split_once(' ') {
        Some((line, why)) if line != "0" => {
            Failure::new(Part::Check, format!("{}:{line}", path.display()), why)
        }
        Some((_, why)) => Failure::new(Part::Check, path.display(), why),
        None => Failure::new(Part::Check, path.display(), said),
    }
}

/// The failure of a submission that ended the program, by a panic or otherwise.
fn ended_early(path: &Path, status: ExitStatus, panic: &str, complained: &str) -> Failure {
    if let Some((place, why)) = place_of(panic, path) {
        return Failure::new(Part::Crash, place, why);
    }
    let said = [panic, complained].map(|text| text.lines().find(|line| !line.trim().is_empty()));
    let what = match said.into_iter().flatten().next() {
        None => format!("ended before its check did ({status})"),
        Some(line) => {
            let line = without_number(line);
            format!("ended before its check did ({status}): {line}")
        }
    };
    Failure::new(Part::Crash, path.display(), what)
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
fn place_of(panic: &str, path: &Path) -> Option<(String, String)> {
    let (_, panic) = panic.split_once("panicked at ")?;
    let (place, why) = panic.split_once(":\n")?;
    let submission = path.canonicalize().ok()?;
    let place = place.strip_prefix(submission.to_str()?)?;
    let mut lines = why.lines().map(str::trim);
    let reason = lines.next().unwrap_or_default();
    let sides = lines.filter(|line| line.starts_with("left:") || line.starts_with("right:"));
    let all: Vec<&str> = std::iter::once(reason).chain(sides).collect();
    Some((
        format!("{}{place}", path.display()),
        format!("panicked: {}", all.join(", ")),
    ))
}

#[cfg(test)]
mod tests {
    use super::without_number;

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
