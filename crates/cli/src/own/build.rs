//! Compiles learners' levels and links them to a program.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use data::{BadInput, Lock};
use sandbox::Limits;

use super::errors::{NotCompiled, Said, not_compiled};
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

/// Time limit of a level's compilation, and of the linking.
const LONGEST: Duration = Duration::from_secs(120);

/// Limit of the compiler's address space in bytes.
const MEMORY: u64 = 8 << 30;

/// Limits of rustc, and the files that it reads for every level of somebody else.
pub fn limits(artifacts: &Artifacts) -> Limits {
    let limits = Limits::new(LONGEST)
        .memory(MEMORY)
        .file_size(4 << 30)
        .open_files(4096)
        .processes(64)
        .output(16 << 20)
        .readable(&artifacts.sysroot);
    let folders = artifacts.folders();
    folders.iter().fold(limits, Limits::readable)
}

/// Runs rustc, which writes to `folder` only; returns what went wrong.
fn run(
    mut command: Command,
    artifacts: &Artifacts,
    levels: &[OwnLevel],
    folder: &Path,
) -> Result<Result<(), Said>> {
    let mut limits = limits(artifacts);
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
        limits = limits.writable(folder);
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
    let folder = build_folder(artifacts, levels)?;
    fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    // `watch` and another command may compile the same level after a save.
    let _lock = Lock::within(&folder, LONGEST)?;
    let crates = folder.join(LEVELS);
    // Once per crate, not after each save.
    if folder.parent() == Some(&artifacts.folder()) && !crates.is_file() {
        remove_orphans(&artifacts.folder());
        data::save_as(crates, paths(levels)?.as_bytes())?;
    }
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
    // With the debug information of the libraries, the file would have 120 MB in place of 75.
    command.args(["-C", "strip=debuginfo"]);
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
        let expected = if [
            "undefined symbol",
            "undefined reference",
            "Undefined symbols",
            // `main`
            "duplicate symbol",
            "multiple definition",
        ]
        .iter()
        .any(|what| said.whole.contains(what))
        {
            "code whose functions all exist, once"
        } else if named.is_some() {
            "`pub fn ops() -> std::sync::Arc<dyn models::Ops>`"
        } else {
            // No text of a level does this, so that it is no learner's fault.
            if said
                .whole
                .contains("required to be available in rlib format")
            {
                bail!(
                    "another cargo is compiling the libraries of levels: wait for it to end, then try again"
                );
            }
            bail!("linking {}: {}", names.join(", "), error.found);
        };
        let file = level.folder().join("src/lib.rs");
        let line = BadInput::new(file.display(), expected, error.found);
        return Ok(Err(NotCompiled { line, text }));
    }
    data::save_as(&stamped, stamp.as_bytes())?;
    Ok(Ok(Built { program }))
}

/// The folder that [`build`] of these levels writes.
fn build_folder(artifacts: &Artifacts, levels: &[OwnLevel]) -> Result<PathBuf> {
    match levels.iter().find_map(OwnLevel::built_in) {
        Some(folder) => Ok(folder.to_owned()),
        None => Ok(artifacts.folder().join(key(levels)?)),
    }
}

/// A folder's name that differs for crates at different places.
fn key(levels: &[OwnLevel]) -> Result<String> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    paths(levels)?.hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

/// File of a build folder that lists the crates.
const LEVELS: &str = "levels";

/// The crates' folders, one per line.
fn paths(levels: &[OwnLevel]) -> Result<String> {
    let mut paths = String::new();
    for level in levels {
        let path = level.folder().canonicalize();
        let path = path.with_context(|| level.folder().display().to_string())?;
        paths += &format!("{}\n", path.display());
    }
    Ok(paths)
}

