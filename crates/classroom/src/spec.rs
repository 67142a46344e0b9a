//! `exercise.toml` and `wrong.toml`: an exercise, and the mistakes that its check must reject.

use std::collections::BTreeMap;
use std::fmt;

use data::BadInput;
use serde::{Deserialize, Serialize};

use crate::oracles;
use crate::source::Edit;

/// Names and sizes of a launch: rows = 3, columns = 100.
pub type Sizes = BTreeMap<String, u64>;

/// Number of hints of an exercise that has any.
pub const HINTS: usize = 3;

/// The learner's task in an exercise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Writes missing code.
    Write,
    /// Finds a bug of a real project.
    FindTheBug,
    /// Finds out why one of two kernels with equal output is slower.
    Detective,
    /// Predicts the gain of an optimisation that turns out to be slower.
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
    /// Title, in one line.
    pub title: String,
    /// The book chapter that it belongs to, such as `level3.md`.
    pub chapter: String,
    /// Session of the syllabus, from 1.
    pub session: u8,
    /// Whether it is its session's graded task.
    #[serde(default)]
    pub graded: bool,
    /// Whether it is optional, beyond the session's time.
    #[serde(default)]
    pub optional: bool,
    /// Minutes that a learner needs after reading the chapter.
    pub minutes: u32,
    /// The level of optimisation that it is about.
    pub level: u8,
    /// The learner's task.
    pub kind: Kind,
    /// Ability that the learner has afterwards.
    pub objective: String,
    /// Start of the `what` of a wrong solution that only costs too much: its counters stand next to the learner's. Without
    /// it, the starter's do.
    pub before: Option<String>,
    /// Three hints, from a nudge to nearly the solution; none in a handout without hints.
    #[serde(default)]
    pub hints: Vec<String>,
    /// Descriptions of what a Rust exercise's check tests.
    #[serde(default)]
    pub checked: Vec<String>,
    /// Function that a Rust exercise gives the learner because its check counts the calls, such as `exp`.
    pub counted: Option<String>,
    /// An easier exercise on the same topic.
    pub sibling: Option<String>,
    /// Kernels of the file; empty for Rust.
    #[serde(default, rename = "kernel")]
    pub kernels: Vec<KernelSpec>,
    /// Sizes of the launches.
    #[serde(default)]
    pub shapes: Shapes,
    /// Limits on the counted launch.
    #[serde(default, rename = "limit")]
    pub limits: Vec<Limit>,
    /// Questions that the learner answers in the file.
    #[serde(default, rename = "question")]
    pub questions: Vec<Question>,
    /// Text for a learner who has passed.
    pub debrief: Option<Debrief>,
}

/// Text for a learner who has passed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Debrief {
    /// The idea, in about two sentences.
    pub idea: String,
    /// A file of the repository that uses the idea: `kernels/src/rms_norm/level3.ptx`.
    pub file: String,
    /// A line of that file, without the spaces around it; it occurs there exactly once.
    pub line: String,
    /// The next thing to read, as a link from a chapter: `[matmul at level 4](level4.md#matmul)`.
    pub next: String,
}

impl Spec {
    /// Checks what the types leave open.
    ///
    /// # Errors
    /// The first value that no exercise can have.
    pub fn check(&self) -> Result<(), BadInput> {
        if ![0, HINTS].contains(&self.hints.len()) {
            return Err(BadInput::new("hints", "three, or none", self.hints.len()));
        }
        for kernel in &self.kernels {
            let of = |key: &str| format!("kernel {}: {key}", kernel.entry);
            let tolerance = kernel.tolerance;
            if !(tolerance.is_finite() && tolerance >= 0.) {
                return Err(BadInput::new(
                    of("tolerance"),
                    "a number from 0 on",
                    tolerance,
                ));
            }
            if kernel.output >= kernel.args.len() {
                let expected = format!("the index of one of {} arguments", kernel.args.len());
                return Err(BadInput::new(of("output"), expected, kernel.output));
            }
            if kernel.launch.contains("--arg") || kernel.launch.contains("--entry") {
                let expected = "only --grid, --block and --smem";
                return Err(BadInput::new(of("launch"), expected, &kernel.launch));
            }
            let output = &kernel.args[kernel.output];
            if !output.contains(":poison") {
                let expected =
                    "the index of an argument with `poison`, which shows what no thread writes";
                return Err(BadInput::new(of("output"), expected, format!("`{output}`")));
            }
            let mistakes = kernel.mistakes.iter().map(|mistake| &mistake.oracle);
            for oracle in std::iter::once(&kernel.oracle).chain(mistakes) {
                oracles::by_name(oracle)
                    .map_err(|bad| BadInput::new(of("oracle"), bad.expected, bad.found))?;
            }
        }
        for limit in &self.limits {
            let bounds = [limit.at_most, limit.at_least];
            let odd = bounds
                .into_iter()
                .flatten()
                .find(|bound| !bound.is_finite());
            if odd.is_some() || bounds == [None, None] {
                let what = format!("limit \"{}\": at_most or at_least", limit.what);
                let found = odd.map_or("none".into(), |bound| bound.to_string());
                return Err(BadInput::new(what, "a finite number", found));
            }
            if let [Some(most), Some(least)] = bounds
                && least > most
            {
                let what = format!("limit \"{}\": at_least", limit.what);
                return Err(BadInput::new(what, format!("at most {most}"), least));
            }
        }
        let of_limits = self.limits.iter().map(|limit| &limit.of);
        let of_questions = self.questions.iter().flat_map(|q| q.truth.formulas());
        (of_limits.chain(of_questions)).try_for_each(|formula| self.check_formula(formula))?;
        let limits = self.limits.iter().filter_map(|limit| limit.entry.as_ref());
        let questions = self
            .questions
            .iter()
            .flat_map(|question| question.truth.entries());
        let is_unknown = |entry: &&String| self.kernels.iter().all(|k| k.entry != **entry);
        if let Some(entry) = limits.chain(questions).find(is_unknown) {
            let known: Vec<&str> = self.kernels.iter().map(|k| k.entry.as_str()).collect();
            let expected = format!("one of {}", known.join(", "));
            return Err(BadInput::new(
                "entry of a limit or a question",
                expected,
                entry,
            ));
        }
        Ok(())
    }

