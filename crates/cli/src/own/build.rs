//! Compiles learners' levels and links them to a program.

use std::error::Error;
use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use data::BadInput;
use sandbox::Limits;
use serde_json::Value;

use super::{Artifacts, OwnLevel};

/// Crates that a level may use.
const USABLE: [&str; 7] = [
    "candle_core",
    "candle_nn",
    "level1",
    "level_kit",
    "models",
    "rayon",
    "half",
];

/// A program with learners' levels in it.
#[derive(Debug, Clone)]
pub struct Built {
    /// Its path.
    pub program: PathBuf,
}

/// A level that does not compile; prints as one line.
#[derive(Debug)]
pub struct NotCompiled {
    /// rustc's first error, with file and line.
    pub line: BadInput,
    /// All errors as rustc shows them in a terminal, and their number; empty if it is not rustc that refuses.
    pub text: String,
}

impl Display for NotCompiled {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        self.line.fmt(f)
    }
}

impl Error for NotCompiled {}

impl From<BadInput> for NotCompiled {
    fn from(line: BadInput) -> Self {
        let text = String::new();
        Self { line, text }
    }
}

/// What rustc says of a text that it refuses.
struct Said {
    /// All of it, in JSON.
    whole: String,
    /// The first error in one line: `FILE:LINE:COLUMN: error[E0425]: …`.
    first: String,
    /// All errors as a terminal shows them, and their number if there are several.
    rendered: String,
}

impl Said {
    fn line(first: String) -> Self {
        Self {
            whole: first.clone(),
            first,
            rendered: String::new(),
        }
    }

    /// Reads stderr; `ended` says how rustc ended, in case that there is no error in it.
    fn of(stderr: String, ended: impl Display) -> Self {
        let messages = stderr.lines().flat_map(serde_json::from_str::<Value>);
        let is_error = |message: &Value| {
            let text = |key: &str| message[key].as_str().unwrap_or_default();
            text("level").starts_with("error") && !text("message").starts_with("aborting due to")
        };
        let errors: Vec<Value> = messages.filter(is_error).collect();
        let Some(first) = errors.first().map(in_one_line) else {
            let line = stderr.lines().find(|line| is_error_line(line));
            let last = || stderr.lines().last().unwrap_or_default();
            let first = line.map(str::to_owned).unwrap_or_else(|| {
                format!("error: the compiler ended early ({ended}): {}", last())
            });
            return Self {
                whole: stderr,
                first,
                rendered: String::new(),
            };
        };
        let texts = errors.iter().filter_map(|error| error["rendered"].as_str());
        let mut rendered = texts.collect::<String>().trim_end().to_owned();
        if errors.len() > 1 {
            rendered += &format!("\n\n({} errors)", errors.len());
        }
        Self {
            whole: stderr,
            first,
            rendered,
        }
    }
}

/// An error in one line, with the label of its place.
fn in_one_line(error: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let code = error["code"]["code"].as_str();
    let code = code.map_or(String::new(), |code| format!("[{code}]"));
    let line = format!("error{code}: {}", text(&error["message"]));
    let mut spans = error["spans"].as_array().into_iter().flatten();
    let Some(mut span) = spans.find(|span| span["is_primary"] == true) else {
        return line;
    };
    let label = span["label"].as_str();
    let label = label.map_or(String::new(), |label| format!(": {label}"));
    // The text of a macro is the place where it is called.
    while span["expansion"]["span"].is_object() {
        span = &span["expansion"]["span"];
    }
    format!(
        "{}:{}:{}: {line}{label}",
        text(&span["file_name"]),
        span["line_start"],
        span["column_start"]
    )
}

fn is_error_line(line: &str) -> bool {
    line.contains(": error") || line.starts_with("error")
}

/// Time limit of a level's compilation, and of the linking.
const LONGEST: Duration = Duration::from_secs(120);

/// Limit of the compiler's address space in bytes.
const MEMORY: u64 = 8 << 30;

/// Runs rustc, which writes to `folder` only; returns what went wrong.
fn run(
    mut command: Command,
    artifacts: &Artifacts,
    levels: &[OwnLevel],
    folder: &Path,
) -> Result<Result<(), Said>> {
    let mut limits = Limits::new(LONGEST)
        .memory(MEMORY)
        .file_size(4 << 30)
        .open_files(4096)
        .processes(64)
        .output(16 << 20);
    // Where the compiler makes its temporary folder.
    command.current_dir(folder);
    if levels.iter().any(OwnLevel::is_confined) {
        let set = command.get_envs();
        let set: Vec<(OsString, OsString)> = set
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().envs(set).env("PATH", path);
        // The linker's temporary files.
        command.env("TMPDIR", folder);
        limits = limits.readable(&artifacts.sysroot).writable(folder);
        for folder in artifacts.folders() {
            limits = limits.readable(folder);
        }
        for level in levels {
            limits = limits.readable(level.folder());
        }
    } else {
        limits = limits.unconfined();
    }
    let outcome = sandbox::run(command, &limits).context("rustc")?;
    if outcome.success() {
        return Ok(Ok(()));
    }
    if outcome.killed.is_some() {
        let seconds = LONGEST.as_secs();
        let line =
            format!("error: expected it to compile within {seconds} s, found it still compiling");
        return Ok(Err(Said::line(line)));
    }
    Ok(Err(Said::of(outcome.stderr.text(), outcome.status)))
}

