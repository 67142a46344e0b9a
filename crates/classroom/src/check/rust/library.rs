//! The library of the exercises in Rust: the files that cargo built of it, with the lock file, features and profile of the
//! running program.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use data::BadInput;
use sandbox::Limits;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name of the library in messages.
pub const LIBRARY: &str = "the library of the exercises in Rust";

/// Name of its crate.
const NAME: &str = "exercise";

/// A compiled library, and what linking it needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Library {
    /// The file of the crate `exercise`.
    pub file: PathBuf,
    /// Folders of the libraries that it depends on.
    pub folders: BTreeSet<PathBuf>,
    /// Values of rustc's `-L` for the libraries of build scripts.
    pub native: Vec<String>,
}

/// The variable with the JSON of [`libraries`] that `grade` has asked for, so that no check waits for cargo.
pub const KNOWN: &str = "CANDLEPOWER_LIBRARIES";

/// The libraries in [`KNOWN`], or the one that cargo names, run with `arguments`, which is asked once. If it cannot be asked,
/// the libraries by name next to the running program, the newest first; a note says so.
///
/// # Errors
/// There is no library.
pub fn libraries(arguments: &[String]) -> Result<Vec<Library>, BadInput> {
    static ASKED: OnceLock<Result<Library, String>> = OnceLock::new();
    if let Ok(known) = std::env::var(KNOWN) {
        return serde_json::from_str(&known).map_err(|e| BadInput::new(KNOWN, "JSON", e));
    }
    let asked = ASKED.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let asked = ask(&cargo, arguments);
        if let Err(why) = &asked {
            data::note(format_args!(
                "{LIBRARY}: cargo does not name it ({why}), so the newest file of its name is used"
            ));
        }
        asked
    });
    match asked {
        Ok(library) => Ok(vec![library.clone()]),
        Err(_) => by_name(),
    }
}

/// Time limit of cargo, which may have to compile the library.
const LONGEST: Duration = Duration::from_secs(3600);

/// Asks cargo for the library, and says so if it compiles; the error is one line. It ends with this process.
fn ask(cargo: &OsStr, arguments: &[String]) -> Result<Library, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let root = root.unwrap_or(Path::new("."));
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let (target, profile) = place(&program);
    let mut command = Command::new(cargo);
    // Build scripts run again where one of these variables differs.
    let names = std::env::vars_os().map(|(name, _)| name);
    let is_of_package = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_")
    };
    for name in names.filter(is_of_package) {
        command.env_remove(name);
    }
    command
        .current_dir(root)
        .args(arguments)
        .args(["--quiet", "--offline", "--locked"])
        .args(["--message-format", "json"])
        .args(["--profile", &profile])
        .arg("--target-dir")
        .arg(target);
    let limits = Limits::new(LONGEST).unconfined().memory(u64::MAX);
    let limits = limits.file_size(u64::MAX).open_files(1 << 16);
    let why = |e: io::Error| format!("{}: {e}", cargo.display());
    let mut running = sandbox::spawn(command, &limits.processes(1 << 12)).map_err(why)?;
    let mut messages = String::new();
    let mut is_noted = false;
    for line in BufReader::new(running.stdout.take().ok_or("no stdout")?).lines() {
        let line = line.map_err(why)?;
        if !is_noted && is_compiled(&line) {
            data::note(format_args!(
                "compiling {LIBRARY}, once: minutes, if its dependencies are not compiled yet …"
            ));
            is_noted = true;
        }
        messages += &line;
        messages.push('\n');
    }
    let ended = running.wait().map_err(why)?;
    if !ended.success() {
        let said = ended.stderr.text();
        let mut lines = said.lines();
        let error = lines.find(|line| line.starts_with("error"));
        return Err(error.unwrap_or("an error without a text").to_owned());
    }
    read(&messages).ok_or_else(|| format!("no library `{NAME}` among what it built"))
}

/// Whether a message of cargo is about a crate that it has compiled now.
fn is_compiled(message: &str) -> bool {
    let message: Value = serde_json::from_str(message).unwrap_or_default();
    message["reason"] == "compiler-artifact" && message["fresh"] == false
}

/// Reads cargo's messages: "The Cargo Book", External tools.
fn read(messages: &str) -> Option<Library> {
    let texts = |value: &Value| -> Vec<String> {
        let all = value.as_array().into_iter().flatten();
        all.filter_map(|text| text.as_str().map(str::to_owned))
            .collect()
    };
    let (mut file, mut folders, mut native) = (None, BTreeSet::new(), vec![]);
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        match message["reason"].as_str() {
            Some("compiler-artifact") => {
                let files = texts(&message["filenames"]);
                for path in files.iter().map(Path::new) {
                    folders.extend(path.parent().map(Path::to_path_buf));
                }
                let library = files.into_iter().find(|file| file.ends_with(".rlib"));
                if message["target"]["name"] == NAME {
                    file = library.map(PathBuf::from).or(file);
                }
            }
            Some("build-script-executed") => native.extend(texts(&message["linked_paths"])),
            _ => {}
        }
    }
    Some(Library {
        file: file?,
        folders,
        native,
    })
}

