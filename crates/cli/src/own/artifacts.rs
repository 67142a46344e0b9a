//! The compiled libraries of a program, as cargo lists them.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::progress::Waiting;

/// A program that can run a learner's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `cargo run --release`
    Workbook,
    /// `cargo run --release -p level4 --example lm`
    Example {
        /// `lm`, `vit` or `gnn`
        model: &'static str,
        /// Number of the level.
        level: u8,
    },
}

impl Program {
    /// `workbook`, `level4-lm`
    pub(super) fn name(self) -> String {
        match self {
            Self::Workbook => "workbook".into(),
            Self::Example { model, level } => format!("level{level}-{model}"),
        }
    }

    /// The crate and the call of its `main`.
    pub(super) fn main(self) -> (&'static str, String) {
        match self {
            Self::Workbook => ("workbook", "workbook::main()".into()),
            Self::Example { model, level } => ("cli", format!("cli::{model}::main({level})")),
        }
    }

    /// Arguments of cargo that build its libraries with the features of the running program.
    pub fn cargo(self) -> Vec<String> {
        [vec!["build".to_owned()], self.options()].concat()
    }

    /// Options of `cargo build` that build its libraries with the features of the running program.
    fn options(self) -> Vec<String> {
        let mut options: Vec<String> = match self {
            Self::Workbook => ["-p", "workbook", "--lib"].map(String::from).into(),
            Self::Example { model, level } => ["-p", &format!("level{level}"), "--example", model]
                .map(String::from)
                .into(),
        };
        let mut features = vec![];
        if cfg!(feature = "cuda") {
            features.push("cuda");
        }
        if cfg!(feature = "hub") && self == Self::Workbook {
            features.push("hub");
        }
        if !features.is_empty() {
            options.extend(["--features".into(), features.join(",")]);
        }
        options
    }
}

/// The libraries of a program, and where programs with a learner's level are built.
#[derive(Debug, Clone)]
pub struct Artifacts {
    pub(super) program: Program,
    /// Libraries by the name of their crate.
    libraries: HashMap<String, PathBuf>,
    /// The compiler that made them, and the folder of its own libraries.
    pub(super) rustc: PathBuf,
    pub(super) sysroot: PathBuf,
    /// Values of rustc's `-L` for the libraries of build scripts.
    pub(super) native: Vec<String>,
    /// `target/release/own`
    pub(super) folder: PathBuf,
}

impl Artifacts {
    /// Builds what is missing of the program's libraries, usually nothing, and lists them.
    ///
    /// # Errors
    /// cargo cannot be run, or the build fails.
    pub fn of(program: Program) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
        let root = root.unwrap_or(Path::new("."));
        let (target, profile) = place()?;
        let _waiting = Waiting::new(COMPILING);
        let mut command = cargo();
        command
            .current_dir(root)
            .args([
                "build",
                "--quiet",
                "--message-format=json-render-diagnostics",
            ])
            .args([
                "--profile",
                if profile == "debug" { "dev" } else { &profile },
            ])
            .arg("--target-dir")
            .arg(&target)
            .args(program.options())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = command
            .spawn()
            .context("a level of your own is compiled here, which needs cargo")?;
        let mut messages: Vec<Value> = vec![];
        for line in BufReader::new(child.stdout.take().context("cargo")?).lines() {
            let message = serde_json::from_str(&line?).unwrap_or_default();
            // In a terminal, the wait is shown.
            let is_first = !messages.iter().any(is_compiled);
            if is_first && is_compiled(&message) && !std::io::stderr().is_terminal() {
                data::note(format_args!("{COMPILING} …"));
            }
            messages.push(message);
        }
        ensure!(
            child.wait()?.success(),
            "expected cargo to build {}, found an error",
            program.name()
        );
        let sysroot = sysroot()?;
        let mut artifacts = Self {
            program,
            rustc: sysroot
                .join("bin")
                .join(format!("rustc{}", std::env::consts::EXE_SUFFIX)),
            sysroot,
            libraries: HashMap::new(),
            native: vec![],
            folder: target.join(&profile).join("own"),
        };
        messages.iter().for_each(|message| artifacts.add(message));
        Ok(artifacts)
    }

    /// Where levels are compiled, each in a folder of its own.
    pub fn folder(&self) -> PathBuf {
        self.folder.join(self.program.name())
    }

    /// Reads a message of cargo: "The Cargo Book", External tools.
    fn add(&mut self, message: &Value) {
        let texts = |value: &Value| -> Vec<String> {
            let all = value.as_array().into_iter().flatten();
            all.filter_map(|text| text.as_str().map(str::to_owned))
                .collect()
        };
        match message["reason"].as_str() {
            Some("compiler-artifact") => {
                let files = texts(&message["filenames"]);
                let library = files.into_iter().find(|file| file.ends_with(".rlib"));
                let name = message["target"]["name"].as_str().unwrap_or_default();
                if let Some(library) = library {
                    self.libraries
                        .insert(name.replace('-', "_"), library.into());
                }
            }
            Some("build-script-executed") => self.native.extend(texts(&message["linked_paths"])),
            _ => {}
        }
    }

    /// The library of a crate.
    ///
    /// # Errors
    /// The program has no such crate.
    pub(super) fn library(&self, name: &str) -> Result<&Path> {
        let library = self.libraries.get(name).map(PathBuf::as_path);
        library.with_context(|| {
            format!(
                "{}: expected the library `{name}`, found none",
                self.program.name()
            )
        })
    }

    /// Folders that a compilation against the libraries reads.
    pub(super) fn folders(&self) -> BTreeSet<PathBuf> {
        let of = |library: &PathBuf| library.parent().map(Path::to_path_buf);
        let mut folders: BTreeSet<PathBuf> = self.libraries.values().filter_map(of).collect();
        for path in &self.native {
            // `KIND=PATH`
            let path = path.split_once('=').map_or(&**path, |(_, path)| path);
            if Path::new(path).is_dir() {
                folders.insert(path.into());
            }
        }
        folders
    }

    /// A text that differs whenever one of `crates` is compiled again.
    pub(super) fn stamp(&self, crates: &[&str]) -> Result<String> {
        let mut stamp = String::new();
        for name in crates {
            let library = self.library(name)?;
            let changed = library.metadata().and_then(|data| data.modified())?;
            stamp += &format!("{} {changed:?}\n", library.display());
        }
        Ok(stamp)
    }
}

