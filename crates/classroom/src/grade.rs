//! The grades of submissions, as JSON has them.

use serde::{Deserialize, Serialize};

use crate::check::{Failure, Outcome, Part, Predictions};
use crate::class::NotGraded;
use crate::printed::printable;

/// What a check came to, as one process tells it to another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Verdict {
    /// Whether the exercise is solved.
    pub passed: bool,
    /// The part of the check that rejected it; `unchecked` where it could not be checked here.
    pub by: Option<String>,
    /// What is wrong and where.
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
    /// Of a submission that cannot be checked on this machine.
    pub fn unchecked(why: &str) -> Self {
        Self {
            passed: false,
            by: Some(UNCHECKED.into()),
            line: Some(printable(&why.replace('\n', " "))),
        }
    }

    /// Whether it is such a one.
    pub fn is_unchecked(&self) -> bool {
        self.by.as_deref() == Some(UNCHECKED)
    }
}

const UNCHECKED: &str = "unchecked";

/// The grade of one exercise.
#[derive(Debug, Clone, Serialize)]
pub struct Grade {
    /// The folder of the student.
    pub student: String,
    /// The exercise's id.
    pub exercise: String,
    /// Whether it is the graded task of its session.
    pub graded: bool,
    /// What came of it.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Of the random numbers of the check.
    pub seed: u64,
    /// How long the check took.
    pub seconds: f64,
    /// How many hints were taken, where the learner's progress lies beside the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints_used: Option<usize>,
    /// What was predicted first, where that is kept there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_prediction: Option<Predictions>,
}

impl Grade {
    /// `barriers = 16, busy = 1`: what was predicted first.
    pub fn predicted(&self) -> Option<String> {
        let predictions = self.first_prediction.as_ref()?.iter();
        let each = predictions.map(|(name, said)| format!("{name} = {said}"));
        // The student's file has them.
        Some(printable(&each.collect::<Vec<_>>().join(", ")))
    }

    /// Whether nothing was handed in.
    pub fn is_missing(&self) -> bool {
        self.verdict.by == Some(Part::Missing.to_string())
    }
}

/// All that `grade` found.
#[derive(Debug, Clone, Serialize)]
pub struct Grades {
    /// Student by student.
    pub grades: Vec<Grade>,
    /// What was left out.
    pub not_graded: Vec<NotGraded>,
}
