//! The grades of a folder of submissions, of one student or of many, as JSON and as JUnit.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use data::BadInput;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::{Deserialize, Serialize};

use crate::check::{Failure, Outcome, Part, Predictions};
use crate::exercise::{Exercise, nearest};
use crate::learner::{PROGRESS, Progress};

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
    /// How many hints were taken, where the learner's progress lies beside the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints_used: Option<usize>,
    /// What was predicted first, where that is kept there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_prediction: Option<Predictions>,
}

impl Grade {
    /// Whether nothing was handed in.
    pub fn is_missing(&self) -> bool {
        self.verdict.by == Some(Part::Missing.to_string())
    }

    /// Whether it could not be checked on this machine.
    pub fn is_unchecked(&self) -> bool {
        self.verdict.by.as_deref() == Some(UNCHECKED)
    }
}

/// A file that looks like a submission and is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotGraded {
    /// Its path.
    pub file: String,
    /// Why it is not graded.
    pub why: String,
}

impl NotGraded {
    fn new(path: &Path, why: impl Into<String>) -> Self {
        let (file, why) = (path.display().to_string(), why.into());
        Self { file, why }
    }
}

impl fmt::Display for NotGraded {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: not graded: {}", self.file, self.why)
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

/// Who has handed in what.
#[derive(Debug)]
pub struct Class {
    /// In the order of their names.
    pub students: Vec<Student>,
    /// What was found and is not graded.
    pub not_graded: Vec<NotGraded>,
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
    /// submissions, and no folder with any, is one student's. Where there is no submission at all, there is no student.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn read(folder: &Path, exercises: &[Exercise]) -> Result<Self, BadInput> {
        let (folders, files) =
            entries(folder).map_err(|e| BadInput::new(folder.display(), EXPECTED, e))?;
        let mut not_graded = vec![];
        let mut read = |folder| Student::read(folder, &mut not_graded);
        let mut students: Vec<Student> = folders.into_iter().map(&mut read).collect();
        let beside = Student::new(folder, files);
        let holds = |student: &Student| exercises.iter().any(|e| student.submission(e).is_some());
        let are_students = students.iter().any(holds);
        if are_students {
            let why = "it lies beside the students' folders, in none of them";
            let files = beside.files.iter();
            not_graded.extend(files.map(|file| NotGraded::new(file, why)));
        } else {
            students.push(beside);
        }
        let unused = students.iter().flat_map(|s| s.unused(exercises));
        not_graded.extend(unused);
        if !are_students {
            students = students.pop().filter(holds).into_iter().collect();
        }
        Ok(Self {
            students,
            not_graded,
        })
    }

    /// Whether there is anything to grade in `folder`, from which this was read.
    ///
    /// # Errors
    /// There is no submission.
    pub fn has_some(&self, folder: &Path) -> Result<(), BadInput> {
        match self.students.is_empty() {
            true => Err(BadInput::new(folder.display(), EXPECTED, "none")),
            false => Ok(()),
        }
    }
}