/// A step that takes minutes after an edit of the workbook.
const COMPILING: &str = "compiling the libraries that levels are linked with";

/// Whether a message of cargo says that it had to compile a crate.
fn is_compiled(message: &Value) -> bool {
    message["reason"] == "compiler-artifact" && message["fresh"] == false
}

/// The cargo that started this program, without the variables that it set for it.
///
/// Build scripts ask to run again when one of `CARGO_MANIFEST_DIR` and the like changes (ring's does). If cargo is started
/// with them by a program and without them by the user, each of the two compiles such a crate again.
pub fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_MANIFEST_") || text.starts_with("CARGO_PKG_") {
            command.env_remove(name);
        }
    }
    command
}

/// The folder of the compiler that rustup selects in the workspace.
fn sysroot() -> Result<PathBuf> {
    let mut command = Command::new("rustc");
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["--print", "sysroot"]);
    let output = command.output().context("rustc")?;
    ensure!(output.status.success(), "expected rustc to name its folder");
    Ok(String::from_utf8(output.stdout)?.trim_end().into())
}

/// The target folder and the profile's folder in it, from the path of the running program.
fn place() -> Result<(PathBuf, String)> {
    let program = std::env::current_exe().context("the path of this program")?;
    let folders = program.ancestors().skip(1);
    let is_inner = |folder: &&Path| !folder.ends_with("deps") && !folder.ends_with("examples");
    let profile = folders.into_iter().find(is_inner).unwrap_or(Path::new("."));
    let name = profile.file_name().unwrap_or_default().to_string_lossy();
    let target = profile.parent().unwrap_or(profile);
    Ok((target.to_path_buf(), name.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_crate_that_is_compiled_makes_a_wait() {
        let message = |reason, fresh: bool| serde_json::json!({"reason": reason, "fresh": fresh});
        assert!(is_compiled(&message("compiler-artifact", false)));
        assert!(!is_compiled(&message("compiler-artifact", true)));
        assert!(!is_compiled(&message("build-script-executed", false)));
        assert!(!is_compiled(&Value::Null));
    }

    #[test]
    fn cargo_is_started_as_a_user_starts_it() {
        let variables = ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"];
        assert!(
            variables
                .iter()
                .all(|name| std::env::var_os(name).is_some())
        );
        let cargo = cargo();
        let removed: Vec<_> = cargo
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .collect();
        for name in variables {
            assert!(
                removed.iter().any(|(removed, _)| *removed == name),
                "{name}"
            );
        }
    }
}