/// Compiles what changed of `levels`, and links all of them to the program of `artifacts`. The inner error is about a text of
/// a level.
///
/// # Errors
/// rustc cannot be run, or its output cannot be written.
pub fn build(artifacts: &Artifacts, levels: &[OwnLevel]) -> Result<Result<Built, NotCompiled>> {
    let names: Vec<&str> = levels.iter().map(OwnLevel::name).collect();
    let folder = artifacts
        .folder
        .join(artifacts.program.name())
        .join(key(levels)?);
    fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    let mut stamp = artifacts.stamp(&USABLE)?;
    for level in levels {
        match library(artifacts, level, &folder)? {
            Ok(changed) => stamp += &changed,
            Err(bad) => return Ok(Err(bad)),
        }
    }
    let (host, call) = artifacts.program.main();
    stamp += &artifacts.stamp(&[host, "cli"])?;
    let program = folder.join(format!(
        "{}{}",
        names.join("-"),
        std::env::consts::EXE_SUFFIX
    ));
    let stamped = folder.join("program.stamp");
    if program.is_file() && fs::read_to_string(&stamped).is_ok_and(|old| old == stamp) {
        return Ok(Ok(Built { program }));
    }
    let registered = names
        .iter()
        .map(|name| format!("    cli::own::register({name:?}, {name}::ops);\n"));
    let text = format!(
        "fn main() -> std::process::ExitCode {{\n{}    {call}\n}}\n",
        registered.collect::<String>()
    );
    let main = folder.join("main.rs");
    data::save_as(&main, text.as_bytes())?;
    let mut command = rustc(artifacts, "program", &["cli", host])?;
    for name in &names {
        command
            .arg("--extern")
            .arg(format!("{name}={}", rlib(&folder, name).display()));
    }
    for path in &artifacts.native {
        command.args(["-L", path]);
    }
    command
        .args(["--crate-type", "bin", "-o"])
        .args([&program, &main]);
    if let Err(said) = run(command, artifacts, levels, &folder)? {
        let is_named = |level: &&OwnLevel| said.whole.contains(&format!("{}::ops", level.name()));
        let named = levels.iter().find(is_named);
        let level = named.unwrap_or(&levels[0]);
        let NotCompiled { line: error, text } = not_compiled(&said, level, &main);
        let expected = if named.is_some() {
            "`pub fn ops() -> std::sync::Arc<dyn models::Ops>`"
        } else if ["undefined symbol", "undefined reference"]
            .iter()
            .any(|what| said.whole.contains(what))
        {
            "code whose functions all exist"
        } else {
            // No text of a level does this, so that it is no learner's fault.
            bail!("linking {}: {}", names.join(", "), error.found);
        };
        let file = level.folder().join("src/lib.rs");
        let line = BadInput::new(file.display(), expected, error.found);
        return Ok(Err(NotCompiled { line, text }));
    }
    data::save_as(&stamped, stamp.as_bytes())?;
    Ok(Ok(Built { program }))
}

/// A folder's name that differs for crates at different places.
fn key(levels: &[OwnLevel]) -> Result<String> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    for level in levels {
        let path = level.folder().canonicalize();
        path.with_context(|| level.folder().display().to_string())?
            .hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn rlib(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("lib{name}.rlib"))
}

/// Compiles the library of a level if one of its files has changed; returns a text that differs after each change.
fn library(
    artifacts: &Artifacts,
    level: &OwnLevel,
    folder: &Path,
) -> Result<Result<String, NotCompiled>> {
    let name = level.name();
    let (out, stamped) = (rlib(folder, name), folder.join(format!("{name}.stamp")));
    let listed = folder.join(format!("{name}.d"));
    let before = artifacts.stamp(&USABLE)?;
    let stamp = || before.clone() + &files(&listed);
    if out.is_file() && fs::read_to_string(&stamped).is_ok_and(|old| old == stamp()) {
        return Ok(Ok(stamp()));
    }
    let root = level
        .folder()
        .canonicalize()
        .with_context(|| level.folder().display().to_string())?;
    let mut command = rustc(artifacts, name, &USABLE)?;
    command
        .env("CARGO_MANIFEST_DIR", &root)
        .args([
            "--crate-type",
            "rlib",
            "-C",
            "opt-level=3",
            "-C",
            "debuginfo=line-tables-only",
        ])
        .arg("-C")
        .arg(format!(
            "incremental={}",
            folder.join("incremental").display()
        ))
        .arg(format!(
            "--emit=link={},dep-info={}",
            out.display(),
            listed.display()
        ))
        .arg(root.join("src/lib.rs"));
    if let Err(said) = run(command, artifacts, std::slice::from_ref(level), folder)? {
        return Ok(Err(not_compiled(&said, level, &root)));
    }
    data::save_as(&stamped, stamp().as_bytes())?;
    Ok(Ok(stamp()))
}