/// Removes build folders in `all` with a crate that is gone: each takes about 100 MB. A folder that cannot be removed stays.
fn remove_orphans(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let listed = fs::read_to_string(entry.path().join(LEVELS)).unwrap_or_default();
        if listed.lines().any(|level| !Path::new(level).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
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
    let listed = listed(folder, name);
    let before = artifacts.stamp(&USABLE)?;
    let stamp = || before.clone() + &files(&listed);
    if out.is_file() && fs::read_to_string(&stamped).is_ok_and(|old| old == stamp()) {
        return Ok(Ok(stamp()));
    }
    let root = level
        .folder()
        .canonicalize()
        .with_context(|| level.folder().display().to_string())?;
    // A file that is saved while rustc runs may have been read before: then its new time would stand for the old text.
    for _ in 0..ATTEMPTS {
        let started = SystemTime::now();
        if let Err(said) = compile(artifacts, level, folder, &root)? {
            return Ok(Err(not_compiled(&said, level, &root)));
        }
        if !is_changed_since(&listed, started) {
            break;
        }
    }
    data::save_as(&stamped, stamp().as_bytes())?;
    Ok(Ok(stamp()))
}

/// Compilations in a row of files that are saved meanwhile. A file may also have a time in the future.
const ATTEMPTS: usize = 3;

/// Compiles the library of a level.
fn compile(
    artifacts: &Artifacts,
    level: &OwnLevel,
    folder: &Path,
    root: &Path,
) -> Result<Result<(), Said>> {
    let name = level.name();
    let mut command = rustc(artifacts, name, &USABLE)?;
    command
        .env("CARGO_MANIFEST_DIR", root)
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
            rlib(folder, name).display(),
            listed(folder, name).display()
        ))
        .arg(root.join("src/lib.rs"));
    run(command, artifacts, std::slice::from_ref(level), folder)
}

/// rustc's list of the files that it read: `output: file file …`.
fn listed(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.d"))
}

/// The files that such a list names.
fn names(listed: &Path) -> Vec<String> {
    let list = fs::read_to_string(listed).unwrap_or_default();
    let line = list.lines().next().unwrap_or_default();
    let names = line.split_once(": ").map_or("", |(_, names)| names);
    let names = names.replace("\\ ", "\0");
    let names = names.split_whitespace();
    names.map(|name| name.replace('\0', " ")).collect()
}

/// Times and sizes of the listed files.
fn files(listed: &Path) -> String {
    let of = |name: String| {
        let data = fs::metadata(&name).and_then(|data| Ok((data.modified()?, data.len())));
        format!("{name} {data:?}\n")
    };
    names(listed).into_iter().map(of).collect()
}

/// Whether a listed file was saved after `time`.
fn is_changed_since(listed: &Path, time: SystemTime) -> bool {
    let saved = |name: &String| fs::metadata(name).and_then(|data| data.modified());
    (names(listed).iter()).any(|name| saved(name).is_ok_and(|saved| saved >= time))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_of_crates_that_are_gone_are_removed() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let level = folder.path().join("mine");
        let all = folder.path().join("own");
        let listed = level.display().to_string();
        for (name, text) in [
            ("one", &*listed),
            ("two", &format!("/\n{listed}\n")),
            ("three", "/\n"),
        ] {
            fs::create_dir_all(all.join(name))?;
            fs::write(all.join(name).join(LEVELS), text)?;
        }
        fs::create_dir_all(all.join("begun"))?;
        let left = || -> Result<Vec<_>> {
            let names: Result<Vec<_>, _> = fs::read_dir(&all)?
                .map(|entry| Ok::<_, std::io::Error>(entry?.file_name()))
                .collect();
            let mut names = names?;
            names.sort();
            Ok(names)
        };
        fs::create_dir(&level)?;
        remove_orphans(&all);
        assert_eq!(left()?, ["begun", "one", "three", "two"]);
        fs::remove_dir(&level)?;
        remove_orphans(&all);
        assert_eq!(left()?, ["begun", "three"]);
        Ok(())
    }

    #[test]
    fn a_file_that_is_saved_while_rustc_runs_is_noticed() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let source = folder.path().join("my level.rs");
        fs::write(&source, "")?;
        let listed = listed(folder.path(), "mine");
        let escaped = source.display().to_string().replace(' ', "\\ ");
        fs::write(&listed, format!("libmine.rlib: {escaped}\n"))?;
        assert_eq!(names(&listed), [source.display().to_string()]);
        let minute = Duration::from_secs(60);
        let now = SystemTime::now();
        assert!(is_changed_since(&listed, now - minute));
        assert!(!is_changed_since(&listed, now + minute));
        fs::remove_file(&source)?;
        assert!(!is_changed_since(&listed, now - minute));
        Ok(())
    }
}
