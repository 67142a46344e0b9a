//! An exercise in its folder: `exercise.toml`, `page.md`, `solution.*` (in a handout `starter.*`), `check.rs`
//! and `calls.rs` for Rust, and, not in a handout, `solution.md`, `wrong.toml`, `starter.txt` and `solution.txt`. A handout
//! may have `before.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use data::BadInput;
use serde::de::DeserializeOwned;
use strsim::levenshtein;

use crate::source::{self, Edit};
use crate::spec::{Spec, Wrong, WrongFile};

/// Language of an exercise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Checked in the simulator.
    Ptx,
    /// Compiled by NVRTC, then checked in the simulator.
    Cuda,
    /// Compiled by rustc, and called by its check.
    Rust,
}

impl Language {
    /// Languages by file extension.
    const ALL: [(&str, Self); 3] = [("ptx", Self::Ptx), ("cu", Self::Cuda), ("rs", Self::Rust)];

    /// Returns the language of a file extension.
    pub fn of_extension(extension: &str) -> Option<Self> {
        let of_it = Self::ALL.iter().find(|(own, _)| *own == extension);
        of_it.map(|(_, language)| *language)
    }

    /// Returns the file extension, without its dot.
    pub fn extension(self) -> &'static str {
        let own = Self::ALL.iter().find(|(_, language)| *language == self);
        own.map_or("", |(extension, _)| extension)
    }
}

/// One exercise.
#[derive(Debug, Clone)]
pub struct Exercise {
    /// `09-row-argmax`, the name of its folder.
    pub id: String,
    /// Path of the folder.
    pub folder: PathBuf,
    /// Contents of `exercise.toml`.
    pub spec: Spec,
    /// Language of the files.
    pub language: Language,
    /// The learner's initial file.
    pub starter: String,
    /// The solution; `None` in a handout.
    pub solution: Option<String>,
    /// The explanation of the solution, in Markdown; `None` in a handout.
    pub explanation: Option<String>,
    /// The task, in Markdown.
    pub task: String,
    /// Counters of [`Exercise::before`], which a handout has in place of its text.
    pub costs_before: Option<CostsBefore>,
}

/// Counters by name.
pub type CostsBefore = BTreeMap<String, f64>;

/// Name of the file in a handout with an exercise's `costs_before`.
pub const COSTS_BEFORE: &str = "before.json";

impl Exercise {
    /// Reads the exercise in `folder`.
    ///
    /// # Errors
    /// A file is missing or invalid.
    pub fn read(folder: &Path) -> Result<Self, BadInput> {
        let file = folder.join("exercise.toml");
        let spec: Spec = toml(&file)?;
        spec.check().map_err(|bad| in_file(&file, bad))?;
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
        if language != Language::Rust && spec.kernels.is_empty() {
            let bad = BadInput::new("[[kernel]]", "a kernel to check", "none");
            return Err(in_file(&file, bad));
        }
        let text = text(&path)?;
        let (starter, solution) = if has_solution {
            let faults = toml::<WrongFile>(&folder.join("wrong.toml"))?.starter;
            let starter = source::starter(&text, &faults, &path.display().to_string())?;
            (starter, Some(source::solution(&text)))
        } else {
            (text, None)
        };
        if source::regions(&starter).is_empty() {
            let expected = "a region, `// REGION: NAME` to `// END`";
            return Err(BadInput::new(path.display(), expected, "none"));
        }
        let mut entries = spec.kernels.iter().map(|kernel| &kernel.entry);
        if let Some(entry) = entries.find(|entry| !has_kernel(&starter, entry)) {
            let expected = "a kernel of the starter";
            return Err(in_file(&file, BadInput::new("entry", expected, entry)));
        }
        Ok(Self {
            id: folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            folder: folder.to_path_buf(),
            task: self::text(&folder.join("page.md"))?,
            costs_before: recorded(&folder.join(COSTS_BEFORE))?,
            explanation: self::text(&folder.join("solution.md")).ok(),
            spec,
            language,
            starter,
            solution,
        })
    }

    /// An error about `exercise.toml`, with the name of that file.
    pub fn in_toml(&self, bad: BadInput) -> BadInput {
        in_file(&self.folder.join("exercise.toml"), bad)
    }