const EXPECTED: &str = "a folder of submissions, or of students";

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
    fn read(folder: PathBuf, not_graded: &mut Vec<NotGraded>) -> Self {
        let mut noted = |folder: &Path| {
            entries(folder).unwrap_or_else(|error| {
                let why = format!("it cannot be read: {error}");
                not_graded.push(NotGraded::new(folder, why));
                Default::default()
            })
        };
        let (inner, mut files) = noted(&folder);
        files.extend(inner.iter().flat_map(|inner| noted(inner).1));
        Self::new(&folder, files)
    }

    /// The first file with the name of an exercise's.
    fn submission(&self, exercise: &Exercise) -> Option<&Path> {
        let is_it = |path: &&PathBuf| name_of(path) == exercise.file();
        self.files.iter().find(is_it).map(PathBuf::as_path)
    }

    /// Files that look like submissions and are none, or not the first of their name.
    fn unused(&self, exercises: &[Exercise]) -> Vec<NotGraded> {
        let taken: Vec<&Path> = exercises
            .iter()
            .filter_map(|exercise| self.submission(exercise))
            .collect();
        let extensions: Vec<&str> = exercises.iter().map(|e| e.language.extension()).collect();
        let is_one = |path: &&PathBuf| {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            extensions.contains(&&*extension) && !taken.contains(&path.as_path())
        };
        let note = |path: &PathBuf| {
            let why = match meant(exercises, path).map(Exercise::file) {
                Some(file) if file == name_of(path) => "there is another one of this name".into(),
                Some(file) => format!("the name is that of no exercise; is it {file}?"),
                None => "the name is that of no exercise".into(),
            };
            NotGraded::new(path, why)
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
        let submission = self.submission(exercise);
        let verdict = match submission {
            Some(path) => check(exercise, path),
            None => self.missing(exercise),
        };
        let progress = submission.and_then(progress_beside);
        Grade {
            student: self.name.clone(),
            exercise: exercise.id.clone(),
            graded: exercise.spec.graded,
            verdict,
            seed,
            seconds: start.elapsed().as_secs_f64(),
            hints_used: progress
                .as_ref()
                .map(|kept| kept.hints.get(&exercise.id).copied().unwrap_or(0)),
            first_prediction: progress.and_then(|mut kept| kept.predictions.remove(&exercise.id)),
        }
    }

    /// No submission, and the file that may be meant for one.
    fn missing(&self, exercise: &Exercise) -> Verdict {
        let alone = std::slice::from_ref(exercise);
        let mut like_it = self
            .files
            .iter()
            .filter(|file| meant(alone, file).is_some());
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

/// The progress of the learner whose file this is; none where it does not lie beside it, or is no longer what it was.
fn progress_beside(file: &Path) -> Option<Progress> {
    let folder = file.parent()?;
    let is_there = folder.join(PROGRESS).is_file();
    is_there.then(|| Progress::read(folder).ok())?
}

/// The exercise whose file this seems to be: of nearly that name, or a copy as browsers and desktops name them.
fn meant<'e>(exercises: &'e [Exercise], file: &Path) -> Option<&'e Exercise> {
    let stem = file.file_stem()?.to_string_lossy();
    let extension = file.extension()?.to_string_lossy();
    nearest(exercises, &format!("{}.{extension}", original(&stem)))
}

/// `tile` of `tile (2)`, `tile - Copy` and `tile - Copy (2)`.
fn original(stem: &str) -> &str {
    let numbered = stem.strip_suffix(')').and_then(|s| s.rsplit_once(" ("));
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    let stem = match numbered {
        Some((stem, number)) if is_number(number) => stem,
        _ => stem,
    };
    stem.strip_suffix(" - Copy").unwrap_or(stem)
}

/// The folders and the files in a folder, but for hidden ones, in the order of their names.
fn entries(folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let all: io::Result<Vec<PathBuf>> = fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect();
    let mut all = all?;
    all.retain(|path| !name_of(path).starts_with('.'));
    all.sort();
    Ok(all.into_iter().partition(|path| path.is_dir()))
}

/// JUnit: a suite a student, a case an exercise; and one of what was left out.
///
/// # Errors
/// What cannot be written as XML.
pub fn junit(grades: &Grades) -> Result<String, BadInput> {
    let Grades { grades, not_graded } = grades;
    let mut report = Report::new("exercises");
    for grades in grades.chunk_by(|a, b| a.student == b.student) {
        let mut suite = TestSuite::new(&grades[0].student);
        suite.add_property(("seed", grades[0].seed.to_string().as_str()));
        for grade in grades {
            let mut case = TestCase::new(&grade.exercise, status(&grade.verdict));
            case.set_classname("exercises")
                .set_time(Duration::from_secs_f64(grade.seconds));
            if let Some(hints) = grade.hints_used {
                case.add_property(("hints_used", hints.to_string().as_str()));
            }
            suite.add_test_case(case);
        }
        report.add_test_suite(suite);
    }
    if !not_graded.is_empty() {
        report.add_test_suite(left_out(not_graded));
    }
    report
        .to_string()
        .map_err(|e| BadInput::new("JUnit", "grades that can be written", e))
}

/// A suite of files that were skipped.
fn left_out(not_graded: &[NotGraded]) -> TestSuite {
    let mut suite = TestSuite::new("not graded");
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

#[cfg(test)]
mod tests {
    use super::original;

    #[test]
    fn a_copy_has_the_name_of_its_original() {
        for name in ["tile", "tile (2)", "tile - Copy", "tile - Copy (12)"] {
            assert_eq!(original(name), "tile", "{name}");
        }
        for name in ["tile (two)", "tile2)", "Copy"] {
            assert_eq!(original(name), name);
        }
    }
}
