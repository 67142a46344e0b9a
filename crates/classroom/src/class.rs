//! A class: a folder of submissions by one or several students.
//!
//! Links are reported but not followed, because their targets were not handed in.

mod files;
mod names;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use data::BadInput;
use serde::Serialize;

use crate::check::{Failure, Part, valid};
use crate::exercise::Exercise;
use crate::grade::{Grade, Verdict};
use crate::handout;
use crate::learner::{PROGRESS, Progress};
use crate::printed::printable;
use crate::spec::HINTS;
pub use files::{Entries, files_below, listed};
pub use names::distinct;
use names::{is_archive, looks_like_one, meant, name_of};

/// The folder that the exercise runner creates.
pub const OWN_FOLDER: &str = "my-exercises";

/// Maximum depth at which a student's folders are searched.
const DEEPEST: usize = 6;

/// Maximum number of a student's files whose names are compared with those of the exercises.
const COMPARED: usize = 1000;

/// A file that looks like a submission but is not graded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotGraded {
    /// Its path.
    pub file: String,
    /// Why it is not graded.
    pub why: String,
}

impl NotGraded {
    /// A file, and why it is not graded.
    pub fn new(path: &Path, why: impl AsRef<str>) -> Self {
        let file = printable(&path.display().to_string());
        let why = printable(why.as_ref());
        Self { file, why }
    }
}

impl fmt::Display for NotGraded {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: not graded: {}", self.file, self.why)
    }
}

/// A class with its submissions.
#[derive(Debug)]
pub struct Class {
    /// Students sorted by name.
    pub students: Vec<Student>,
    /// Files that were found but not graded.
    pub not_graded: Vec<NotGraded>,
}

/// A student's files.
#[derive(Debug, Default)]
pub struct Student {
    /// The name of the folder.
    pub name: String,
    folder: PathBuf,
    /// Files in the folder, then files in its subfolders.
    files: Vec<PathBuf>,
    /// Files in deeper folders.
    deep: Vec<PathBuf>,
    /// Links and unreadable folders, with the reason why they are not graded.
    aside: Vec<(PathBuf, String)>,
}

impl Class {
    /// Reads the students in `folder`: each subfolder is one, even if empty. A folder with submissions and no
    /// subfolder with any is a single student's, and so is one whose only subfolder is the runner's. Without
    /// any submission there is no student. `others` are names of files that belong to other exercises.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn read(
        folder: &Path,
        exercises: &[Exercise],
        others: &[String],
    ) -> Result<Self, BadInput> {
        let found = Entries::of(folder);
        let found = found.map_err(|e| BadInput::no_folder(folder, EXPECTED, &e))?;
        let holds = |student: &Student| exercises.iter().any(|e| student.submission(e).is_some());
        let is_own = matches!(&found.folders[..], [only] if name_of(only) == OWN_FOLDER);
        let mut students: Vec<Student> = if is_own {
            vec![]
        } else {
            found.folders.iter().map(|f| Student::read(f)).collect()
        };
        let beside = if is_own {
            Student::read(folder)
        } else {
            Student::of(folder, found)
        };
        let mut not_graded = vec![];
        let are_students = students.iter().any(holds);
        if are_students {
            let why = "it is next to the students' folders, not in one of them";
            let files = beside.files.iter().map(|file| (file, why));
            let aside = beside.aside.iter().map(|(path, why)| (path, &**why));
            let note = |(path, why): (&PathBuf, &str)| NotGraded::new(path, why);
            not_graded.extend(listed(folder, files.chain(aside), note));
        } else {
            students.push(beside);
        }
        let unused = students.iter().flat_map(|s| s.unused(exercises, others));
        not_graded.extend(unused);
        let files = students.iter().flat_map(|student| &student.files);
        let count = files.filter(|file| others.contains(&name_of(file))).count();
        if count > 0 {
            let why = format!("files for exercises that this handout lacks: {count}");
            not_graded.push(NotGraded::new(folder, why));
        }
        if !are_students {
            students = students.pop().filter(holds).into_iter().collect();
        }
        distinct(students.iter_mut().map(|student| &mut student.name));
        Ok(Self {
            students,
            not_graded,
        })
    }

    /// Whether a student has handed in a file of `exercise`.
    pub fn has(&self, exercise: &Exercise) -> bool {
        let mut students = self.students.iter();
        students.any(|student| student.submission(exercise).is_some())
    }

    /// Files that students have handed in, with their progress.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.students.iter().flat_map(|student| {
            let files = student.files.iter().chain(&student.deep);
            let folders = student.files.iter().filter_map(|file| file.parent());
            let progress = folders.map(|folder| folder.join(PROGRESS));
            files.cloned().chain(progress)
        })
    }

    /// Checks that `folder`, from which this was read, has something to grade.
    ///
    /// # Errors
    /// There is no submission.
    pub fn has_some(&self, folder: &Path) -> Result<(), BadInput> {
        match self.students.is_empty() {
            true if handout::is_one(folder) => {
                let found = "a handout; it goes after `--exercises`";
                Err(BadInput::new(folder.display(), EXPECTED, found))
            }
            true => Err(BadInput::new(folder.display(), EXPECTED, "none")),
            false => Ok(()),
        }
    }
}

const EXPECTED: &str = "a folder of submissions, or of students' folders";

