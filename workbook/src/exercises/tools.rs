//! The compilers that checks need.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use classroom::{Exercise, Language, Outcome, Rustc, Tools, check};
use data::BadInput;

use crate::sim::nvrtc;

/// Checks submissions, each for as long as it may run.
pub struct Checker {
    rust: Rustc,
}

impl Checker {
    /// For submissions that may run for `limit`.
    pub fn new(limit: Duration) -> Self {
        Self {
            rust: Rustc { limit },
        }
    }

    /// Checks the submission in `file`.
    pub fn check(&self, exercise: &Exercise, file: &Path, seed: u64) -> Outcome {
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
            Language::Ptx | Language::Cuda => self.rust.limit,
        }
    }
}

/// Whether an exercise can be checked on this machine.
pub fn can_check(exercise: &Exercise) -> bool {
    exercise.language != Language::Cuda || *HAS_NVRTC
}

/// Looked for once.
static HAS_NVRTC: LazyLock<bool> = LazyLock::new(|| nvrtc::works().is_ok());

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
