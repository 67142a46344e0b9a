//! The package around a learner's files in Rust, for an editor: rust-analyzer completes names and marks errors.
//!
//! `check` and `grade` do not read it; they write a package of their own around one file.

use std::fs;
use std::path::Path;

use classroom::{Exercise, Language, Learner};
use cli::files;
use data::BadInput;

/// The first line of the manifest, by which a later call knows its own.
const FIRST: &str = "# For your editor: `cargo ex start` writes this file. The check of an exercise does not read it.";

/// The root of the library. Hidden, so that it is no submission.
const LIBRARY: &str = ".lib.rs";

/// Writes the package into the learner's folder, with all exercises in Rust that have a file there. Returns the
/// folder if it already has a package that is the learner's own, which stays.
pub fn write<'a>(
    exercises: &[Exercise],
    learner: &'a Learner,
) -> Result<Option<&'a Path>, BadInput> {
    let folder = learner.folder();
    let manifest = folder.join("Cargo.toml");
    let is_ours = if data::is_there(&manifest) {
        data::read_text_file(&manifest, 1 << 20)?.starts_with(FIRST)
    } else {
        !["Cargo.lock", LIBRARY]
            .map(|name| data::is_there(&folder.join(name)))
            .contains(&true)
    };
    if !is_ours {
        return Ok(Some(folder));
    }
    let begun = |e: &&Exercise| e.language == Language::Rust && learner.file(e).is_file();
    let begun: Vec<&Exercise> = exercises.iter().filter(begun).collect();
    if begun.is_empty() {
        return Ok(None);
    }
    let prelude = files::find("exercises/prelude/Cargo.toml")?;
    let prelude = prelude
        .canonicalize()
        .map_err(|e| BadInput::unreadable(&prelude, &e))?;
    let root = prelude.ancestors().nth(3).unwrap_or(Path::new("/"));
    let path = root.display().to_string();
    let path = path
        .strip_prefix(r"\\?\")
        .unwrap_or(&path)
        .replace('\\', "/");
    let modules = begun.iter().map(|exercise| {
        let name = exercise.id.replace('-', "_");
        format!("#[path = {:?}]\npub mod e{name};\n", exercise.file())
    });
    let library = format!("#![forbid(unsafe_code)]\n{}", modules.collect::<String>());
    // First, because a later call knows the package by it.
    data::save_as(&manifest, text(&path))?;
    data::save_as(folder.join(LIBRARY), library)?;
    // The versions of all dependencies, so that nothing is fetched.
    let lock = root.join("Cargo.lock");
    let lock = fs::read(&lock).map_err(|e| BadInput::unreadable(&lock, &e))?;
    data::save_as(folder.join("Cargo.lock"), lock)?;
    Ok(None)
}

/// The manifest, with `root` as the path of the workbook.
fn text(root: &str) -> String {
    format!(
        "{FIRST}
[package]
name = \"my-exercises\"
version = \"0.0.0\"
edition = \"2024\"
publish = false

[lib]
path = \"{LIBRARY}\"
doctest = false

[dependencies]
exercise = {{ path = \"{root}/exercises/prelude\" }}
# The features that everything else in the workbook is compiled with.
workspace-hack = {{ path = \"{root}/crates/workspace-hack\" }}

# A workspace of its own: a mistake here breaks no other build.
[workspace]
"
    )
}
