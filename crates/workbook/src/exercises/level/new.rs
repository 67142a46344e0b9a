//! `level new`: the crate of a level, which begins as level 1.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
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

/// Writes the crate of the level `name` below the learner's folder `dir`, and compiles it.
pub fn new(name: &str, dir: &Path) -> Result<bool> {
    let folder = dir.join("levels").join(name);
    write(name, &folder)?;
    let built = {
        let _waiting = Waiting::new(format!("building {name}"));
        let artifacts = Artifacts::of(Program::Workbook)?;
        own::build(&artifacts, &[OwnLevel::at(&folder)?])?
    };
    built?;
    println!(
        "{} is level 1 now: every method delegates to it.",
        folder.display()
    );
    println!(
        "Replace a method in {}.",
        folder.join("src/ops.rs").display()
    );
    println!("Compare it: cargo run --release -- --level {name}");
    Ok(true)
}

/// Writes the files of the crate into a new folder.
///
/// # Errors
/// The name is none for a crate, or the folder exists.
pub fn write(name: &str, folder: &Path) -> Result<()> {
    let is_taken = |taken: &str| name == taken || name.starts_with("level");
    if !levels::is_name(name) || USED.iter().any(|taken| is_taken(taken)) {
        let expected =
            "lowercase letters, digits and `_`, not `level…` or the name of another crate";
        return Err(BadInput::new("NAME", expected, format!("{name:?}")).into());
    }
    if folder.exists() {
        let expected = "a new folder (remove it to begin again)";
        return Err(BadInput::new(folder.display(), expected, "one that exists").into());
    }
    let root = root()?;
    let root_text = root.display().to_string().replace('\\', "/");
    write_files(name, folder, &root_text, true)?;
    // The same versions of all dependencies, so that nothing is fetched.
    let lock = fs::read(root.join("Cargo.lock"))?;
    data::save_as(folder.join("Cargo.lock"), &lock)?;
    Ok(())
}

/// The workspace's folder.
fn root() -> Result<PathBuf> {
    let manifest = files::find("crates/level_kit/Cargo.toml")?.canonicalize()?;
    let root = manifest.ancestors().nth(3);
    Ok(root.map_or_else(|| "/".into(), Path::to_path_buf))
}

/// Writes the crate's own files; `root` is the path of the workspace in its manifest.
pub fn write_files(name: &str, folder: &Path, root: &str, hints: bool) -> Result<()> {
    fs::create_dir_all(folder.join("kernels")).with_context(|| folder.display().to_string())?;
    for (file, text) in FILES {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        let mut text = text.replace("NAME", name).replace("ROOT", root);
        if file == "Cargo.toml" && !hints {
            text += NO_HINTS;
        }
        data::save_as(&path, text.as_bytes())?;
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
const USED: [&str; 11] = [
    "alloc",
    "candle_core",
    "cli",
    "core",
    "half",
    "models",
    "program",
    "rayon",
    "std",
    "test",
    "workbook",
];