    /// Name without the number: `row-argmax`.
    pub fn name(&self) -> &str {
        self.id.split_once('-').map_or(&self.id, |(_, name)| name)
    }

    /// Number as written: `07`.
    pub fn number(&self) -> &str {
        self.id
            .split_once('-')
            .map_or(&self.id, |(number, _)| number)
    }

    /// Name of the learner's file.
    pub fn file(&self) -> String {
        format!("{}.{}", self.id, self.language.extension())
    }

    /// Reads a file of the repository around the folder of exercises; `None` if it has none of this name.
    pub fn of_repository(&self, file: &str) -> Option<String> {
        let repository = self.folder.ancestors().nth(3)?;
        text(&repository.join(file)).ok()
    }

    /// Returns name and text of what a submission's costs are compared with: the wrong solution that `before` names, or the
    /// starter. A handout has no wrong solutions, so it has no such text, but `costs_before`.
    ///
    /// # Errors
    /// `wrong.toml` is invalid, or has no such solution.
    pub fn before(&self) -> Result<(&str, Option<String>), BadInput> {
        let Some(name) = self.spec.before.as_deref() else {
            return Ok(("starter", Some(self.starter.clone())));
        };
        let Some(solution) = &self.solution else {
            return Ok((name, None));
        };
        let bank = self.bank()?.wrong;
        let is_it = |wrong: &Wrong| wrong.caught_by == "limit" && wrong.what.starts_with(name);
        let wrong = bank.into_iter().find(is_it);
        let expected = "the start of a `what` of wrong.toml that a limit rejects";
        let missing = || BadInput::new("before", expected, name);
        let Wrong { replace, with, .. } = wrong.ok_or_else(|| self.in_toml(missing()))?;
        let text = Edit { replace, with }.apply(solution, name)?;
        Ok((name, Some(text)))
    }

    /// Reads the bank of solutions that the check must reject or accept.
    ///
    /// # Errors
    /// `wrong.toml` is missing or invalid.
    pub fn bank(&self) -> Result<WrongFile, BadInput> {
        toml(&self.folder.join("wrong.toml"))
    }
}

/// Reads all exercises under `root`, each in a folder of a topic, in the recommended order.
///
/// # Errors
/// An exercise cannot be read, or there is none.
pub fn all(root: &Path) -> Result<Vec<Exercise>, BadInput> {
    let topics = folders(root)?.into_iter().map(|topic| folders(&topic));
    let topics: Vec<Vec<PathBuf>> = topics.collect::<Result<_, _>>()?;
    let with_spec = topics
        .into_iter()
        .flatten()
        .filter(|f| data::is_there(&f.join("exercise.toml")));
    let mut exercises: Vec<Exercise> = with_spec
        .map(|f| Exercise::read(&f))
        .collect::<Result<_, _>>()?;
    exercises.sort_by(|a, b| a.id.cmp(&b.id));
    if let Some([one, other]) = exercises.array_windows().find(|[a, b]| a.id == b.id) {
        let expected = "a folder with a name of its own, because submissions have that name";
        let found = format!("{}, too", one.folder.display());
        return Err(BadInput::new(other.folder.display(), expected, found));
    }
    if exercises.is_empty() {
        Err(BadInput::new(root.display(), FOLDERS, "none"))
    } else {
        Ok(exercises)
    }
}

const FOLDERS: &str = "folders of exercises";

/// Whether an error of [`all`] says that the folder has no exercises, as in an archive without them.
pub fn are_missing(bad: &BadInput) -> bool {
    bad.expected == FOLDERS
}

/// Whether a text defines a kernel: its name stands before a parenthesis.
fn has_kernel(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        before.ends_with(char::is_whitespace) && after.trim_start().starts_with('(')
    })
}

/// Finds an exercise by `09`, `9`, `row-argmax`, `09-row-argmax`, `09-row-argmax.ptx` or the path of such a file,
/// ignoring case.
///
/// # Errors
/// There is no such exercise; the error suggests the names that contain the word, or else the nearest one.
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
        let has_it = |e: &&Exercise| asked.len() > 1 && e.name().contains(&asked);
        let mut meant: Vec<&str> = exercises
            .iter()
            .filter(has_it)
            .map(Exercise::name)
            .collect();
        if meant.is_empty() {
            meant.extend(nearest(exercises, &asked).map(Exercise::name));
        }
        let meant = match &meant[..] {
            [] => String::new(),
            names => format!("; did you mean {}?", names.join(" or ")),
        };
        BadInput::new("exercise", expected, format!("\"{name}\"{meant}"))
    })
}

