//! Grades as JUnit XML, for other systems.

use std::collections::BTreeSet;
use std::time::Duration;

use data::BadInput;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::class::NotGraded;
use crate::grade::{Grade, Grades, Verdict};

/// Formats one suite per student with one case per exercise, and one suite of ungraded files.
///
/// # Errors
/// A text cannot be written as XML.
pub fn junit(grades: &Grades) -> Result<String, BadInput> {
    let Grades {
        grades, not_graded, ..
    } = grades;
    let mut report = Report::new("exercises");
    for grades in grades.chunk_by(|a, b| a.student == b.student) {
        let mut suite = TestSuite::new(&grades[0].student);
        suite.add_property(("seed", grades[0].seed.to_string().as_str()));
        suite.add_test_cases(grades.iter().map(case));
        report.add_test_suite(suite);
    }
    if !not_graded.is_empty() {
        let students = grades.iter().map(|grade| grade.student.as_str()).collect();
        report.add_test_suite(left_out(&unused(&students), not_graded));
    }
    report
        .to_string()
        .map_err(|e| BadInput::new("JUnit", "grades that can be written", e))
}

fn case(grade: &Grade) -> TestCase {
    let mut case = TestCase::new(&grade.exercise, status(&grade.verdict));
    case.set_classname("exercises")
        .set_time(Duration::from_secs_f64(grade.seconds))
        .add_property(("graded", grade.graded.to_string().as_str()));
    if let Some(hints) = grade.hints_used {
        case.add_property(("hints_used", hints.to_string().as_str()));
    }
    if let Some(first) = grade.predicted() {
        case.add_property(("first_prediction", first.as_str()));
    }
    case
}

/// A name of a suite that no student has.
fn unused(students: &BTreeSet<&str>) -> String {
    let mut name = "not graded".to_owned();
    while students.contains(&*name) {
        name += " (files)";
    }
    name
}

/// A suite of skipped files.
fn left_out(name: &str, not_graded: &[NotGraded]) -> TestSuite {
    let mut suite = TestSuite::new(name);
    for NotGraded { file, why } in not_graded {
        let mut status = TestCaseStatus::skipped();
        status.set_message(why.as_str());
        suite.add_test_case(TestCase::new(file.as_str(), status));
    }
    suite
}

fn status(verdict: &Verdict) -> TestCaseStatus {
    if verdict.passed {
        return TestCaseStatus::success();
    }
    let kind = if verdict.is_unchecked() {
        NonSuccessKind::Error
    } else {
        NonSuccessKind::Failure
    };
    let mut status = TestCaseStatus::non_success(kind);
    status
        .set_type(verdict.by.clone().unwrap_or_default())
        .set_message(verdict.line.clone().unwrap_or_default());
    status
}

#[test]
fn no_student_shares_a_suite_with_the_files_that_are_not_graded() {
    assert_eq!(unused(&["ada"].into()), "not graded");
    let students = ["not graded", "not graded (files)"];
    assert_eq!(unused(&students.into()), "not graded (files) (files)");
}
