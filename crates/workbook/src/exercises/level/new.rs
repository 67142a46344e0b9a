//! `level new`: the crate of a level, which begins as level 1.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use classroom::handout::new_folder;
use cli::files;
use cli::own::{self, Artifacts, OwnLevel, Program};
use cli::progress::Waiting;
use data::BadInput;

/// `src/ops.rs` of a new level.
pub const OPS: &str = include_str!("template/ops.rs");

/// The files of the crate; `NAME` and `ROOT` in them are replaced.
const FILES: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("template/Cargo.toml.in")),
    ("src/lib.rs", include_str!("template/lib.rs")),
    ("src/ops.rs", OPS),
];

/// Ends a manifest of a crate that the command `hint` gives no hints for.
const NO_HINTS: &str = "\n[package.metadata.candlepower]\nhints = false\n";

/// File in a crate that has not been compiled yet, because `new` runs or was ended.
const UNFINISHED: &str = ".candlepower-unfinished";

/// Writes the crate of the level `name` below the learner's folder `dir`, and compiles it. A failure leaves no crate. If it
/// is ended before, the next call goes on with the crate.
pub fn new(name: &str, dir: &Path) -> Result<bool> {
    let folder = dir.join("levels").join(name);
    write(name, &folder)?;
    if let Err(error) = build(name, &folder) {
        // If the folder cannot be removed, it holds a complete crate.
        let _ = fs::remove_dir_all(&folder);
        return Err(error);
    }
    let finished = fs::remove_file(folder.join(UNFINISHED));
    finished.map_err(|e| BadInput::unwritable(&folder, &e))?;
    data::println!(
        "{} is level 1 now: every method delegates to it.",
        folder.display()
    );
    data::println!(
        "Replace a method in {}.",
        folder.join("src/ops.rs").display()
    );
    // By its name, a level is found in the folder of that name only.
    let is_near = dir == Path::new(own::FOLDER);
    let level = if is_near {
        name.into()
    } else {
        folder.display().to_string()
    };
    data::println!("Check it on each save: cargo ex level watch {level}");
    data::println!("Compare it: cargo run --release -- --level {level}");
    Ok(true)
}

fn build(name: &str, folder: &Path) -> Result<()> {
    let _waiting = Waiting::new(format!("building {name}"));
    let artifacts = Artifacts::of(Program::Workbook)?;
    own::build(&artifacts, &[OwnLevel::at(folder)?])??;
    Ok(())
}

/// Writes the files of the crate into a new folder.
///
/// # Errors
/// The name is none for a crate, or the folder exists or cannot be written.
fn write(name: &str, folder: &Path) -> Result<()> {
    let is_taken = name.starts_with("level") || USED.contains(&name) || KEYWORDS.contains(&name);
    if !levels::is_name(name) || is_taken {
        let expected = "lowercase letters, digits and `_` after a lowercase letter, not `level…`, a keyword of Rust or the name of another crate (`--dir DIR` chooses the folder)";
        return Err(BadInput::new("NAME", expected, format!("{name:?}")).into());
    }
    if folder.to_str().is_none() {
        let expected = "a path in UTF-8 (rustc takes no other)";
        return Err(BadInput::new("--dir", expected, folder.display()).into());
    }
    let root = root()?;
    let root_text = root.display().to_string().replace('\\', "/");
    if is_unfinished(name, folder, &root_text) {
        return Ok(());
    }
    if folder.exists() {
        let expected = "a new folder (remove it to begin again)";
        return Err(BadInput::new(folder.display(), expected, "one that exists").into());
    }
    // The same versions of all dependencies, so that nothing is fetched.
    let lock = data::read(&root.join("Cargo.lock"))?;
    let parent = folder.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(|e| BadInput::unwritable(parent, &e))?;
    Ok(new_folder(folder, |whole| {
        write_files(name, whole, &root_text, true)?;
        fs::write(whole.join("Cargo.lock"), &lock)?;
        fs::write(whole.join(UNFINISHED), "")
    })?)
}

/// Whether a call of `new` that was ended has written the crate in `folder`, and its files are as they were.
fn is_unfinished(name: &str, folder: &Path, root: &str) -> bool {
    let is_as_written = |(file, text): (&str, &str)| {
        let found = data::read_text_file(&folder.join(file), 1 << 20);
        found.is_ok_and(|found| found == filled(text, name, root))
    };
    folder.join(UNFINISHED).is_file() && FILES.into_iter().all(is_as_written)
}

/// A template with the names of the level and of the workspace's folder.
fn filled(text: &str, name: &str, root: &str) -> String {
    text.replace("NAME", name).replace("ROOT", root)
}

/// The workspace's folder.
fn root() -> Result<PathBuf> {
    let manifest = files::find("crates/level_kit/Cargo.toml")?.canonicalize()?;
    let root = manifest.ancestors().nth(3);
    Ok(root.map_or_else(|| "/".into(), Path::to_path_buf))
}

/// Writes the crate's own files; `root` is the path of the workspace in its manifest.
pub fn write_files(name: &str, folder: &Path, root: &str, hints: bool) -> io::Result<()> {
    fs::create_dir_all(folder.join("kernels"))?;
    for (file, text) in FILES {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        let mut text = filled(text, name, root);
        if file == "Cargo.toml" && !hints {
            text += NO_HINTS;
        }
        fs::write(&path, text)?;
    }
    Ok(())
}

/// Whether the command `hint` may give hints for the crate in `folder`.
pub fn has_hints(folder: &Path) -> Result<bool, BadInput> {
    let file = folder.join("Cargo.toml");
    if !file.is_file() {
        return Ok(true);
    }
    let manifest: toml::Table =
        data::read_text(&file)?
            .parse()
            .map_err(|error: toml::de::Error| {
                BadInput::new(file.display(), "a manifest", error.message())
            })?;
    let metadata = manifest.get("package").and_then(|p| p.get("metadata"));
    let hints = metadata.and_then(|m| m.get("candlepower")?.get("hints")?.as_bool());
    Ok(hints.unwrap_or(true))
}

/// Crates whose names a level cannot have.
const USED: [&str; 13] = [
    "alloc",
    "candle_core",
    "candle_nn",
    "cli",
    "core",
    "half",
    "models",
    "proc_macro",
    "program",
    "rayon",
    "std",
    "test",
    "workbook",
];

/// Keywords of Rust, also those that are reserved for later.
const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
