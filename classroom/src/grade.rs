//! The grades of a folder of submissions, of one student or of many, as JSON and as JUnit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use data::BadInput;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::{Deserialize, Serialize};

use crate::check::{Failure, Outcome, Part};
use crate::exercise::{Exercise, nearest};

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
    /// Whether it is the graded task of its session.
    pub graded: bool,
    /// What came of it.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Of the random numbers of the check.
    pub seed: u64,
    /// How long the check took.
    pub seconds: f64,
}

/// Who has handed in what.
#[derive(Debug)]
pub struct Class {
    /// In the order of their names.
    pub students: Vec<Student>,
    /// What was found and is not graded, a line each.
    pub notes: Vec<String>,
}

/// A student's files.
#[derive(Debug)]
pub struct Student {
    /// The name of the folder.
    pub name: String,
    folder: PathBuf,
    /// Those in the folder, then those in folders in it.
    files: Vec<PathBuf>,
}

impl Class {
    /// The students in `folder`: each folder in it is one, whether there is anything in it or not. A folder that holds
    /// submissions, and no folder with any, is one student's.
    ///
    /// # Errors
    /// There is no submission.
    pub fn read(folder: &Path, exercises: &[Exercise]) -> Result<Self, BadInput> {
        let bad = |found: String| {
            let expected = "a folder of submissions, or of students";
            BadInput::new(folder.display(), expected, found)
        };
        let (folders, files) = entries(folder).map_err(|e| bad(e.to_string()))?;
        let mut notes = vec![];
        let mut students: Vec<Student> = vec![];
        for folder in folders {
            students.push(Student::read(folder, &mut notes));
        }
        let holds = |files: &[PathBuf]| exercises.iter().any(|e| submission(files, e).is_some());
        match students.iter().any(|student| holds(&student.files)) {
            true => notes.extend(files.iter().map(|file| {
                let file = file.display();
                format!("{file}: not graded: it lies beside the students' folders, in none of them")
            })),
            false if holds(&files) => students = vec![Student::new(folder, files)],
            false => return Err(bad("none".into())),
        }
        for student in &students {
            notes.extend(student.unused(exercises));
        }
        Ok(Self { students, notes })
    }
}

impl Student {
    fn new(folder: &Path, files: Vec<PathBuf>) -> Self {
        let whole = folder.canonicalize().unwrap_or(folder.to_path_buf());
        let name = whole.file_name().unwrap_or_default();
        Self {
            name: name.to_string_lossy().into_owned(),
            folder: folder.to_path_buf(),
            files,
        }
    }

    /// The files of a folder and of those in it, such as `my-exercises`.
    fn read(folder: PathBuf, notes: &mut Vec<String>) -> Self {
        let mut noted = |folder: &Path| {
            entries(folder).unwrap_or_else(|error| {
                notes.push(format!("{}: cannot be read: {error}", folder.display()));
                Default::default()
            })
        };
        let (inner, mut files) = noted(&folder);
        files.extend(inner.iter().flat_map(|inner| noted(inner).1));
        Self::new(&folder, files)
    }

    /// Files that look like submissions and are none, or not the first of their name.
    fn unused(&self, exercises: &[Exercise]) -> Vec<String> {
        let taken: Vec<&Path> = exercises
            .iter()
            .filter_map(|exercise| submission(&self.files, exercise))
            .collect();
        let extensions: Vec<&str> = exercises.iter().map(|e| e.language.extension()).collect();
        let is_one = |path: &&PathBuf| {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            extensions.contains(&&*extension) && !taken.contains(&path.as_path())
        };
        let note = |path: &PathBuf| {
            let meant = nearest(exercises, &name_of(path)).map(Exercise::file);
            let why = match meant {
                Some(file) if file == name_of(path) => "there is another one of this name".into(),
                Some(file) => format!("the name is that of no exercise; is it {file}?"),
                None => "the name is that of no exercise".into(),
            };
            format!("{}: not graded: {why}", path.display())
        };
        self.files.iter().filter(is_one).map(note).collect()
    }

    /// Grades an exercise; `check` checks a submission.
    pub fn grade(
        &self,
        exercise: &Exercise,
        seed: u64,
        check: impl Fn(&Exercise, &Path) -> Verdict,
    ) -> Grade {
        let start = Instant::now();
        let verdict = match submission(&self.files, exercise) {
            Some(path) => check(exercise, path),
            None => self.missing(exercise),
        };
        Grade {
            student: self.name.clone(),
            exercise: exercise.id.clone(),
            graded: exercise.spec.graded,
            verdict,
            seed,
            seconds: start.elapsed().as_secs_f64(),
        }
    }

    /// No submission, and the file that may be meant for one.
    fn missing(&self, exercise: &Exercise) -> Verdict {
        let alone = std::slice::from_ref(exercise);
        let mut like_it = self
            .files
            .iter()
            .filter(|f| nearest(alone, &name_of(f)).is_some());
        let found = match like_it.next() {
            Some(file) => format!("only {}", file.display()),
            None => "none".into(),
        };
        let place = self.folder.join(exercise.file());
        let what = format!("expected a submission, found {found}");
        Err::<(), _>(Failure::new(Part::Missing, place.display(), what)).into()
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The first file with the name of an exercise's.
fn submission<'f>(files: &'f [PathBuf], exercise: &Exercise) -> Option<&'f Path> {
    let is_it = |path: &&PathBuf| name_of(path) == exercise.file();
    files.iter().find(is_it).map(PathBuf::as_path)
}

/// The folders and the files in a folder, but for hidden ones, in the order of their names.
fn entries(folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let all: io::Result<Vec<PathBuf>> = fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect();
    let mut all = all?;
    all.retain(|path| !name_of(path).starts_with('.'));
    all.sort();
    Ok(all.into_iter().partition(|path| path.is_dir()))
}

/// JUnit: a suite a student, a case an exercise.
///
/// # Errors
/// What cannot be written as XML.
pub fn junit(grades: &[Grade]) -> Result<String, BadInput> {
    let mut report = Report::new("exercises");
    for grades in grades.chunk_by(|a, b| a.student == b.student) {
        let mut suite = TestSuite::new(&grades[0].student);
        suite.add_property(("seed", grades[0].seed.to_string().as_str()));
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