/// Times and sizes of the files that a list of rustc's names: `output: file file …`.
fn files(listed: &Path) -> String {
    let list = fs::read_to_string(listed).unwrap_or_default();
    let line = list.lines().next().unwrap_or_default();
    let names = line
        .split_once(": ")
        .map_or("", |(_, names)| names)
        .replace("\\ ", "\0");
    let of = |name: &str| {
        let name = name.replace('\0', " ");
        let data = fs::metadata(&name).and_then(|data| Ok((data.modified()?, data.len())));
        format!("{name} {data:?}\n")
    };
    names.split_whitespace().map(of).collect()
}

/// A call of the compiler that made the libraries, with `crates` to use.
fn rustc(artifacts: &Artifacts, name: &str, crates: &[&str]) -> Result<Command> {
    let mut command = Command::new(&artifacts.rustc);
    // Warnings are for the learner's editor. Lints that are errors stay: one of them ends constants that take too long.
    command.args(["--edition", "2024", "-A", "warnings"]).args([
        "--error-format",
        "json",
        "--crate-name",
        name,
    ]);
    for name in crates {
        let library = artifacts.library(name)?;
        command
            .arg("--extern")
            .arg(format!("{name}={}", library.display()));
        if let Some(folder) = library.parent() {
            command
                .arg("-L")
                .arg(format!("dependency={}", folder.display()));
        }
    }
    Ok(command)
}

/// rustc's errors, with the path of the file as the learner would type it.
fn not_compiled(said: &Said, level: &OwnLevel, root: &Path) -> NotCompiled {
    let (root, own) = (
        root.display().to_string(),
        level.folder().display().to_string(),
    );
    let line = said.first.replace(&root, &own);
    let (place, error) = match line.split_once(": ") {
        Some((place, error)) if !place.starts_with("error") => (place, error),
        _ => (&*own, &*line),
    };
    NotCompiled {
        line: BadInput::new(place, "", error),
        text: data::plain(&said.rendered.replace(&root, &own)).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_have_the_learners_path() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let own = folder.path().join("mine");
        fs::create_dir_all(own.join("src"))?;
        fs::write(own.join("src/lib.rs"), "")?;
        let level = OwnLevel::at(&own)?;
        let of = |said: &str| {
            let said = Said::of(said.into(), "exit status: 1");
            not_compiled(&said, &level, Path::new("/abs/mine"))
        };
        let error = |line: u32, label: &str| {
            let span = json!({"file_name": "/abs/mine/src/ops.rs", "line_start": line, "column_start": 9,
                "is_primary": true, "label": label});
            json!({"level": "error", "message": "cannot find value `y`", "code": {"code": "E0425"}, "spans": [span],
                "rendered": format!("error[E0425]: cannot find value `y`\n --> /abs/mine/src/ops.rs:{line}:9\n\n")})
        };
        let aborting = json!({"level": "error", "message": "aborting due to 2 previous errors", "spans": [],
            "rendered": "error: aborting\n"});
        let own = own.display();
        let one = of(&format!("{}\n{aborting}", error(7, "not found")));
        let first = format!("{own}/src/ops.rs:7:9: error[E0425]: cannot find value `y`: not found");
        assert_eq!(one.to_string(), first);
        let shown = |line: u32| {
            format!("error[E0425]: cannot find value `y`\n --> {own}/src/ops.rs:{line}:9")
        };
        assert_eq!(one.text, shown(7));
        let two = of(&format!(
            "{}\n{}\n{aborting}",
            error(7, "not found"),
            error(8, "")
        ));
        assert_eq!(two.to_string(), first);
        assert_eq!(
            two.text,
            format!("{}\n\n{}\n\n(2 errors)", shown(7), shown(8))
        );
        let other = of("error: no input");
        assert_eq!(other.to_string(), format!("{own}: error: no input"));
        assert_eq!(other.text, "");
        let expected = format!("{own}: error: the compiler ended early (exit status: 1): x");
        assert_eq!(of("x").to_string(), expected);
        Ok(())
    }
}
