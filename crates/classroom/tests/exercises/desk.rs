//! A folder and tools to check submissions.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use classroom::check::{Counter, Predictions};
use classroom::{Exercise, Failure, Language, Outcome, Rustc, Tools, check, exercise};
use data::BadInput;
use tempfile::TempDir;

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn all() -> Vec<Exercise> {
    let mut all = exercise::all(&repository().join("exercises")).unwrap();
    if let Ok(only) = std::env::var("CANDLEPOWER_EXERCISE") {
        all.retain(|e| e.id.contains(&only));
    }
    all
}

fn no_cuda(path: &Path, _: &str) -> Result<Result<String, Failure>, BadInput> {
    Err(BadInput::new(path.display(), "NVRTC", "none"))
}

/// A folder for submissions, and the tools of checks.
pub struct Desk {
    folder: TempDir,
    rust: Rustc,
}

impl Desk {
    pub fn new() -> Self {
        Self::with_limit(Duration::from_secs(20))
    }

    pub fn with_limit(limit: Duration) -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            rust: Rustc {
                limit,
                cargo: ["test", "--no-run", "-p", "classroom"]
                    .map(String::from)
                    .into(),
            },
        }
    }

    /// Checks a submission; `name` tells submissions of one exercise apart.
    pub fn check(&self, exercise: &Exercise, name: &str, text: impl AsRef<[u8]>) -> Outcome {
        self.check_after(None, exercise, name, text)
    }

    /// The same for a learner with the first predictions `first`.
    pub fn check_after(
        &self,
        first: Option<&Predictions>,
        exercise: &Exercise,
        name: &str,
        text: impl AsRef<[u8]>,
    ) -> Outcome {
        let path = self.written(exercise, name, text);
        check::check(exercise, &path, &self.tools(), rand::random(), first)
    }

    /// The counters of a submission that passes.
    pub fn counters(&self, exercise: &Exercise, text: &str) -> Result<Vec<Counter>, BadInput> {
        let path = self.written(exercise, "counters", text);
        check::counters(exercise, &path, &self.tools(), rand::random())
    }

    fn written(&self, exercise: &Exercise, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let folder = self.folder.path().join(format!("{}-{name}", exercise.id));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(exercise.file());
        fs::write(&path, text).unwrap();
        path
    }

    fn tools(&self) -> Tools<'_> {
        Tools {
            cuda: &no_cuda,
            rust: &self.rust,
        }
    }
}

/// Exercises without CUDA; those in CUDA are checked by the tests of the command, which has the compiler.
pub fn here() -> Vec<Exercise> {
    all()
        .into_iter()
        .filter(|e| e.language != Language::Cuda)
        .collect()
}

pub fn solution(exercise: &Exercise) -> &str {
    exercise.solution.as_deref().unwrap()
}
