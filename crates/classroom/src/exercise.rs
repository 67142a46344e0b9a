//! An exercise, read from its folder: `exercise.toml`, `page.md`, `solution.*` (or, in a handout, `starter.*`),
//! `check.rs` of one in Rust, and `wrong.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use data::BadInput;
use serde::de::DeserializeOwned;
use strsim::levenshtein;

use crate::source;
use crate::spec::{Spec, WrongFile};

/// What an exercise is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Checked in the simulator.
    Ptx,
    /// Compiled by NVRTC, then as [`Language::Ptx`].
    Cuda,
    /// Compiled by rustc together with its check.
    Rust,
}

impl Language {
    /// Each by the extension of its files.
    const ALL: [(&str, Self); 3] = [("ptx", Self::Ptx), ("cu", Self::Cuda), ("rs", Self::Rust)];

    /// That of files whose names end so.
    pub fn of_extension(extension: &str) -> Option<Self> {
        let of_it = Self::ALL.iter().find(|(own, _)| *own == extension);
        of_it.map(|(_, language)| *language)
    }

    /// Of a file's name, without the point.
    pub fn extension(self) -> &'static str {
        let own = Self::ALL.iter().find(|(_, language)| *language == self);
        own.map_or("", |(extension, _)| extension)
    }
}

/// One exercise.
#[derive(Debug, Clone)]
pub struct Exercise {
    /// `07-row-sum`, the name of its folder.
    pub id: String,
    /// Where it is.
    pub folder: PathBuf,
    /// `exercise.toml`.
    pub spec: Spec,
    /// What it is written in.
    pub language: Language,
    /// What the learner begins with.
    pub starter: String,
    /// The answer; a handout has none.
    pub solution: Option<String>,
    /// The task, in Markdown.
    pub task: String,
}

impl Exercise {
    /// Reads the exercise in `folder`.
    ///
    /// # Errors
    /// A file that is missing or not what it has to be.
    pub fn read(folder: &Path) -> Result<Self, BadInput> {
        let spec: Spec = toml(&folder.join("exercise.toml"))?;
        let named = |stem: &str| {
            let candidates = Language::ALL.map(|(e, l)| (folder.join(format!("{stem}.{e}")), l));
            candidates.into_iter().find(|(path, _)| path.is_file())
        };
        let found = named("solution").map(|found| (found, true));
        let Some(((path, language), has_solution)) =
            found.or_else(|| Some((named("starter")?, false)))
        else {
            let expected = "solution.ptx, .cu or .rs, or a starter";
            return Err(BadInput::new(folder.display(), expected, "none"));
        };
        let text = text(&path)?;
        let (starter, solution) = if has_solution {
            let faults = toml::<WrongFile>(&folder.join("wrong.toml"))?.starter;
            let starter = source::starter(&text, &faults, &path.display().to_string())?;
            (starter, Some(source::solution(&text)))
        } else {
            (text, None)
        };
        Ok(Self {
            id: folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            folder: folder.to_path_buf(),
            task: self::text(&folder.join("page.md"))?,
            spec,
            language,
            starter,
            solution,
        })
    }

    /// Its name without the number: `row-sum`.
    pub fn name(&self) -> &str {
        self.id.split_once('-').map_or(&self.id, |(_, name)| name)
    }

    /// Its number, as it is written: `07`.
    pub fn number(&self) -> &str {
        self.id
            .split_once('-')
            .map_or(&self.id, |(number, _)| number)
    }

    /// Its place in the order in which the exercises are best done.
    pub fn place(&self) -> u32 {
        let number = || self.number().parse().unwrap_or(u32::MAX);
        self.spec.place.unwrap_or_else(number)
    }

    /// The name of the learner's file.
    pub fn file(&self) -> String {
        format!("{}.{}", self.id, self.language.extension())
    }

    /// The bank of solutions that the check has to reject or to accept.
    ///
    /// # Errors
    /// `wrong.toml` is missing or not what it has to be.
    pub fn bank(&self) -> Result<WrongFile, BadInput> {
        toml(&self.folder.join("wrong.toml"))
    }
}

