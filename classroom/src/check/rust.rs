//! Exercises in Rust: the submission and its check become one program, which has a time limit.
//!
//! The program that checks was built with the crate `exercise` (candle and the tools of the checks), so that this is
//! compiled and lies beside it. A submission is one call of rustc against it, into a folder of its own.
//!
//! Endless loops, crashes and early ends are noticed. A submission that means to deceive can: it runs with the check
//! in one process, as the user who checks.

mod compile;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use data::BadInput;
use tempfile::TempDir;

use super::process::{self, Ended};
use super::{Failure, Outcome, Part};
use crate::exercise::Exercise;

/// What a compilation may take.
const TO_COMPILE: Duration = Duration::from_secs(60);

/// How exercises in Rust are compiled and run.
#[derive(Debug, Clone)]
pub struct Rustc {
    /// What a submission may run.
    pub limit: Duration,
}

impl Rustc {
    /// What a check may take at the most.
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
        let mut command = Command::new(program);
        command
            .args([seed.to_string(), word.clone()])
            .env_remove("RUST_BACKTRACE");
        let ended = run(command, self.limit)?;
        Ok(verdict(&ended, &word, path, self.limit))
    }
}

/// Runs a program, which has to be there.
fn run(command: Command, limit: Duration) -> Result<Ended, BadInput> {
    let name = command.get_program().to_string_lossy().into_owned();
    process::run(command, limit).map_err(|e| BadInput::new(name, "a program that starts", e))
}

/// A submission that does not end.
fn too_long(path: &Path, what: &str, limit: Duration) -> Failure {
    let what = format!(
        "expected an end after {} s at the most, found that it still {what}",
        limit.as_secs_f32()
    );
    Failure::new(Part::Time, path.display(), what)
}

/// What the last line of the program says, or why there is none.
fn verdict(ended: &Ended, word: &str, path: &Path, limit: Duration) -> Result<(), Failure> {
    let Some(status) = ended.status else {
        return Err(too_long(path, "runs", limit));
    };
    let said = ended
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix(word))
        .map(str::trim);
    match said.map(|said| (said, said.strip_prefix("failed "))) {
        Some(("passed", _)) if status.success() => Ok(()),
        Some((_, Some(why))) => Err(Failure::new(Part::Check, path.display(), why)),
        _ => {
            if let Some((place, why)) = panic(&ended.stderr, path) {
                return Err(Failure::new(Part::Crash, place, why));
            }
            let complaint: Vec<&str> = ended
                .stderr
                .lines()
                .filter(|l| !l.trim().is_empty())
                .take(2)
                .collect();
            let what = match complaint.is_empty() {
                true => format!("ended before its check did ({status})"),
                false => format!(
                    "ended before its check did ({status}): {}",
                    complaint.join(" ")
                ),
            };
            Err(Failure::new(Part::Crash, path.display(), what))
        }
    }
}

/// Where the submission panicked, and why, of what a panic prints: `thread … panicked at FILE:LINE:COLUMN:`, and the reason.
fn panic(stderr: &str, path: &Path) -> Option<(String, String)> {
    let (_, panic) = stderr.split_once("panicked at ")?;
    let (place, why) = panic.split_once(":\n")?;
    let submission = path.canonicalize().ok()?;
    let place = place.strip_prefix(submission.to_str()?)?;
    let why = why.lines().next().unwrap_or_default();
    Some((
        format!("{}{place}", path.display()),
        format!("panicked: {why}"),
    ))
}
