//! A learner's folder per test, and runs of the command in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use classroom::{Exercise, exercise};
use tempfile::TempDir;

use crate::slashes::{slashes, text};

/// A temporary folder.
pub struct Folder(TempDir);

/// The result of a run.
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// All exercises of the repository.
pub fn exercises() -> Vec<Exercise> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../exercises");
    exercise::all(&root).unwrap()
}

/// One of them.
pub fn named(name: &str) -> Exercise {
    exercise::find(&exercises(), name).unwrap().clone()
}

/// Returns the solution with one change.
pub fn changed(exercise: &Exercise, replace: &str, with: &str) -> String {
    let solution = exercise.solution.as_deref().unwrap();
    assert_eq!(solution.matches(replace).count(), 1, "{replace}");
    solution.replace(replace, with)
}

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Path of the learner's file of an exercise.
    pub fn file(&self, exercise: &Exercise) -> PathBuf {
        self.path("my-exercises").join(exercise.file())
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Writes a file; creates its folder if necessary.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Prepares `workbook exercises`.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
        command.arg("exercises").args(args).current_dir(&self.0);
        command
    }

    pub fn run(&self, args: &[&str]) -> Run {
        finish(&mut self.command(args))
    }
}

/// Runs a command to its end.
pub fn finish(command: &mut Command) -> Run {
    of_output(command.output().unwrap())
}

/// The same for a command that ends with its input.
pub fn finish_awaited(command: &mut Command) -> Run {
    let command = command.stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(input);
    of_output(output)
}

/// Note of the first check of Rust after the program was built.
const COMPILING: &str = "compiling the library of the exercises in Rust, once: minutes, if its dependencies are not compiled yet …\n";

fn of_output(output: Output) -> Run {
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr).replace(COMPILING, ""),
    }
}

impl Run {
    /// Asserts that the run ended with `code` and without stderr; returns stdout.
    pub fn ended(&self, code: i32) -> &str {
        assert_eq!(
            (self.code, self.stderr.as_str()),
            (Some(code), ""),
            "{}",
            self.stdout
        );
        &self.stdout
    }

    /// Asserts that the input was rejected: one line with all `parts`, nothing on stdout, code 2.
    pub fn refused(&self, parts: &[&str]) {
        let line = &self.stderr;
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{line}");
        assert!(
            line.starts_with("error: ") && line.lines().count() == 1,
            "{line}"
        );
        for part in parts {
            let part = slashes(part);
            assert!(line.contains(&part), "{part:?} is not in: {line}");
        }
    }
}
