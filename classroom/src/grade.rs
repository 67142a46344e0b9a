//! The grades of a folder of submissions, of one student or of many, as JSON and as JUnit.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use data::BadInput;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::{Deserialize, Serialize};

use crate::check::{Failure, Outcome, Part};
use crate::exercise::Exercise;

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

impl From<Result<(), Failure>> for Verdict {
    fn from(result: Result<(), Failure>) -> Self {
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
        outcome.map_or_else(|bad| Self::unchecked(bad.to_string()), Self::from)
    }
}

impl Verdict {
    /// Of a submission that cannot be checked on this machine.
    pub fn unchecked(why: String) -> Self {
        Self {
            passed: false,
            by: Some(UNCHECKED.into()),
            line: Some(why),
        }
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
    /// What came of it.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// How long the check took.
    pub seconds: f64,
}

/// Grades the submissions in `folder`, or in each folder in it where it holds none itself: one without any is a student
/// who has handed in nothing. `check` checks one.
///
/// # Errors
/// There is no submission.
pub fn grade(
    folder: &Path,
    exercises: &[Exercise],
    check: impl Fn(&Exercise, &Path) -> Verdict,
) -> Result<Vec<Grade>, BadInput> {
    let mut grades = vec![];
    for student in students(folder, exercises)? {
        let name = student.canonicalize().unwrap_or(student.clone());
        let name = name
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for exercise in exercises {
            let (path, start) = (student.join(exercise.file()), Instant::now());
            let verdict = match path.is_file() {
                true => check(exercise, &path),
                false => Err(Failure::new(
                    Part::Missing,
                    path.display(),
                    "expected a submission, found none",
                ))
                .into(),
            };
            grades.push(Grade {
                student: name.clone(),
                exercise: exercise.id.clone(),
                verdict,
                seconds: start.elapsed().as_secs_f64(),
            });
        }
    }
    Ok(grades)
}

fn students(folder: &Path, exercises: &[Exercise]) -> Result<Vec<PathBuf>, BadInput> {
    let holds = |folder: &Path| exercises.iter().any(|e| folder.join(e.file()).is_file());
    if holds(folder) {
        return Ok(vec![folder.to_path_buf()]);
    }
    let bad = |found: String| {
        BadInput::new(
            folder.display(),
            "a folder of submissions, or of students",
            found,
        )
    };
    let entries = fs::read_dir(folder).map_err(|e| bad(e.to_string()))?;
    let is_hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with('.');
    let mut students: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| !is_hidden(entry))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    students.sort();
    match students.iter().any(|student| holds(student)) {
        true => Ok(students),
        false => Err(bad("none".into())),
    }
}

/// JUnit: a suite a student, a case an exercise.
///
/// # Errors
/// What cannot be written as XML.
pub fn junit(grades: &[Grade]) -> Result<String, BadInput> {
    let mut report = Report::new("exercises");
    for grades in grades.chunk_by(|a, b| a.student == b.student) {
        let mut suite = TestSuite::new(&grades[0].student);
        for grade in grades {
            let mut case = TestCase::new(&grade.exercise, status(&grade.verdict));
            case.set_classname("exercises")
                .set_time(Duration::from_secs_f64(grade.seconds));
            suite.add_test_case(case);
        }
        report.add_test_suite(suite);
    }
    report
        .to_string()
        .map_err(|e| BadInput::new("JUnit", "grades that can be written", e))
}

fn status(verdict: &Verdict) -> TestCaseStatus {
    if verdict.passed {
        return TestCaseStatus::success();
    }
    let by = verdict.by.clone().unwrap_or_default();
    let kind = match by == UNCHECKED {
        true => NonSuccessKind::Error,
        false => NonSuccessKind::Failure,
    };
    let mut status = TestCaseStatus::non_success(kind);
    status
        .set_type(by)
        .set_message(verdict.line.clone().unwrap_or_default());
    status
}