/// All exercises under `root`, each in a folder of a topic, in the order in which they are best done.
///
/// # Errors
/// One that cannot be read, or none at all.
pub fn all(root: &Path) -> Result<Vec<Exercise>, BadInput> {
    let topics = folders(root)?.into_iter().map(|topic| folders(&topic));
    let topics: Vec<Vec<PathBuf>> = topics.collect::<Result<_, _>>()?;
    let with_spec = topics
        .into_iter()
        .flatten()
        .filter(|f| f.join("exercise.toml").is_file());
    let mut exercises: Vec<Exercise> = with_spec
        .map(|f| Exercise::read(&f))
        .collect::<Result<_, _>>()?;
    exercises.sort_by_cached_key(|e| (e.place(), e.id.clone()));
    if exercises.is_empty() {
        Err(BadInput::new(root.display(), FOLDERS, "none"))
    } else {
        Ok(exercises)
    }
}

const FOLDERS: &str = "folders of exercises";

/// Whether an error of [`all`] says that the folder has no exercise, as in the archive that a class may have.
pub fn are_missing(bad: &BadInput) -> bool {
    bad.expected == FOLDERS
}

/// The exercise that a person means by `07`, `7`, `row-sum`, `07-row-sum`, `07-row-sum.ptx` or the path of such a file, in
/// capitals or not.
///
/// # Errors
/// There is none; the error has the nearest name.
pub fn find<'e>(exercises: &'e [Exercise], name: &str) -> Result<&'e Exercise, BadInput> {
    let asked = name.to_lowercase();
    let stem = Path::new(&asked).file_stem().unwrap_or_default();
    let number = |e: &Exercise| e.number().parse::<u32>().ok();
    let is_meant = |e: &&Exercise| {
        [e.name(), &e.id].contains(&asked.as_str())
            || *stem == *e.id
            || number(e).is_some_and(|n| asked.parse() == Ok(n))
    };
    exercises.iter().find(is_meant).ok_or_else(|| {
        let expected = "the number or name of an exercise (`cargo ex list` shows them)";
        let meant = nearest(exercises, &asked).map(|e| format!("; did you mean {}?", e.name()));
        let found = format!("\"{name}\"{}", meant.unwrap_or_default());
        BadInput::new("exercise", expected, found)
    })
}

/// The exercise whose name or file is a letter or two away from `name`.
pub fn nearest<'e>(exercises: &'e [Exercise], name: &str) -> Option<&'e Exercise> {
    let away = |e: &Exercise| {
        let names = [e.name().to_owned(), e.id.clone(), e.file()];
        names
            .iter()
            .map(|own| levenshtein(own, name))
            .min()
            .unwrap_or(usize::MAX)
    };
    let nearest = exercises.iter().min_by_key(|e| away(e))?;
    (away(nearest) <= 3.min(name.len() / 2)).then_some(nearest)
}

fn folders(root: &Path) -> Result<Vec<PathBuf>, BadInput> {
    let entries = fs::read_dir(root);
    let entries = entries.map_err(|e| BadInput::new(root.display(), "a folder of exercises", e))?;
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.is_dir())
        .collect();
    folders.sort();
    Ok(folders)
}

fn text(path: &Path) -> Result<String, BadInput> {
    fs::read_to_string(path).map_err(|e| BadInput::unreadable(path, &e))
}

fn toml<T: DeserializeOwned>(path: &Path) -> Result<T, BadInput> {
    toml::from_str(&text(path)?).map_err(|e| BadInput::new(path.display(), "an exercise", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_some_letters_apart() {
        for (a, b, apart) in [
            ("guard", "guard", 0),
            ("gaurd", "guard", 2),
            ("", "tile", 4),
            ("tiles", "tile", 1),
        ] {
            assert_eq!(
                (levenshtein(a, b), levenshtein(b, a)),
                (apart, apart),
                "{a} {b}"
            );
        }
    }
}
