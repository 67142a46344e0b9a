//! Whether a submission solves its exercise; if not, one line says what is wrong and where.

mod kernel;
mod limits;
pub mod process;
mod questions;
mod rust;
mod words;

use std::fmt;
use std::fs;
use std::path::Path;

use data::BadInput;
use serde::{Serialize, Serializer};
use simt::Class;

pub use limits::short;
pub use questions::{Predictions, options, predictions};
pub use rust::{Rustc, TO_COMPILE};
pub use words::forbidden;

use crate::exercise::{Exercise, Language};
use crate::printed::printable;
use crate::source::{compare, unended};

/// The part of a check that rejected a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The file differs from the starter outside of its regions.
    Outside,
    /// It does not parse or compile, its launch is none, or it has a word that no submission may have.
    Text,
    /// The simulator found a fault of this class.
    Finding(Class),
    /// A wrong result.
    Output,
    /// It costs too much.
    Limit,
    /// An answer or a prediction is wrong.
    Question,
    /// The check of an exercise in Rust.
    Check,
    /// It ran too long.
    Time,
    /// It ended before the check did.
    Crash,
    /// There is no file.
    Missing,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Finding(class) => return class.fmt(f),
            Self::Outside => "outside",
            Self::Text => "text",
            Self::Output => "output",
            Self::Limit => "limit",
            Self::Question => "question",
            Self::Check => "check",
            Self::Time => "time",
            Self::Crash => "crash",
            Self::Missing => "missing",
        })
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why a submission is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The part of the check.
    pub by: Part,
    /// What is wrong and where, in one line.
    pub line: String,
    /// What else a learner may want to see.
    pub notes: Notes,
}

/// Lines for a learner's eyes: what the submission printed, or what was counted beside what was predicted.
pub type Notes = Vec<String>;

impl Failure {
    /// A failure at `place`; newlines become blanks.
    pub fn new(by: Part, place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::of_line(by, &format!("{place}: {what}"))
    }

    /// A failure whose line has its place already.
    pub fn of_line(by: Part, line: &str) -> Self {
        let words: Vec<&str> = line.split_whitespace().collect();
        Self {
            by,
            line: printable(&words.join(" ")),
            notes: vec![],
        }
    }
}

/// What a check comes to; bad input, such as a file or a compiler that is not there, is neither.
pub type Outcome = Result<Result<Notes, Failure>, BadInput>;

/// PTX of the CUDA text of a file; the inner error is the compiler's first, at its line.
pub type Compile<'a> =
    &'a (dyn Fn(&Path, &str) -> Result<Result<String, Failure>, BadInput> + Sync);

/// What checks need besides the simulator.
#[derive(Clone, Copy)]
pub struct Tools<'a> {
    /// For exercises in CUDA.
    pub cuda: Compile<'a>,
    /// For exercises in Rust.
    pub rust: &'a Rustc,
}

/// Checks the submission in `path` with numbers from `seed`; `first` are the predictions with which its learner began.
///
/// # Errors
/// The file cannot be read, or a compiler that it needs is not there.
pub fn check(
    exercise: &Exercise,
    path: &Path,
    tools: &Tools,
    seed: u64,
    first: Option<&Predictions>,
) -> Outcome {
    let bytes = match read(path)? {
        Ok(bytes) => bytes,
        Err(what) => return Ok(Err(Failure::new(Part::Text, path.display(), what))),
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let offset = error.utf8_error().valid_up_to();
            let what = format!("expected UTF-8 text, found other bytes at offset {offset}");
            return Ok(Err(Failure::new(Part::Text, path.display(), what)));
        }
    };
    // Some editors begin a file with a mark of its encoding.
    let text = text.trim_start_matches('\u{feff}');
    if let Some((line, found)) = unended(text) {
        let place = format!("{}:{line}", path.display());
        let what = format!("expected `// END` after the region that begins here, found {found}");
        return Ok(Err(Failure::new(Part::Outside, place, what)));
    }
    if let Err(changed) = compare(text, &exercise.starter) {
        let what = format!(
            "expected `{}` as in the starter (nothing may change outside the regions), found `{}`",
            changed.expected, changed.found
        );
        let place = format!("{}:{}", path.display(), changed.line);
        return Ok(Err(Failure::new(Part::Outside, place, what)));
    }
    if exercise.language == Language::Ptx
        && let Some(line) = text.lines().position(|line| !line.is_ascii())
    {
        let place = format!("{}:{}", path.display(), line + 1);
        let what = "expected only ASCII, even in comments, because ptxas and the drivers accept nothing else";
        return Ok(Err(Failure::new(Part::Text, place, what)));
    }
    if let Some((line, what)) = words::refused(text, exercise.language) {
        let place = format!("{}:{line}", path.display());
        return Ok(Err(Failure::new(Part::Text, place, what)));
    }
    match exercise.language {
        Language::Rust => tools.rust.check(exercise, path, seed),
        Language::Ptx => kernel::check(exercise, path, text, text, seed, first),
        Language::Cuda => match (tools.cuda)(path, text)? {
            Ok(ptx) => kernel::check(exercise, path, text, &ptx, seed, first),
            Err(failure) => Ok(Err(failure)),
        },
    }
}

/// Bytes of a submission: tens of times the longest solution. More would be a text that takes long to read.
const MOST_BYTES: u64 = 1 << 18;

/// The bytes of a submission, or why it is none.
fn read(path: &Path) -> Result<Result<Vec<u8>, String>, BadInput> {
    let bad = |e| BadInput::unreadable(path, &e);
    let data = fs::metadata(path).map_err(bad)?;
    if !data.is_file() {
        return Ok(Err("expected a file, found something else".into()));
    }
    if data.len() > MOST_BYTES {
        let found = data.len();
        let what = format!("expected at most {MOST_BYTES} bytes, found {found}");
        return Ok(Err(what));
    }
    fs::read(path).map(Ok).map_err(bad)
}
