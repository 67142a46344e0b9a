//! A learner's own folder: the files of the exercises, and how far the learner is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use data::BadInput;
use serde::{Deserialize, Serialize};

use crate::check::{Predictions, predictions};
use crate::exercise::Exercise;

/// How far a learner is; exercises by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Progress {
    /// The exercise in hand.
    pub current: Option<String>,
    /// Those that have passed their check.
    pub passed: BTreeSet<String>,
    /// How many hints were taken of each.
    pub hints: BTreeMap<String, usize>,
    /// The first complete predictions of each that wants some.
    pub predictions: BTreeMap<String, Predictions>,
}

impl Progress {
    /// What is kept in `folder`; nothing where nobody has begun.
    ///
    /// # Errors
    /// What is kept there is not a progress.
    pub fn read(folder: &Path) -> Result<Self, BadInput> {
        let path = folder.join(PROGRESS);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path).map_err(|e| BadInput::unreadable(&path, &e))?;
        let expected = "a file written by `exercises`, or no file";
        serde_json::from_str(&text).map_err(|e| bad(&path, expected, e))
    }
}

/// A folder, and the progress that is kept in it.
#[derive(Debug)]
pub struct Learner {
    folder: PathBuf,
    /// As it was when it was last read or changed; several programs may keep theirs in one folder.
    progress: Progress,
}

/// The file in which a folder keeps it.
pub const PROGRESS: &str = ".candlepower.json";

impl Learner {
    /// The learner of `folder`, which need not be there yet.
    ///
    /// # Errors
    /// What is kept there is not a progress.
    pub fn open(folder: &Path) -> Result<Self, BadInput> {
        let mut learner = Self {
            folder: folder.to_path_buf(),
            progress: Progress::default(),
        };
        learner.reload()?;
        Ok(learner)
    }

    /// Reads the progress once more: another program may have changed it.
    fn reload(&mut self) -> Result<(), BadInput> {
        self.progress = Progress::read(&self.folder)?;
        Ok(())
    }

    /// Makes one change to what is kept now, and keeps that, whole or not at all.
    fn keep(&mut self, change: impl FnOnce(&mut Progress)) -> Result<(), BadInput> {
        self.reload()?;
        change(&mut self.progress);
        let text = serde_json::to_string_pretty(&self.progress).unwrap_or_default();
        self.write(PROGRESS, &text)
    }

    /// Whether an exercise has passed its check.
    pub fn passed(&self, exercise: &Exercise) -> bool {
        self.progress.passed.contains(&exercise.id)
    }

    /// Keeps that an exercise has passed its check.
    ///
    /// # Errors
    /// The folder cannot be written, or what is kept there is not a progress.
    pub fn pass(&mut self, exercise: &Exercise) -> Result<(), BadInput> {
        self.keep(|progress| {
            progress.passed.insert(exercise.id.clone());
        })
    }

    /// Keeps the predictions of an exercise, if all are written and these are the first; the first ones.
    ///
    /// # Errors
    /// The folder cannot be written, or what is kept there is not a progress.
    pub fn predict(&mut self, exercise: &Exercise) -> Result<Option<&Predictions>, BadInput> {
        // What cannot be read is the check's to say.
        let text = fs::read_to_string(self.file(exercise)).unwrap_or_default();
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

    /// Takes an exercise in hand; its file is made where there is none.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn start(&mut self, exercise: &Exercise) -> Result<(), BadInput> {
        if !self.file(exercise).exists() {
            self.write(&exercise.file(), &exercise.starter)?;
        }
        self.keep(|progress| progress.current = Some(exercise.id.clone()))
    }

    /// Begins an exercise again; what was written stays beside it, as `….old`, `….old.2` and so on, whose path it
    /// gives. A file that is the starter is left alone. The exercise is not solved any more.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn reset(&mut self, exercise: &Exercise) -> Result<Option<PathBuf>, BadInput> {
        if self.passed(exercise) {
            self.keep(|progress| _ = progress.passed.remove(&exercise.id))?;
        }
        let path = self.file(exercise);
        if fs::read(&path).is_ok_and(|text| text == exercise.starter.as_bytes()) {
            return Ok(None);
        }
        let name = |n| match n {
            1 => format!("{}.old", exercise.file()),
            n => format!("{}.old.{n}", exercise.file()),
        };
        let mut names = (1..).map(|n| self.folder.join(name(n)));
        let old = names.find(|old| !old.exists()).unwrap_or_default();
        if path.exists() {
            fs::rename(&path, &old).map_err(|e| BadInput::unwritable(&old, &e))?;
        }
        self.write(&exercise.file(), &exercise.starter)?;
        Ok(Some(old))
    }

    /// The exercise in hand, if there is one.
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

    /// The next graded hint: its number and its text; the last one again when there is no other.
    ///
    /// # Errors
    /// The folder cannot be written, or what is kept there is not a progress.
    pub fn hint<'e>(&mut self, exercise: &'e Exercise) -> Result<(usize, &'e str), BadInput> {
        let hints = &exercise.spec.hints;
        let mut number = 0;
        self.keep(|progress| {
            let taken = progress.hints.entry(exercise.id.clone()).or_default();
            *taken = (*taken + 1).min(hints.len());
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
