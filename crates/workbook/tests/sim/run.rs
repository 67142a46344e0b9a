//! A folder per test, and runs of the command.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::slashes::{slashes, text};

/// A temporary folder.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Names of its files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let name = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }
}

/// The result of a run.
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Prepares `workbook sim` in the repository's root.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    command.arg("sim").args(args).current_dir(root);
    command.env("RUST_BACKTRACE", "1");
    command
}

/// Runs a command to its end.
pub fn finish(mut command: Command) -> Run {
    let output = command.output().unwrap();
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

pub fn sim(args: &[&str]) -> Run {
    finish(command(args))
}

impl Run {
    /// Asserts that the input was rejected: one line with all `parts`, nothing on stdout, code 2.
    pub fn refused(&self, parts: &[&str]) {
        let line = &self.stderr;
        assert_eq!(self.code, Some(2), "{line}{}", self.stdout);
        assert_eq!(self.stdout, "");
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