impl Student {
    /// The student of a folder with these entries.
    fn of(folder: &Path, found: Entries) -> Self {
        let whole = folder.canonicalize().unwrap_or(folder.to_path_buf());
        let name = whole.file_name().unwrap_or_default();
        let is_link = |path| (path, "it is a link, and links are not followed".to_owned());
        Self {
            name: printable(&name.to_string_lossy()),
            folder: folder.to_path_buf(),
            files: found.files,
            deep: vec![],
            aside: found.links.into_iter().map(is_link).collect(),
        }
    }

    /// Reads the files of a folder and its subfolders, such as `my-exercises`, and the files below these.
    fn read(folder: &Path) -> Self {
        let mut unread = vec![];
        let top = Entries::noted(folder, &mut unread);
        let inner = top.folders.clone();
        let mut student = Self::of(folder, top);
        for folder in inner {
            let found = Entries::noted(&folder, &mut unread);
            let folders = found.folders.clone();
            let of_inner = Self::of(&folder, found);
            student.files.extend(of_inner.files);
            student.aside.extend(of_inner.aside);
            let deep = folders
                .iter()
                .flat_map(|folder| files_below(folder, DEEPEST));
            student.deep.extend(deep);
        }
        student.aside.extend(unread);
        student
    }

    /// Returns the first file with the name of an exercise's file.
    fn submission(&self, exercise: &Exercise) -> Option<&Path> {
        let is_it = |path: &&PathBuf| name_of(path) == exercise.file();
        self.files.iter().find(is_it).map(PathBuf::as_path)
    }

    /// Lists files that look like submissions but are none, or are not the first of their name; the last entry counts the rest.
    fn unused(&self, exercises: &[Exercise], others: &[String]) -> Vec<NotGraded> {
        let taken: Vec<&Path> = exercises
            .iter()
            .filter_map(|exercise| self.submission(exercise))
            .collect();
        let is_one = |path: &&PathBuf| {
            looks_like_one(path)
                && !taken.contains(&path.as_path())
                && !others.contains(&name_of(path))
        };
        let guess = |path: &PathBuf| match meant(exercises, path).map(Exercise::file) {
            _ if is_archive(path) => "it is an archive; unpack it first".into(),
            Some(file) if file == name_of(path) => {
                let graded = taken.iter().filter(|path| name_of(path) == file);
                let graded: String = graded.map(|path| path.display().to_string()).collect();
                format!("`{graded}` is graded instead")
            }
            Some(file) => format!("no exercise has this file name; did you mean {file}?"),
            None => "no exercise has this file name".into(),
        };
        let files = self.files.iter().filter(is_one).map(|path| (path, None));
        let aside = self.aside.iter();
        let aside = aside.map(|(path, why)| (path, Some(&**why)));
        let is_deep = |path: &&PathBuf| is_archive(path) || meant(exercises, path).is_some();
        let deep = self.deep.iter().take(COMPARED).filter(is_deep);
        let too_deep =
            "it is too deep: submissions belong in the student's folder, or in a folder inside it";
        let deep = deep.map(|path| (path, Some(too_deep)));
        let all = files.chain(aside).chain(deep);
        let note = |(path, why): (&PathBuf, Option<&str>)| {
            NotGraded::new(path, why.map_or_else(|| guess(path), str::to_owned))
        };
        listed(&self.folder, all, note)
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
            hints_used: progress.as_ref().map(|kept| {
                kept.hints
                    .get(&exercise.id)
                    .copied()
                    .unwrap_or(0)
                    .min(HINTS)
            }),
            first_prediction: progress.and_then(|kept| {
                let first = kept.predictions.get(&exercise.id)?;
                let valid = valid(exercise, |name| first.get(name).map(String::as_str));
                valid.filter(|valid| !valid.is_empty())
            }),
        }
    }

    /// Returns the first file that may be meant as a submission, by its name.
    pub fn near(&self, exercise: &Exercise) -> Option<&Path> {
        let alone = std::slice::from_ref(exercise);
        let aside = self.aside.iter().map(|(path, _)| path).take(COMPARED);
        let files = self.files.iter().take(COMPARED);
        let mut all = files.chain(aside).chain(self.deep.iter().take(COMPARED));
        let near = all.find(|file| meant(alone, file).is_some());
        near.map(PathBuf::as_path)
    }

    /// The verdict on a missing submission, with a file that may be meant.
    fn missing(&self, exercise: &Exercise) -> Verdict {
        let found = match self.near(exercise) {
            Some(file) => {
                let aside = self.aside.iter().find(|(path, _)| path == file);
                let why = aside.map_or(String::new(), |(_, why)| format!(" ({why})"));
                format!("only {}{why}", file.display())
            }
            None => "none".into(),
        };
        let place = self.folder.join(exercise.file());
        let what = format!("expected a submission, found {found}");
        Err::<(), _>(Failure::new(Part::Missing, place.display(), what)).into()
    }
}

/// Returns the progress of the learner with this file; `None` if the folder has none or it is
/// invalid.
fn progress_beside(file: &Path) -> Option<Progress> {
    let folder = file.parent()?;
    let found = folder.join(PROGRESS).symlink_metadata();
    let is_there = found.is_ok_and(|found| found.is_file());
    is_there.then(|| Progress::read(folder).ok())?
}
