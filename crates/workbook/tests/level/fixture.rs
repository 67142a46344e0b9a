//! A learner's folder with a level in it, and runs of the program there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder with the level `mine`, which delegates to level 1.
pub struct Learner(TempDir);

impl Learner {
    pub fn new() -> Self {
        let learner = Self(tempfile::tempdir().unwrap());
        let made = learner.run(&["exercises", "level", "new", "mine"]);
        assert!(made.is_quiet() && made.code == 0, "{made:?}");
        learner
    }

    /// The folder that commands run in.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// `src/ops.rs` of a new level, in the repository.
    pub fn template() -> &'static Path {
        Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/exercises/level/template/ops.rs"
        ))
    }

    /// A file of the level.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join("my-exercises/levels/mine").join(name)
    }

    /// Replaces `from`, which must be there, in `src/ops.rs`.
    pub fn edit(&self, from: &str, to: &str) {
        let path = self.file("src/ops.rs");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from:?} is not in {text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }

    /// Adds text at the end of `src/ops.rs`.
    pub fn append(&self, text: &str) {
        let path = self.file("src/ops.rs");
        let before = fs::read_to_string(&path).unwrap();
        fs::write(path, before + text).unwrap();
    }

    /// Runs the workbook in the learner's folder.
    pub fn run(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
        command.current_dir(self.0.path()).args(args);
        command.output().unwrap().into()
    }
}

/// Output of a run.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Ran {
    /// Whether stderr has nothing but what is being checked, or compiled for the first run of all.
    pub fn is_quiet(&self) -> bool {
        let is_progress = |line: &str| {
            line.starts_with("checking ") || line.starts_with("compiling the libraries ")
        };
        self.stderr.lines().all(is_progress)
    }

    /// Whether stderr has neither an error nor a report of Rust's: nothing but progress.
    pub fn is_quiet_but_for_progress(&self) -> bool {
        let bad = ["error", "panicked", "RUST_BACKTRACE"];
        !bad.iter().any(|part| self.stderr.contains(part))
    }

    /// Asserts exit code 2 and one line on stderr with `parts`.
    #[track_caller]
    pub fn refused(&self, parts: &[&str]) {
        let lines = self.stderr.lines().count();
        assert!(self.code == 2 && lines == 1, "{self:?}");
        let has = |part: &&str| self.stderr.contains(*part);
        assert!(parts.iter().all(has), "{parts:?}: {}", self.stderr);
    }
}
