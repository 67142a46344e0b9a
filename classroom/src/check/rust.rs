//! Exercises in Rust: the submission and its check become one program, which has a time limit.
//!
//! The program that checks was built with the crate `exercise` (candle and the tools of the checks), so that this is
//! compiled and lies beside it. A submission is one call of rustc against it, into a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
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
        let program = match self.compile(exercise, path, folder.path())? {
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

    fn compile(
        &self,
        exercise: &Exercise,
        path: &Path,
        folder: &Path,
    ) -> Result<Result<PathBuf, Failure>, BadInput> {
        let library = library()?;
        let absolute = |path: &Path| {
            path.canonicalize()
                .map_err(|e| BadInput::new(path.display(), "a file", e))
        };
        let (submission, check) = (
            absolute(path)?,
            absolute(&exercise.folder.join("check.rs"))?,
        );
        let main = folder.join("main.rs");
        let text = format!(
            "#[path = {submission:?}]\nmod submission;\n#[path = {check:?}]\nmod check;\n\
             fn main() {{\n    exercise::run(check::check)\n}}\n"
        );
        fs::write(&main, text).map_err(|e| BadInput::new(main.display(), "a file", e))?;
        let program = folder.join(format!("program{}", std::env::consts::EXE_SUFFIX));
        let dependencies = library.parent().unwrap_or(Path::new("."));
        let mut rustc = Command::new("rustc");
        rustc
            .args([
                "--edition",
                "2024",
                "--crate-name",
                "program",
                "--cap-lints",
                "allow",
            ])
            .args([
                "-C",
                "opt-level=1",
                "-C",
                "debuginfo=0",
                "--error-format",
                "short",
            ])
            .arg("-L")
            .arg(format!("dependency={}", dependencies.display()))
            .arg("--extern")
            .arg(format!("exercise={}", library.display()))
            .arg("-o")
            .args([&program, &main]);
        let ended = run(rustc, TO_COMPILE)?;
        let error = ended.stderr.lines().find(|line| line.contains("error"));
        Ok(match ended.status {
            Some(status) if status.success() => Ok(program),
            Some(_) => {
                let error = error.unwrap_or("an error").replace(
                    &submission.display().to_string(),
                    &path.display().to_string(),
                );
                let line = Failure::new(Part::Text, "rustc", error).line;
                Err(Failure {
                    by: Part::Text,
                    line: line.trim_start_matches("rustc: ").to_owned(),
                })
            }
            None => Err(too_long(path, "compiles", TO_COMPILE)),
        })
    }
}

fn run(command: Command, limit: Duration) -> Result<Ended, BadInput> {
    let name = command.get_program().to_string_lossy().into_owned();
    process::run(command, limit).map_err(|e| BadInput::new(name, "a program that starts", e))
}

/// The crate `exercise`, compiled: among the libraries that the running program was built from, the newest of its name.
fn library() -> Result<PathBuf, BadInput> {
    let missing = |found: String| {
        BadInput::new(
            "the library of the exercises in Rust",
            "libexercise-….rlib beside this program",
            found,
        )
    };
    let program = std::env::current_exe().map_err(|e| missing(e.to_string()))?;
    let folder = program.parent().unwrap_or(Path::new("."));
    // A test is among the libraries itself.
    let folder = Some(folder.join("deps"))
        .filter(|deps| deps.is_dir())
        .unwrap_or(folder.into());
    let entries = fs::read_dir(&folder).map_err(|e| missing(e.to_string()))?;
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libexercise-") && name.ends_with(".rlib")
    };
    let modified = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    let found = entries
        .flatten()
        .map(|e| e.path())
        .filter(is_it)
        .max_by_key(modified);
    found.ok_or_else(|| missing(format!("none in {}", folder.display())))
}

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
