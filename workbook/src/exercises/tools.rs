//! The compilers that checks need.

use std::path::Path;
use std::time::Duration;

use classroom::{Exercise, Language, Outcome, Rustc, Tools, check};
use cli::files;
use data::BadInput;

use crate::sim::nvrtc;

/// Checks submissions, each for as long as it may run.
pub struct Checker {
    rust: Rustc,
}

impl Checker {
    /// Compiles nothing yet.
    pub fn new(limit: Duration) -> Result<Self, BadInput> {
        let prelude = files::find("exercises/prelude/Cargo.toml")?;
        let repository = prelude.ancestors().nth(3).unwrap_or(Path::new(""));
        // An empty path is the current folder.
        let repository = Path::new(".").join(repository);
        Ok(Self {
            rust: Rustc::new(&repository, limit),
        })
    }

    /// Checks the submission in `file`.
    pub fn check(&self, exercise: &Exercise, file: &Path, seed: u64) -> Outcome {
        if exercise.language == Language::Rust && !self.rust.is_built() {
            eprintln!("building candle for the exercises in Rust: once, and it takes minutes");
        }
        let tools = Tools {
            cuda: &cuda,
            rust: &self.rust,
        };
        check::check(exercise, file, &tools, seed)
    }

    /// What a check may take at the most.
    pub fn longest(&self, exercise: &Exercise) -> Duration {
        match exercise.language {
            Language::Rust => self.rust.longest(),
            _ => self.rust.limit(),
        }
    }

    /// Builds what all exercises in Rust need, so that it is no submission's time.
    pub fn prepare(&self, exercises: &[Exercise]) -> Result<(), BadInput> {
        match exercises.iter().any(|e| e.language == Language::Rust) {
            true => self.rust.library().map(|_| ()),
            false => Ok(()),
        }
    }
}

/// What NVRTC makes of a text; its complaint about the text is the inner error, its absence the outer.
fn cuda(path: &Path, text: &str) -> Result<Result<String, String>, BadInput> {
    match nvrtc::compile(path, text, "compute_75") {
        Ok(ptx) => Ok(Ok(ptx)),
        Err(bad) if nvrtc::is_missing(&bad) => Err(bad),
        Err(bad) => Ok(Err(format!(
            "expected {}, found {}",
            bad.expected, bad.found
        ))),
    }
}
