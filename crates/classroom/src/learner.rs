//! A learner's folder: files of exercises, and progress.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

pub use data::PROGRESS;
use data::{BadInput, Lock};
use serde::{Deserialize, Serialize};

use crate::check::{Predictions, predictions};
use crate::exercise::Exercise;

/// A learner's progress; exercises by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Progress {
    /// The current exercise.
    pub current: Option<String>,
    /// Exercises that have passed their check.
    pub passed: BTreeSet<String>,
    /// Number of hints used per exercise.
    pub hints: BTreeMap<String, usize>,
    /// First complete predictions per exercise.
    pub predictions: BTreeMap<String, Predictions>,
}

impl Progress {
    /// Reads the progress in `folder`; empty if there is none.
    ///
    /// # Errors
    /// The file is not a progress, or not a regular file.
    pub fn read(folder: &Path) -> Result<Self, BadInput> {
        let path = folder.join(PROGRESS);
        if !data::is_regular(&path)? {
            return Ok(Self::default());
        }
        let expected = "a file written by `exercises`, or no file";
        let text = data::read_text_file(&path, LARGEST)?;
        // serde reads an array as a struct, too.
        if !text.trim_start().starts_with('{') {
            return Err(bad(&path, expected, "no object"));
        }
        serde_json::from_str(&text).map_err(|e| bad(&path, expected, e))
    }
}

/// Maximum bytes of a progress file, or of a text, which may be a student's.
const LARGEST: u64 = 1 << 20;

/// A folder with its progress.
#[derive(Debug)]
pub struct Learner {
    folder: PathBuf,
    /// The progress at the last read or change; other programs may change it in the same folder.
    progress: Progress,
}

impl Learner {
    /// Opens the learner's `folder`, which need not exist yet.
    ///
    /// # Errors
    /// It is a file, or the file in it is not a progress.
    pub fn open(folder: &Path) -> Result<Self, BadInput> {
        if folder.is_file() {
            return Err(bad(folder, "a folder", "a file"));
        }
        let mut learner = Self {
            folder: folder.to_path_buf(),
            progress: Progress::default(),
        };
        learner.reload()?;
        Ok(learner)
    }

    /// Reads the progress again, because another program may have changed it.
    fn reload(&mut self) -> Result<(), BadInput> {
        self.progress = Progress::read(&self.folder)?;
        Ok(())
    }

    /// Waits for other programs that change this folder, such as a `check` in a second terminal.
    fn lock(&self) -> Result<Lock, BadInput> {
        Lock::of(&self.folder.join(PROGRESS))
    }

    /// Applies a change to the stored progress and writes it atomically.
    fn keep(&mut self, change: impl FnOnce(&mut Progress)) -> Result<(), BadInput> {
        let lock = self.lock()?;
        self.keep_with(&lock, change)
    }

    /// The same with the lock that the caller has.
    fn keep_with(&mut self, _: &Lock, change: impl FnOnce(&mut Progress)) -> Result<(), BadInput> {
        self.reload()?;
        change(&mut self.progress);
        let text = serde_json::to_string_pretty(&self.progress).unwrap_or_default();
        self.write(PROGRESS, &text)
    }

    /// Whether an exercise has passed its check.
    pub fn passed(&self, exercise: &Exercise) -> bool {
        self.progress.passed.contains(&exercise.id)
    }

    /// Records that an exercise has passed its check.
    ///
    /// # Errors
    /// The folder cannot be written, or the file in it is not a progress.
    pub fn pass(&mut self, exercise: &Exercise) -> Result<(), BadInput> {
        self.keep(|progress| {
            progress.passed.insert(exercise.id.clone());
        })
    }