/// Returns the exercise whose name or file differs from `name` by one or two letters.
pub fn nearest<'e>(exercises: &'e [Exercise], name: &str) -> Option<&'e Exercise> {
    let names = |e: &'e Exercise| [e.name().to_owned(), e.id.clone(), e.file()].map(|own| (own, e));
    closest(exercises.iter().flat_map(names), name)
}

/// Returns what has the name that differs from `asked` by one or two letters.
pub fn closest<T>(names: impl Iterator<Item = (String, T)>, asked: &str) -> Option<T> {
    let away = names.map(|(name, of)| (levenshtein(&name, asked), of));
    let (away, nearest) = away.min_by_key(|(away, _)| *away)?;
    (away <= 3.min(asked.len() / 2)).then_some(nearest)
}

fn folders(root: &Path) -> Result<Vec<PathBuf>, BadInput> {
    let entries = fs::read_dir(root);
    let entries = entries.map_err(|e| BadInput::no_folder(root, "a folder of exercises", &e))?;
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.is_dir())
        .collect();
    folders.sort();
    Ok(folders)
}

fn text(path: &Path) -> Result<String, BadInput> {
    data::read_text_file(path, 1 << 22)
}

fn recorded(path: &Path) -> Result<Option<CostsBefore>, BadInput> {
    if !data::is_there(path) {
        return Ok(None);
    }
    let costs = serde_json::from_str(&text(path)?);
    costs.map_err(|e| BadInput::new(path.display(), "counters that `handout` wrote", e))
}

/// An error about a part of `file`, with its name.
fn in_file(file: &Path, bad: BadInput) -> BadInput {
    let what = format!("{}: {}", file.display(), bad.what);
    BadInput::new(what, bad.expected, bad.found)
}

