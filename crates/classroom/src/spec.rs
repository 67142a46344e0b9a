//! `exercise.toml` and `wrong.toml`: what an exercise is, and the mistakes that its check has to notice.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::source::Edit;

/// Names and sizes of a launch: rows = 3, columns = 100.
pub type Sizes = BTreeMap<String, u64>;

/// What the learner does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Writes what is missing.
    Write,
    /// Finds a fault that a real project had.
    FindTheBug,
    /// Finds out why one of two kernels with the same output is slower.
    Detective,
    /// Predicts what an optimisation brings, and finds that it costs.
    OptimisationThatLoses,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Write => "write",
            Self::FindTheBug => "find the bug",
            Self::Detective => "detective",
            Self::OptimisationThatLoses => "optimisation that loses",
        })
    }
}

/// `exercise.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// One line.
    pub title: String,
    /// Its place in the order in which the exercises are best done; its number where nothing is said.
    pub place: Option<u32>,
    /// The chapter of the book that it belongs to, `level3.md`.
    pub chapter: String,
    /// Of the syllabus, from 1.
    pub session: u8,
    /// Whether it is that session's graded task.
    #[serde(default)]
    pub graded: bool,
    /// Whether it is more than that session has time for.
    #[serde(default)]
    pub optional: bool,
    /// What it takes a learner who has read the chapter.
    pub minutes: u32,
    /// The level of optimization that it is about.
    pub level: u8,
    /// What the learner does.
    pub kind: Kind,
    /// What the learner can do afterwards.
    pub objective: String,
    /// From a nudge to nearly the answer.
    pub hints: [String; 3],
    /// What the check of an exercise in Rust holds a submission to, for people.
    #[serde(default)]
    pub checked: Vec<String>,
    /// An exercise about the same thing that needs less.
    pub sibling: Option<String>,
    /// The kernels of the file; none of an exercise in Rust.
    #[serde(default, rename = "kernel")]
    pub kernels: Vec<KernelSpec>,
    /// Of the launches.
    #[serde(default)]
    pub shapes: Shapes,
    /// What the counted launch may cost.
    #[serde(default, rename = "limit")]
    pub limits: Vec<Limit>,
    /// What the learner answers in the file.
    #[serde(default, rename = "question")]
    pub questions: Vec<Question>,
}

/// A kernel, how it is launched and what it has to compute.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSpec {
    /// Its name.
    pub entry: String,
    /// `--grid`, `--block` and `--smem` as `workbook sim` takes them. `{rows}` is a size; `{launch}` is the
    /// learner's line `// launch = …`.
    pub launch: String,
    /// One a parameter, as behind `--arg`.
    pub args: Vec<String>,
    /// The number of the argument that is written.
    pub output: usize,
    /// The name of the function that says what has to be written: see [`crate::oracles`].
    pub oracle: String,
    /// Of an element x of the output: tolerance · max(1, |x|).
    pub tolerance: f64,
}

/// The sizes of the launches.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shapes {
    /// At which only the result and the findings count.
    pub odd: Vec<Sizes>,
    /// At which it is counted what the kernel costs.
    pub counted: Sizes,
}

/// A bound of a counter.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// For people: `sectors a request`.
    pub what: String,
    /// Of which kernel; may be left out where there is one.
    pub entry: Option<String>,
    /// See [`crate::metric`].
    pub of: String,
    /// The greatest value.
    pub at_most: Option<f64>,
    /// The least.
    pub at_least: Option<f64>,
}

/// What the learner answers, in a line `// name = answer` of a region.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The name.
    pub name: String,
    /// For people.
    pub ask: String,
    /// What the counters say.
    pub truth: Truth,
}

/// Where the answer to a question comes from: always the counted launch, never this file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Truth {
    /// A number.
    Count {
        /// Of this kernel.
        entry: String,
        /// See [`crate::metric`].
        of: String,
    },
    /// Whether the first kernel has `more` than the second, `fewer`, or the `same`.
    Compare {
        /// Two names.
        entries: [String; 2],
        /// See [`crate::metric`].
        of: String,
    },
    /// The name of the kernel that has more.
    More {
        /// Two names.
        entries: [String; 2],
        /// See [`crate::metric`].
        of: String,
    },
    /// The line of the file whose instructions have the most.
    Line {
        /// Of this kernel.
        entry: String,
        /// A counter.
        of: String,
    },
    /// The metric in which the kernels differ by the greatest ratio.
    Reason {
        /// Two names.
        entries: [String; 2],
        /// See [`crate::metric`].
        of: Vec<String>,
    },
}

/// `wrong.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrongFile {
    /// The faults of the starter, where that is the solution with faults.
    #[serde(default)]
    pub starter: Vec<Edit>,
    /// Each a plausible mistake.
    pub wrong: Vec<Wrong>,
    /// Other ways to do it, which the check has to accept.
    #[serde(default)]
    pub right: Vec<Right>,
}

/// Another right solution: this project's, changed in one place.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Right {
    /// What is different.
    pub what: String,
    /// Stands in the solution just once.
    pub replace: String,
    /// What stands there instead.
    pub with: String,
}

/// A plausible wrong solution: the right one, changed in one place.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    /// What is wrong with it.
    pub what: String,
    /// Stands in the solution just once.
    pub replace: String,
    /// What stands there instead.
    pub with: String,
    /// The part of the check that rejects it: `output`, `limit`, `race` …
    pub caught_by: String,
}
