//! Checks a submission; a failure is one line that names the problem and its location.

mod counters;
mod items;
mod kernel;
mod limits;
pub mod process;
mod questions;
mod rust;
mod whole;
mod words;

use std::fmt;
use std::fs;
use std::path::Path;

use data::BadInput;
use serde::{Serialize, Serializer};
use simt::Class;

pub use counters::{Counter, costs_before, counters};
pub use kernel::named;
pub use limits::short;
pub use questions::{Predictions, options, predictions, valid};
pub use rust::{KNOWN, Rustc, TO_COMPILE, keeps_out, libraries, out_of_reach};
pub use words::forbidden;

use crate::exercise::{Exercise, Language};
use crate::printed::printable;
use crate::source::{compare, unended};

/// The part of a check that rejected a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The file differs from the starter outside its regions.
    Outside,
    /// It does not parse or compile, its launch is invalid, or it uses a forbidden word.
    Text,
    /// The simulator has a finding of this class.
    Finding(Class),
    /// A wrong result.
    Output,
    /// It exceeds a limit.
    Limit,
    /// An answer or a prediction is wrong.
    Question,
    /// The check of an exercise in Rust.
    Check,
    /// It exceeds its time limit.
    Time,
    /// It ended before the check did.
    Crash,
    /// The file is missing.
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

/// The reason why a submission is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The part of the check.
    pub by: Part,
    /// The problem and its location, in one line.
    pub line: String,
    /// Further information for the learner.
    pub notes: Notes,
}

/// Maximum bytes of a failure's line, which a submission may have printed.
const LONGEST_LINE: usize = 4096;

/// Lines for the learner: output of the submission, or counters next to predictions.
pub type Notes = Vec<String>;

impl Failure {
    /// A failure at `place`; newlines become spaces.
    pub fn new(by: Part, place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::of_line(by, &format!("{place}: {what}"))
    }

    /// A failure whose line already has its location.
    pub fn of_line(by: Part, line: &str) -> Self {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut line = printable(&words.join(" "));
        if line.len() > LONGEST_LINE {
            line.truncate(line.floor_char_boundary(LONGEST_LINE));
            line.push('…');
        }
        Self {
            by,
            line,
            notes: vec![],
        }
    }
}

/// The result of a check. Bad input, such as a missing file or compiler, is neither success nor failure.
pub type Outcome = Result<Result<Notes, Failure>, BadInput>;

/// Compiles a file's CUDA text to PTX; the inner error is the compiler's first, with its line.
pub type Compile<'a> =
    &'a (dyn Fn(&Path, &str) -> Result<Result<String, Failure>, BadInput> + Sync);

/// Tools that checks need in addition to the simulator.
#[derive(Clone, Copy)]
pub struct Tools<'a> {
    /// The CUDA compiler.
    pub cuda: Compile<'a>,
    /// The Rust compiler.
    pub rust: &'a Rustc,
}

/// Checks the submission in `path` with random numbers from `seed`; `first` are the learner's first
/// predictions.
///
/// # Errors
/// The file cannot be read, or a compiler is missing.
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
    // Some editors write a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        let what = "the file is empty";
        return Ok(Err(Failure::new(Part::Outside, path.display(), what)));
    }
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
    if exercise.language != Language::Rust
        && let Some((line, what)) = whole::refused(text, exercise.language)
    {
        let place = format!("{}:{line}", path.display());
        return Ok(Err(Failure::new(Part::Outside, place, what)));
    }
    match exercise.language {
        Language::Rust => {
            let refused = items::refused(text, exercise.spec.counted.as_deref())
                .map_err(|e| BadInput::new("a thread", "one", e))?;
            let failure = |refused: &items::Refused| {
                let place = format!("{}:{}", path.display(), refused.line);
                Ok(Err(Failure::new(refused.by, place, &refused.what)))
            };
            if let Some(refused) = refused.as_ref().filter(|refused| refused.parses) {
                return failure(refused);
            }
            let outcome = tools.rust.check(exercise, path, text, seed)?;
            match (outcome, &refused) {
                // rustc reads what `syn` does not; it is refused all the same.
                (Ok(_), Some(refused)) => failure(refused),
                (outcome, _) => Ok(outcome),
            }
        }
        Language::Ptx => kernel::check(exercise, path, text, text, seed, first)
            .map_err(|bad| exercise.in_toml(bad)),
        Language::Cuda => match (tools.cuda)(path, text)? {
            Ok(ptx) => kernel::check(exercise, path, text, &ptx, seed, first)
                .map_err(|bad| exercise.in_toml(bad)),
            Err(failure) => Ok(Err(failure)),
        },
    }
}

/// Maximum bytes of a submission: tens of times the longest solution.
const MOST_BYTES: u64 = 1 << 18;

/// Reads the bytes of a submission, or returns why the file is none.
fn read(path: &Path) -> Result<Result<Vec<u8>, String>, BadInput> {
    let file = fs::metadata(path).map_err(|e| BadInput::unreadable(path, &e))?;
    if !file.is_file() {
        return Ok(Err(format!("expected a file, found {}", data::kind(&file))));
    }
    if file.len() > MOST_BYTES {
        let found = file.len();
        let what = format!("expected at most {MOST_BYTES} bytes, found {found}");
        return Ok(Err(what));
    }
    data::read_file(path, MOST_BYTES).map(Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_an_end() {
        let line = |length| Failure::of_line(Part::Crash, &"ä".repeat(length)).line;
        assert_eq!(line(2048), "ä".repeat(2048));
        assert_eq!(line(1 << 20), format!("{}…", "ä".repeat(2048)));
    }
}