    /// Records an exercise's predictions if they are complete and the first; returns the first ones.
    ///
    /// # Errors
    /// The folder cannot be written, or the file in it is not a progress.
    pub fn predict(&mut self, exercise: &Exercise) -> Result<Option<&Predictions>, BadInput> {
        // The check reports an unreadable file.
        let text = data::read_text_file(&self.file(exercise), LARGEST).unwrap_or_default();
        let is_first = !self.progress.predictions.contains_key(&exercise.id);
        if let Some(predictions) = predictions(exercise, &text).filter(|_| is_first) {
            self.keep(|progress| {
                let first = progress.predictions.entry(exercise.id.clone());
                first.or_insert(predictions);
            })?;
        }
        Ok(self.progress.predictions.get(&exercise.id))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The learner's file of an exercise.
    pub fn file(&self, exercise: &Exercise) -> PathBuf {
        self.folder.join(exercise.file())
    }

    /// Makes an exercise the current one and creates its file if it is missing.
    ///
    /// # Errors
    /// The folder cannot be written, or has something else in place of the file.
    pub fn start(&mut self, exercise: &Exercise) -> Result<(), BadInput> {
        let lock = self.lock()?;
        if !data::is_regular(&self.file(exercise))? {
            self.write(&exercise.file(), &exercise.starter)?;
        }
        self.keep_with(&lock, |progress| {
            progress.current = Some(exercise.id.clone())
        })
    }

    /// Restarts an exercise. The learner's file is kept as `….old`, `….old.2` and so on, and that path is
    /// returned; an unchanged starter stays. The exercise counts as unsolved again.
    ///
    /// # Errors
    /// The folder cannot be written; then the learner's file is where it was.
    pub fn reset(&mut self, exercise: &Exercise) -> Result<Option<PathBuf>, BadInput> {
        let lock = self.lock()?;
        if self.passed(exercise) {
            self.keep_with(&lock, |progress| _ = progress.passed.remove(&exercise.id))?;
        }
        let path = self.file(exercise);
        if !data::is_regular(&path)? {
            self.write(&exercise.file(), &exercise.starter)?;
            return Ok(None);
        }
        if data::read(&path)? == exercise.starter.as_bytes() {
            return Ok(None);
        }
        self.replace(exercise, &path).map(Some)
    }

    /// Moves the learner's file `path` and puts the starter in its place; returns where the file is. The starter is
    /// written first, under a name that no file has, so that a full disk leaves the file in its place.
    fn replace(&self, exercise: &Exercise, path: &Path) -> Result<PathBuf, BadInput> {
        let old = self.unused(exercise);
        let unwritable = |e| BadInput::unwritable(path, &e);
        let made = data::partial_folder(&self.folder).map_err(unwritable)?;
        let new = made.path().join(exercise.file());
        data::write_with(&new, |file| file.write_all(exercise.starter.as_bytes()))
            .map_err(unwritable)?;
        let moved = fs::rename(path, &old).and_then(|()| {
            let back = |_: &_| _ = fs::rename(&old, path);
            fs::rename(&new, path).inspect_err(back)
        });
        moved.map_err(unwritable)?;
        Ok(old)
    }

    /// The first unused path for an exercise's earlier text.
    fn unused(&self, exercise: &Exercise) -> PathBuf {
        let name = |n| match n {
            1 => format!("{}.old", exercise.file()),
            n => format!("{}.old.{n}", exercise.file()),
        };
        let mut names = (1..).map(|n| self.folder.join(name(n)));
        let is_unused = |old: &PathBuf| old.symlink_metadata().is_err();
        names.find(is_unused).unwrap_or_default()
    }

    /// Returns the current exercise, if there is one.
    pub fn current<'e>(&self, exercises: &'e [Exercise]) -> Option<&'e Exercise> {
        let current = self.progress.current.as_ref()?;
        exercises.iter().find(|e| e.id == *current)
    }

    /// The first that has not passed, from `from` on or else from the start, of those that `can` be checked; and those
    /// that were skipped before it.
    pub fn next<'e>(
        &self,
        exercises: &'e [Exercise],
        from: Option<&Exercise>,
        can: impl Fn(&Exercise) -> bool,
    ) -> (Option<&'e Exercise>, Vec<&'e Exercise>) {
        let place = from.and_then(|from| exercises.iter().position(|e| e.id == from.id));
        let (before, from) = exercises.split_at(place.unwrap_or(0));
        let mut open = from.iter().chain(before).filter(|e| !self.passed(e));
        let mut skipped = vec![];
        let next = open.find(|e| {
            let can = can(e);
            if !can {
                skipped.push(*e);
            }
            can
        });
        (next, skipped)
    }

    /// Returns the number and text of the next hint; after the last one, the last one again.
    ///
    /// # Errors
    /// The exercise has no hints, the folder cannot be written, or the file in it is not a progress.
    pub fn hint<'e>(&mut self, exercise: &'e Exercise) -> Result<(usize, &'e str), BadInput> {
        let hints = &exercise.spec.hints;
        if hints.is_empty() {
            let found = "a handout without hints; ask your teacher";
            return Err(BadInput::new(&exercise.id, "hints", found));
        }
        let mut number = 0;
        self.keep(|progress| {
            let taken = progress.hints.entry(exercise.id.clone()).or_default();
            *taken = taken.saturating_add(1).min(hints.len());
            number = *taken;
        })?;
        Ok((number, &hints[number - 1]))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), BadInput> {
        let path = self.folder.join(name);
        fs::create_dir_all(&self.folder).map_err(|e| BadInput::unwritable(&path, &e))?;
        data::save_as(&path, text)
    }
}

fn bad(path: &Path, expected: &str, found: impl std::fmt::Display) -> BadInput {
    BadInput::new(path.display(), expected, found)
}

#[cfg(test)]
mod tests;
