//! Grades of submissions, in their JSON form.

use serde::{Deserialize, Serialize};

use crate::check::{Failure, Outcome, Part, Predictions};
use crate::class::NotGraded;
use crate::printed::printable;

/// The result of a check, as one process passes it to another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Verdict {
    /// Whether the exercise is solved.
    pub passed: bool,
    /// The part of the check that rejected it; `unchecked` if it could not be checked here.
    pub by: Option<String>,
    /// The problem and its location.
    pub line: Option<String>,
}

impl<T> From<Result<T, Failure>> for Verdict {
    fn from(result: Result<T, Failure>) -> Self {
        let failure = result.err();
        Self {
            passed: failure.is_none(),
            by: failure.as_ref().map(|f| f.by.to_string()),
            line: failure.map(|f| f.line),
        }
    }
}

impl From<Outcome> for Verdict {
    fn from(outcome: Outcome) -> Self {
        outcome.map_or_else(|bad| Self::unchecked(&bad.to_string()), Self::from)
    }
}

impl Verdict {
    /// The verdict on a submission that cannot be checked on this machine.
    pub fn unchecked(why: &str) -> Self {
        Self {
            passed: false,
            by: Some(UNCHECKED.into()),
            line: Some(printable(&why.replace('\n', " "))),
        }
    }

    /// Whether it could not be checked on this machine.
    pub fn is_unchecked(&self) -> bool {
        self.by.as_deref() == Some(UNCHECKED)
    }
}

const UNCHECKED: &str = "unchecked";

/// The grade of one exercise.
#[derive(Debug, Clone, Serialize)]
pub struct Grade {
    /// Name of the student's folder.
    pub student: String,
    /// Id of the exercise.
    pub exercise: String,
    /// Whether it is its session's graded task.
    pub graded: bool,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Seed of the check's random numbers.
    pub seed: u64,
    /// Duration of the check in seconds.
    pub seconds: f64,
    /// Number of hints used, if the learner's progress is next to the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints_used: Option<usize>,
    /// The first predictions, if the progress has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_prediction: Option<Predictions>,
}

impl Grade {
    /// Formats the first predictions: `barriers = 16, busy = 1`.
    pub fn predicted(&self) -> Option<String> {
        let predictions = self.first_prediction.as_ref()?.iter();
        let each = predictions.map(|(name, said)| format!("{name} = {said}"));
        // The text is from the student's file.
        Some(printable(&each.collect::<Vec<_>>().join(", ")))
    }

    /// Whether the submission is missing.
    pub fn is_missing(&self) -> bool {
        self.verdict.by == Some(Part::Missing.to_string())
    }
}

/// All results of `grade`.
#[derive(Debug, Clone, Serialize)]
pub struct Grades {
    /// Whether these are all; the file is written after each check.
    pub complete: bool,
    /// Grades by student.
    pub grades: Vec<Grade>,
    /// Files that were not graded.
    pub not_graded: Vec<NotGraded>,
}
