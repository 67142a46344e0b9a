//! Handouts for a class: exercises without their solutions and without the bank of wrong ones.
//!
//! A handout is a folder of exercises like any other (`--exercises DIR` of the runner), with `starter.*`
//! instead of `solution.*`, without `solution.md`, and each exercise's page as Markdown under `pages/`. Where a pass is
//! compared with a wrong solution, `before.json` has the counters of that one.

use std::fs;
use std::io;
use std::path::Path;

use data::BadInput;

use crate::exercise::{self, Exercise, Language};
use crate::page::{ALIAS, COMMAND, Solutions, of_session, page, quoted, without_links};

/// Whether a handout has the hints of its exercises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hints {
    /// On the pages, and one by one from the command `hint`.
    Shown,
    /// Nowhere.
    Hidden,
}

/// The names of files of other exercises, for `grade`.
const OTHERS: &str = "others.json";

/// Writes the handout into `folder`, which must not exist yet; on failure nothing is left. `others` are
/// names of files of exercises that it leaves out.
///
/// # Errors
/// The folder exists, or cannot be written.
pub fn write(
    exercises: &[Exercise],
    others: &[String],
    folder: &Path,
    hints: Hints,
) -> Result<(), BadInput> {
    new_folder(folder, |whole| {
        fs::create_dir(whole.join("pages"))?;
        let command = with_folder(folder);
        fs::write(
            whole.join("README.md"),
            read_me(exercises, folder, &command, hints),
        )?;
        fs::write(whole.join(OTHERS), serde_json::to_string(others)?)?;
        exercises
            .iter()
            .try_for_each(|exercise| one(exercise, whole, &command, hints))
    })
}

/// Returns the names of files of exercises that a handout leaves out.
///
/// # Errors
/// They are not what [`write()`] wrote.
pub fn others(folder: &Path) -> Result<Vec<String>, BadInput> {
    let file = folder.join(OTHERS);
    if !data::is_there(&file) {
        return Ok(vec![]);
    }
    let names = serde_json::from_str(&data::read_text_file(&file, 1 << 16)?);
    names.map_err(|e| BadInput::new(file.display(), "names that `handout` wrote", e))
}

/// Makes `folder`, which must not exist yet, with what `fill` writes into the folder that it gets; on failure nothing is
/// left.
///
/// # Errors
/// The folder exists, or cannot be written.
pub fn new_folder(
    folder: &Path,
    fill: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), BadInput> {
    let bad = |expected: &str, found: String| BadInput::new(folder.display(), expected, found);
    if folder.exists() {
        return Err(bad("the name of a new folder", "one that exists".into()));
    }
    let parent = folder.parent().filter(|parent| *parent != Path::new(""));
    if let Some(none) = parent.filter(|parent| !parent.is_dir()) {
        let expected = "an existing folder, to create the new one in";
        return Err(BadInput::new(none.display(), expected, "none"));
    }
    let unwritable = |e: io::Error| bad("a folder that can be created", why(&e));
    let parent = parent.unwrap_or(Path::new("."));
    let beside = data::partial_folder(parent).map_err(unwritable)?;
    let whole = beside.path().join("new");
    let written = fs::create_dir(&whole).and_then(|()| fill(&whole));
    let written = written.and_then(|()| fs::rename(&whole, folder));
    // Nobody knows the file by its name in the temporary folder.
    let [hidden, shown] = [&*whole, folder].map(|path| path.display().to_string());
    written.map_err(|e| {
        bad(
            "a folder that can be created",
            why(&e).replace(&hidden, &shown),
        )
    })
}

/// The system's reason, without the path that tempfile adds.
fn why(error: &io::Error) -> String {
    match error.kind() {
        kind if error.get_ref().is_some() && kind != io::ErrorKind::Other => kind.to_string(),
        _ => error.to_string(),
    }
}

/// Whether a folder is a handout rather than the exercises themselves.
pub fn is_one(folder: &Path) -> bool {
    exercise::all(folder).is_ok()
}