fn toml<T: DeserializeOwned>(path: &Path) -> Result<T, BadInput> {
    toml::from_str(&text(path)?).map_err(|e| BadInput::new(path.display(), "an exercise", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distances_of_words() {
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

    /// A copy of exercise 09 with an edit of `exercise.toml`, read.
    fn read_with(replace: &str, with: &str) -> Result<Exercise, BadInput> {
        let folder = tempfile::tempdir().unwrap();
        let from =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../exercises/2-ptx/09-row-argmax");
        for entry in fs::read_dir(from).unwrap() {
            let file = entry.unwrap().path();
            let name = file.file_name().unwrap();
            let mut text = fs::read_to_string(&file).unwrap();
            if name == "exercise.toml" {
                assert!(text.contains(replace), "{replace}");
                text = text.replacen(replace, with, 1);
            }
            fs::write(folder.path().join(name), text).unwrap();
        }
        Exercise::read(folder.path())
    }

    #[test]
    fn wrong_values_are_refused_with_the_files_name() {
        let line = |replace, with| read_with(replace, with).unwrap_err().to_string();
        for (replace, with, expected) in [
            (
                "output = 1",
                "output = 7",
                "output: expected the index of one of",
            ),
            (
                "tolerance = ",
                "tolerance = nan #",
                "tolerance: expected a number from 0 on, found NaN",
            ),
            (
                "tolerance = ",
                "tolerance = -1 #",
                "tolerance: expected a number",
            ),
            (
                "at_most = ",
                "at_most = nan #",
                "at_most or at_least: expected a finite number, found NaN",
            ),
            (
                "at_most = ",
                "at_most = inf #",
                "at_most or at_least: expected a finite number, found inf",
            ),
            (
                "at_most = ",
                "#",
                "at_most or at_least: expected a finite number, found none",
            ),
            (
                "oracle = \"row_argmax\"",
                "oracle = \"rows\"",
                "oracle: expected one of",
            ),
            ("title", "tittle", "unknown field `tittle`"),
            (
                "hints = [",
                "hints = [\"a fourth\",",
                "hints: expected three, or none, found 4",
            ),
        ] {
            let line = line(replace, with);
            assert!(
                line.contains("exercise.toml") && line.contains(expected),
                "{line}"
            );
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }

    /// A teacher's mistakes that would fail every student, or pass all: what is replaced, by what, and the error.
    #[test]
    fn mistakes_of_a_teacher_are_refused() {
        for case in [
            "output = 1 => output = 0 => index of an argument with `poison`",
            "output = 1 => output = 2 => index of an argument with `poison`",
            "entry = \"row_argmax\" => entry = \"rows\" => entry: expected a kernel of the starter, found rows",
            "/ rows / 4 => / rows / 0 => a division by none that is 0, found 0",
            "counted = { rows = 4 => counted = { rows = 0 => that is 0, found rows",
            "at_most = 8 => at_most = 4\nat_least = 5 => at_least: expected at most 4, found 5",
            "--block 128 => --block 128 --arg u32:1 => launch: expected only --grid",
            // These are found when a submission is checked.
            "--block 128 => --block 0 => block: expected 1 to 1024 threads, found 0",
            "{rows} --block => 2147483647 --block => grid: expected 1 to",
            ", \"u32:{columns}\"] => ] => arguments: expected 3",
        ] {
            let parts: Vec<&str> = case.split(" => ").collect();
            let bad = read_with(parts[0], parts[1]).and_then(|e| checked(&e).map(|_| ()));
            let bad = bad.unwrap_err().to_string();
            assert!(
                bad.contains("exercise.toml: ") && bad.contains(parts[2]),
                "{bad}"
            );
        }
    }

    #[test]
    fn an_exercise_has_a_region_a_kernel_and_a_name_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let from =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../exercises/2-ptx/09-row-argmax");
        let starter = Exercise::read(&from).unwrap().starter;
        let spec = fs::read_to_string(from.join("exercise.toml")).unwrap();
        let said = |topic: &str, spec: &str, starter: &str| {
            let to = root.path().join(topic).join("09-row-argmax");
            fs::create_dir_all(&to).unwrap();
            for (file, text) in [
                ("exercise.toml", spec),
                ("page.md", ""),
                ("starter.ptx", starter),
            ] {
                fs::write(to.join(file), text).unwrap();
            }
            all(root.path()).map_or_else(|bad| bad.to_string(), |all| all.len().to_string())
        };
        assert_eq!(said("1-a", &spec, &starter), "1");
        assert!(said("2-b", &spec, &starter).contains("a folder with a name of its own"));
        let open = starter.replace("REGION", "PART");
        assert!(said("2-b", &spec, &open).contains("starter.ptx: expected a region"));
        let head = spec.split("[[kernel]]").next().unwrap();
        assert!(said("2-b", head, &starter).contains("[[kernel]]: expected a kernel to check"));
    }

    /// Checks the exercise's solution.
    fn checked(exercise: &Exercise) -> crate::Outcome {
        use crate::check::{Tools, check};
        use crate::{Failure, Rustc};
        let folder = tempfile::tempdir().unwrap();
        let no_cuda = |_: &Path, _: &str| -> Result<Result<String, Failure>, BadInput> {
            Err(BadInput::new("CUDA", "none", "some"))
        };
        let rust = &Rustc {
            limit: std::time::Duration::ZERO,
            cargo: vec![],
        };
        let tools = Tools {
            cuda: &no_cuda,
            rust,
        };
        let file = folder.path().join(exercise.file());
        fs::write(&file, exercise.solution.as_deref().unwrap()).unwrap();
        check(exercise, &file, &tools, 1, None)
    }

    #[test]
    fn an_oracle_that_does_not_fit_is_an_error() {
        for oracle in ["transpose", "layer_norm", "rope", "axpy"] {
            let exercise = read_with("oracle = \"row_argmax\"", &format!("oracle = {oracle:?}"));
            let bad = checked(&exercise.unwrap()).unwrap_err().to_string();
            let expected = format!("expected arguments and sizes of the oracle `{oracle}`");
            assert!(
                bad.contains("exercise.toml: ") && bad.contains(&expected),
                "{bad}"
            );
        }
    }
}