/// The target folder of a program, and the name of its profile.
fn place(program: &Path) -> (&Path, String) {
    let mut folders = program.ancestors().skip(1);
    let is_inner = |folder: &&Path| !folder.ends_with("deps") && !folder.ends_with("examples");
    let profile = folders.find(is_inner).unwrap_or(Path::new("."));
    let name = profile.file_name().unwrap_or_default().to_string_lossy();
    let name = if name == "debug" { "dev".into() } else { name };
    (profile.parent().unwrap_or(profile), name.into_owned())
}

/// The compiled crates `exercise` among the libraries of the running program: one per set of features, newest first.
fn by_name() -> Result<Vec<Library>, BadInput> {
    let missing =
        |found: String| BadInput::new(LIBRARY, "libexercise-….rlib next to this program", found);
    let program = std::env::current_exe().map_err(|e| missing(e.to_string()))?;
    let folder = program.parent().unwrap_or(Path::new("."));
    // A test program is in the folder of the libraries itself.
    let deps = Some(folder.join("deps")).filter(|deps| deps.is_dir());
    let folder = deps.unwrap_or(folder.into());
    let entries = std::fs::read_dir(&folder).map_err(|e| missing(e.to_string()))?;
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libexercise-") && name.ends_with(".rlib")
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(is_it).collect();
    found.sort_by_key(|path| path.metadata().and_then(|data| data.modified()).ok());
    found.reverse();
    if found.is_empty() {
        return Err(missing(format!("none in {}", folder.display())));
    }
    let library = |file| Library {
        file,
        folders: [folder.clone()].into(),
        native: vec![],
    };
    Ok(found.into_iter().map(library).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_the_one_that_cargo_names() {
        let cargo = std::env::var_os("CARGO").unwrap();
        let arguments = ["test", "--no-run", "-p", "classroom", "--lib"].map(String::from);
        let library = ask(&cargo, &arguments).unwrap();
        assert!(library.file.is_file(), "{library:?}");
        let folder = library.file.parent().unwrap();
        assert!(library.folders.contains(folder), "{library:?}");
        // The profile of this test.
        let own = std::env::current_exe().unwrap();
        assert!(folder.starts_with(own.ancestors().nth(2).unwrap()));
        // By name there may be more, and this one is among them.
        let named = by_name().unwrap();
        assert!(named.iter().any(|other| other.file == library.file));
    }

    #[test]
    fn without_cargo_the_reason_is_one_line() {
        let why = ask(OsStr::new("no-such-cargo"), &[]).unwrap_err();
        assert!(why.starts_with("no-such-cargo: "), "{why}");
        // A program that ends with an error, and writes nothing.
        let why = ask(OsStr::new("false"), &[]).unwrap_err();
        assert_eq!(why, "an error without a text");
        let why = ask(OsStr::new("true"), &[]).unwrap_err();
        assert_eq!(why, "no library `exercise` among what it built");
    }

    #[test]
    fn messages_of_cargo_name_files_and_folders() {
        let messages = [
            r#"{"reason":"compiler-artifact","target":{"name":"half"},"filenames":["/t/a/libhalf-1.rlib","/t/a/libhalf-1.rmeta"]}"#,
            r#"{"reason":"build-script-executed","linked_paths":["native=/n"]}"#,
            "a line of another program",
            r#"{"reason":"compiler-artifact","target":{"name":"exercise"},"filenames":["/t/b/libexercise-2.rlib","/t/b/libexercise-2.rmeta"]}"#,
            r#"{"reason":"build-finished","success":true}"#,
        ];
        let library = Library {
            file: "/t/b/libexercise-2.rlib".into(),
            folders: ["/t/a".into(), "/t/b".into()].into(),
            native: vec!["native=/n".into()],
        };
        assert_eq!(read(&messages.join("\n")), Some(library));
        assert!(!messages.iter().any(|message| is_compiled(message)));
        let compiled = messages[0].replacen('{', "{\"fresh\":false,", 1);
        assert!(is_compiled(&compiled), "{compiled}");
        assert_eq!(read(messages[0]), None);
    }

    #[test]
    fn a_program_is_of_a_profile() {
        let of = |path| {
            let (target, profile) = place(Path::new(path));
            (target.to_owned(), profile)
        };
        let release = (PathBuf::from("/t"), "release".to_owned());
        assert_eq!(of("/t/release/workbook"), release);
        assert_eq!(of("/t/release/examples/lm"), release);
        assert_eq!(of("/t/debug/deps/a-1"), ("/t".into(), "dev".into()));
    }
}