fn one(exercise: &Exercise, whole: &Path, command: &str, hints: Hints) -> io::Result<()> {
    let mut exercise = exercise.clone();
    let topic = exercise
        .folder
        .parent()
        .and_then(Path::file_name)
        .unwrap_or_default();
    let folder = whole.join(topic).join(&exercise.id);
    fs::create_dir_all(&folder)?;
    let mut spec = fs::read_to_string(exercise.folder.join("exercise.toml"))?;
    if hints == Hints::Hidden {
        exercise.spec.hints = vec![];
        spec = without_hints(&spec);
    }
    fs::write(folder.join("exercise.toml"), spec)?;
    fs::copy(exercise.folder.join("page.md"), folder.join("page.md"))?;
    if exercise.language == Language::Rust {
        for name in ["check.rs", "calls.rs"] {
            fs::copy(exercise.folder.join(name), folder.join(name))?;
        }
    }
    let starter = format!("starter.{}", exercise.language.extension());
    fs::write(folder.join(starter), &exercise.starter)?;
    if let Some(costs) = &exercise.costs_before {
        let json = serde_json::to_string_pretty(costs)?;
        fs::write(folder.join(exercise::COSTS_BEFORE), json)?;
    }
    // Links lead into the book, which a handout does not have.
    let page = without_links(&page(&exercise, Solutions::Hidden));
    let alias = command.replace(COMMAND, ALIAS);
    fs::write(
        whole.join("pages").join(format!("{}.md", exercise.id)),
        page.replace(COMMAND, command).replace(ALIAS, &alias),
    )
}

/// Returns an `exercise.toml` without the array `hints`, which ends at the first line that begins with its bracket.
fn without_hints(spec: &str) -> String {
    let mut is_hint = false;
    let is_kept = |line: &&str| {
        is_hint |= line.starts_with("hints = [");
        let keep = !is_hint;
        is_hint &= !line.starts_with(']');
        keep
    };
    spec.split_inclusive('\n').filter(is_kept).collect()
}

/// Returns the start of every command in a handout, which is expected in the workbook's folder under its own
/// name.
fn with_folder(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    format!("{COMMAND} --exercises {}", quoted(Path::new(name)))
}

/// The order of each session: in the room, then the graded task at home, then what is optional.
fn in_order(exercises: &[Exercise]) -> Vec<&Exercise> {
    let mut all: Vec<&Exercise> = exercises.iter().collect();
    all.sort_by_key(|e| (e.spec.session, e.spec.optional, e.spec.graded));
    all
}

fn read_me(exercises: &[Exercise], folder: &Path, command: &str, hints: Hints) -> String {
    let hints = match hints {
        Hints::Shown => {
            "The hints are open: each page below ends with three, and `hint` prints them one by one."
        }
        Hints::Hidden => "This folder has no hints.",
    };
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let exercises = in_order(exercises);
    let first = exercises.first().map_or("", |first| first.number());
    let mut text = format!(
        "# Exercises\n\nCopy this folder, `{name}`, into the folder of the workbook, and run there:\n\n```sh\n{command} \
         list\n{command} start {first}\n{command} check\n```\n\nIf the folder is elsewhere or has another name, write its path after \
         `--exercises`. The programs print `cargo ex`, which is short for `{COMMAND}`. `start` with a number copies an exercise into the folder `my-exercises`. Edit only the lines between REGION and END, \
         keep the names of the files, and hand in the folder `my-exercises`.\n\n{hints} This folder has no solutions.\n\nIn the order to do them in:\n\n"
    );
    for exercise in exercises {
        let (id, spec) = (&exercise.id, &exercise.spec);
        text += &format!(
            "- [{id}](pages/{id}.md): {} (session {}{}, {} minutes)\n",
            spec.title,
            spec.session,
            of_session(spec),
            spec.minutes
        );
    }
    text
}
