//! Compilers for checks.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use classroom::check::{Counter, Predictions};
use classroom::{Exercise, Failure, Language, Outcome, Part, Rustc, Tools, check};
use data::BadInput;

use crate::sim::nvrtc;

/// Checks submissions with a time limit.
pub struct Checker {
    rust: Rustc,
}

impl Checker {
    /// A checker with the time limit `limit` per submission.
    pub fn new(limit: Duration) -> Self {
        Self {
            rust: Rustc {
                limit,
                cargo: cli::own::Program::Workbook.cargo(),
            },
        }
    }

    /// Checks the submission in `file`; `first` are the learner's first predictions.
    pub fn check(
        &self,
        exercise: &Exercise,
        file: &Path,
        seed: u64,
        first: Option<&Predictions>,
    ) -> Outcome {
        check::check(exercise, file, &self.tools(), seed, first)
    }

    /// Counts the launches of the submission in `file`, which has passed, and of what it is compared with.
    pub fn counters(
        &self,
        exercise: &Exercise,
        file: &Path,
        seed: u64,
    ) -> Result<Vec<Counter>, BadInput> {
        check::counters(exercise, file, &self.tools(), seed)
    }

    fn tools(&self) -> Tools<'_> {
        Tools {
            cuda: &cuda,
            rust: &self.rust,
        }
    }

    /// Maximum time of a check.
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

/// The result of a single search for NVRTC.
static HAS_NVRTC: LazyLock<bool> = LazyLock::new(|| nvrtc::works().is_ok());

/// Compiles a text by NVRTC; an error in the text is the inner error, a missing NVRTC the outer.
fn cuda(path: &Path, text: &str) -> Result<Result<String, Failure>, BadInput> {
    match nvrtc::compile(path, text, "compute_75") {
        Ok(ptx) => Ok(Ok(ptx)),
        Err(bad) if nvrtc::is_missing(&bad) => Err(bad),
        Err(bad) => Ok(Err(refused(&bad))),
    }
}

/// Converts NVRTC's error: `FILE:7: error: …`.
fn refused(bad: &BadInput) -> Failure {
    let what = if bad.expected.is_empty() {
        format!("error: {}", bad.found)
    } else {
        format!("expected {}, found {}", bad.expected, bad.found)
    };
    Failure::new(Part::Text, &bad.what, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_nvrtc_error_names_its_line() {
        let line = |place, expected, found| refused(&BadInput::new(place, expected, found)).line;
        let found = "identifier \"y\" is undefined";
        let at_line = "my/14-sum.cu:7: error: identifier \"y\" is undefined";
        assert_eq!(line("my/14-sum.cu:7", "", found), at_line);
        assert_eq!(
            line("my/14-sum.cu", "CUDA", "NVRTC_ERROR"),
            "my/14-sum.cu: expected CUDA, found NVRTC_ERROR"
        );
    }
}