    /// Checks the numbers and the sizes of a formula, which no submission changes.
    fn check_formula(&self, formula: &str) -> Result<(), BadInput> {
        let mut before = "";
        for word in formula.split_whitespace() {
            let size = self.shapes.counted.get(word).map(|&size| size as f64);
            let number = size.or_else(|| word.parse().ok());
            if number.is_some_and(|x| !x.is_finite() || before == "/" && x == 0.) {
                let expected = "finite numbers, and a division by none that is 0";
                return Err(BadInput::new(
                    format!("formula `{formula}`"),
                    expected,
                    word,
                ));
            }
            before = word;
        }
        Ok(())
    }
}

impl Truth {
    /// Its formulas.
    fn formulas(&self) -> &[String] {
        match self {
            Self::Count { of, .. }
            | Self::Compare { of, .. }
            | Self::More { of, .. }
            | Self::Line { of, .. } => std::slice::from_ref(of),
            Self::Reason { of, .. } => of,
        }
    }

    /// Names of the kernels whose launches it looks at.
    fn entries(&self) -> &[String] {
        match self {
            Self::Count { entry, .. } | Self::Line { entry, .. } => std::slice::from_ref(entry),
            Self::Compare { entries, .. }
            | Self::More { entries, .. }
            | Self::Reason { entries, .. } => entries,
        }
    }
}

/// A kernel with its launch and its oracle.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSpec {
    /// Name of the kernel.
    pub entry: String,
    /// `--grid`, `--block` and `--smem` as for `workbook sim`. `{rows}` stands for a size, `{launch}` for the
    /// learner's line `// launch = …`.
    pub launch: String,
    /// One argument per parameter, as for `--arg`.
    pub args: Vec<String>,
    /// Index of the output argument.
    pub output: usize,
    /// Name of the oracle: see [`crate::oracles`].
    pub oracle: String,
    /// Tolerance of an output element x, as a multiple of max(1, |x|).
    pub tolerance: f64,
    /// Mistakes that are recognised by their result.
    #[serde(default, rename = "mistake")]
    pub mistakes: Vec<Mistake>,
}

/// A mistake with its oracle.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mistake {
    /// Name of the oracle of the wrong result.
    pub oracle: String,
    /// The mistake, for the learner.
    pub what: String,
}

/// The sizes of the launches.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shapes {
    /// Sizes for checks of findings and results only.
    pub odd: Vec<Sizes>,
    /// Sizes for checks of cost.
    pub counted: Sizes,
}

/// A limit on a counter.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Description: `sectors per request`.
    pub what: String,
    /// Name of the kernel; optional if there is only one.
    pub entry: Option<String>,
    /// Formula: see [`crate::metric`].
    pub of: String,
    /// Maximum value.
    pub at_most: Option<f64>,
    /// Minimum value.
    pub at_least: Option<f64>,
}

/// A question that the learner answers in a line `// name = answer` of a region.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Name in the answer's line.
    pub name: String,
    /// Text of the question.
    pub ask: String,
    /// Source of the right answer.
    pub truth: Truth,
}

/// Source of the right answer: always the counted launch, never this file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Truth {
    /// The value of a formula.
    Count {
        /// Name of the kernel.
        entry: String,
        /// Formula: see [`crate::metric`].
        of: String,
    },
    /// Whether the first kernel has `more` than the second, `fewer`, or the `same`.
    Compare {
        /// Names of the two kernels.
        entries: [String; 2],
        /// Formula: see [`crate::metric`].
        of: String,
    },
    /// The name of the kernel that has more.
    More {
        /// Names of the two kernels.
        entries: [String; 2],
        /// Formula: see [`crate::metric`].
        of: String,
    },
    /// The line of the file with the maximum of a counter.
    Line {
        /// Name of the kernel.
        entry: String,
        /// Name of the counter.
        of: String,
    },
    /// The metric with the largest ratio between the kernels.
    Reason {
        /// Names of the two kernels.
        entries: [String; 2],
        /// Formulas: see [`crate::metric`].
        of: Vec<String>,
    },
}

/// Contents of `wrong.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrongFile {
    /// Defects of the starter, if it is the solution with defects.
    #[serde(default)]
    pub starter: Vec<Edit>,
    /// Plausible wrong solutions.
    pub wrong: Vec<Wrong>,
    /// Other right solutions, which the check must accept.
    #[serde(default)]
    pub right: Vec<Right>,
}

/// Another right solution, as an edit of this project's.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Right {
    /// Description of the difference.
    pub what: String,
    /// The text to replace, which must occur exactly once in the solution.
    pub replace: String,
    /// The replacement.
    pub with: String,
}

/// A plausible wrong solution, as an edit of the right one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    /// Description of the mistake.
    pub what: String,
    /// The text to replace, which must occur exactly once in the solution.
    pub replace: String,
    /// The replacement.
    pub with: String,
    /// The part of the check that must reject it: `output`, `limit`, `race` …
    pub caught_by: String,
}
