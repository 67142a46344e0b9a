//! Exercises in Rust: the submission and its check become one program, which has a time limit.
//!
//! Cargo builds the crate `exercise` (candle and the tools of the checks) once; each submission is then a single
//! call of rustc against it, into a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use data::BadInput;
use serde_json::Value;
use tempfile::TempDir;

use super::process::{self, Ended};
use super::{Failure, Outcome, Part};
use crate::exercise::Exercise;

/// What a compilation may take.
const TO_COMPILE: Duration = Duration::from_secs(60);

/// How exercises in Rust are compiled and run.
#[derive(Debug)]
pub struct Rustc {
    /// The folder of the workspace.
    repository: PathBuf,
    /// What a submission may run.
    limit: Duration,
    /// The file of the crate `exercise`, once it is built.
    library: OnceLock<Result<PathBuf, BadInput>>,
}

impl Rustc {
    /// Builds nothing yet.
    pub fn new(repository: &Path, limit: Duration) -> Self {
        Self {
            repository: repository.to_path_buf(),
            limit,
            library: OnceLock::new(),
        }
    }

    /// What a submission may run.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether the library has been built once; it may be stale.
    pub fn is_built(&self) -> bool {
        let own = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target = own.unwrap_or_else(|| self.repository.join("target"));
        target.join("release/libexercise.rlib").is_file()
    }

    /// What a check may take at the most, once the library is built.
    pub fn longest(&self) -> Duration {
        TO_COMPILE + self.limit
    }

    /// Builds what all exercises in Rust need: minutes the first time, nothing afterwards.
    ///
    /// # Errors
    /// There is no cargo, or it fails.
    pub fn library(&self) -> Result<&Path, BadInput> {
        let built = self.library.get_or_init(|| self.build());
        built.as_deref().map_err(Clone::clone)
    }

    fn build(&self) -> Result<PathBuf, BadInput> {
        let arguments =
            "build --release --package exercise --message-format json-render-diagnostics";
        let mut cargo = Command::new("cargo");
        cargo
            .args(arguments.split(' '))
            .current_dir(&self.repository);
        let what = "cargo build --release --package exercise";
        let output = cargo
            .output()
            .map_err(|e| BadInput::new(what, "cargo in the PATH", e))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            let error = stderr
                .lines()
                .find(|l| l.starts_with("error"))
                .unwrap_or("an error");
            return Err(BadInput::new(what, "it to succeed", error));
        }
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let library = stdout
            .lines()
            .filter_map(|line| library_of(&serde_json::from_str(line).ok()?))
            .last();
        library.ok_or_else(|| BadInput::new(what, "a library", "none"))
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
        let library = self.library()?;
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
        let dependencies = library.with_file_name("deps");
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
            .args([&program, &main])
            .current_dir(&self.repository);
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

/// The library that one of cargo's messages is about, if it is that of the crate `exercise`.
fn library_of(message: &Value) -> Option<PathBuf> {
    let is_it = message["reason"] == "compiler-artifact" && message["target"]["name"] == "exercise";
    let files = message["filenames"].as_array().filter(|_| is_it)?;
    let rlib = files
        .iter()
        .filter_map(Value::as_str)
        .find(|file| file.ends_with(".rlib"));
    rlib.map(PathBuf::from)
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
