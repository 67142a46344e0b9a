//! Makes a submission and its check two programs.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use data::BadInput;
use sandbox::{Killed, Limits, Outcome};

use super::library::{LIBRARY, libraries};
use super::toolchain::{TO_COMPILE_IN, Toolchain};
use super::{Failure, Part, TO_COMPILE, new_folder, said, too_long};
use crate::exercise::Exercise;
use crate::printed::printable;

/// The package to compile. Only a submission's source is copied: neither `build.rs` nor `.cargo/config.toml` comes along.
pub struct Package<'p> {
    /// The submission as the caller names it.
    pub path: &'p Path,
    /// The copy of it, which has been read once and compared with the starter.
    pub source: PathBuf,
    /// The exercise's `check.rs`.
    pub check: PathBuf,
    /// The exercise's `calls.rs`.
    pub calls: PathBuf,
    /// `main.rs` of the submission's program.
    main: PathBuf,
    /// `main.rs` of the check's program.
    main_of_judge: PathBuf,
    /// Where each call of rustc writes: one folder for the submission, one for its check.
    out: [PathBuf; 2],
}

impl<'p> Package<'p> {
    /// Writes the sources into `folder`.
    pub fn write(
        exercise: &Exercise,
        path: &'p Path,
        text: &str,
        folder: &Path,
    ) -> Result<Self, BadInput> {
        let absolute = |path: &Path| {
            path.canonicalize()
                .map_err(|e| BadInput::unreadable(path, &e))
        };
        let folder = &absolute(folder)?;
        let source = new_folder(folder, "source")?;
        let write = |name: &str, text: String| {
            let file = source.join(name);
            fs::write(&file, text).map_err(|e| BadInput::unwritable(&file, &e))?;
            Ok(file)
        };
        let check = absolute(&exercise.folder.join("check.rs"))?;
        let calls = absolute(&exercise.folder.join("calls.rs"))?;
        let file = exercise.file();
        let counted = "#[global_allocator]\nstatic COUNTED: exercise::Counted = exercise::Counted;";
        let main = format!(
            "{counted}\n#[path = {calls:?}]\nmod calls;\nfn main() -> std::process::ExitCode {{\n    \
             exercise::serve(calls::calls, {file:?})\n}}\n"
        );
        let main_of_judge = format!(
            "#[path = {check:?}]\nmod check;\nfn main() -> std::process::ExitCode {{\n    \
             exercise::judge(check::check)\n}}\n"
        );
        Ok(Self {
            path,
            main: write("main.rs", main)?,
            main_of_judge: write("judge.rs", main_of_judge)?,
            source: write(&file, text.to_owned())?,
            check,
            calls,
            out: [new_folder(folder, "out")?, new_folder(folder, "judge")?],
        })
    }
}

/// The two programs.
pub struct Programs {
    /// It answers the calls.
    pub submission: PathBuf,
    /// It makes them, and decides.
    pub judge: PathBuf,
}

/// Why a program was not compiled.
enum Wrong {
    /// The learner's fault.
    Submission(Failure),
    /// Not the learner's: rustc's error.
    Library(String),
}

/// Compiles both against the library that cargo builds with the arguments `cargo`; the inner error is about the submission.
pub fn compile(package: &Package, cargo: &[String]) -> Result<Result<Programs, Failure>, BadInput> {
    let mut unfit = "none".to_owned();
    for library in libraries(cargo)? {
        let toolchain = &Toolchain::of(library)?;
        let (submission, judge) = thread::scope(|scope| {
            let judge = scope.spawn(|| compile_judge(toolchain, package));
            (compile_submission(toolchain, package), judge.join())
        });
        let Ok(judge) = judge else {
            return Err(BadInput::new(
                "rustc",
                "an end",
                "a panic of the thread that waits",
            ));
        };
        let submission = match submission? {
            Err(Wrong::Submission(failure)) => return Ok(Err(failure)),
            Err(Wrong::Library(error)) => Err(error),
            Ok(submission) => Ok(submission),
        };
        match (submission, judge?) {
            (Ok(submission), Ok(judge)) => return Ok(Ok(Programs { submission, judge })),
            // The check can be linked, so the library is right, and what the submission adds to it is not.
            (Err(error), Ok(_)) => {
                let what = format!("it cannot be linked: {error}");
                return Ok(Err(Failure::new(Part::Text, package.path.display(), what)));
            }
            (_, Err(error)) => unfit = error,
        }
    }
    let expected = "one that can be linked (build it with `cargo build --release -p workbook`, without --features cuda)";
    Err(BadInput::new(LIBRARY, expected, unfit))
}

/// Runs rustc.
fn run(command: Command, limits: &Limits) -> Result<Outcome, BadInput> {
    let name = command.get_program().to_string_lossy().into_owned();
    sandbox::run(command, limits)
        .map_err(|e| BadInput::new(name, "a program that can be started", e))
}

/// Compiles the submission as a crate of its own, then the program around it.
fn compile_submission(
    toolchain: &Toolchain,
    package: &Package,
) -> Result<Result<PathBuf, Wrong>, BadInput> {
    let out = &package.out[0];
    let (mut rustc, limits) = toolchain.rustc("submission", out);
    // Nothing is linked, and `option_env!` would show it.
    rustc.env_remove("PATH");
    rustc.args("-F unsafe_code -C debuginfo=line-tables-only --crate-type rlib".split_whitespace());
    rustc.arg(&package.source);
    let outcome = run(rustc, &limits.readable(&package.source))?;
    if let Some(wrong) = wrong(&outcome, package, out)? {
        return Ok(Err(wrong));
    }
    let (mut rustc, limits) = toolchain.rustc("program", out);
    rustc.args("--cap-lints allow -C debuginfo=line-tables-only".split_whitespace());
    let library = out.join("libsubmission.rlib");
    rustc.arg("--extern");
    rustc.arg(format!("submission={}", library.display()));
    rustc.arg(&package.main);
    let limits = limits.readable(&package.main).readable(&package.calls);
    let outcome = run(rustc, &limits.readable(&package.source))?;
    Ok(match wrong(&outcome, package, out)? {
        Some(wrong) => Err(wrong),
        None => Ok(program(out, "program")),
    })
}

/// Runs rustc once more where it was `late`, as on a busy machine: the second time, its files are in memory.
fn twice<T>(
    run: impl Fn() -> Result<T, BadInput>,
    late: impl Fn(&T) -> bool,
) -> Result<T, BadInput> {
    match run()? {
        outcome if late(&outcome) => run(),
        outcome => Ok(outcome),
    }
}

/// Compiles the check; the inner error is rustc's.
fn compile_judge(
    toolchain: &Toolchain,
    package: &Package,
) -> Result<Result<PathBuf, String>, BadInput> {
    let out = &package.out[1];
    let judge = || {
        let (mut rustc, limits) = toolchain.rustc("judge", out);
        rustc.args("--cap-lints allow -C strip=symbols".split_whitespace());
        rustc.arg(&package.main_of_judge);
        let limits = limits.readable(&package.main_of_judge);
        run(rustc, &limits.readable(&package.check))
    };
    let outcome = twice(judge, is_late)?;
    if outcome.success() {
        return Ok(Ok(program(out, "judge")));
    }
    if is_late(&outcome) {
        let seconds = TO_COMPILE.as_secs();
        let expected = format!("rustc to compile it within {seconds} s on this machine");
        let found = "it still running, twice (check again when less runs here)";
        return Err(BadInput::new(package.check.display(), expected, found));
    }
    let stderr = outcome.stderr.text();
    if is_full(&stderr, out) {
        return Err(full(out));
    }
    let (error, _) = said::first_error(&stderr);
    if is_about_the_library(&error) {
        return Ok(Err(error));
    }
    let what = package.check.display();
    Err(BadInput::new(what, "a check that compiles", error))
}

fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The error about a folder whose disk is full.
fn full(folder: &Path) -> BadInput {
    let expected = "a disk with room for a compiled program (TMPDIR may name another folder)";
    BadInput::new(folder.display(), expected, "a full one")
}

/// Whether rustc, which wrote to `out`, may have failed because the disk is full. A linker does not always say so.
fn is_full(stderr: &str, out: &Path) -> bool {
    said::is_about_the_disk(stderr)
        || !said::is_about_the_text(stderr) && !has_room(&out.join("room"))
}

/// Room that a program is compiled in, and more.
const ROOM: usize = 64 << 20;

/// Whether a file of [`ROOM`] bytes can be written; it is removed.
fn has_room(file: &Path) -> bool {
    let chunk = vec![0; 1 << 20];
    let write = || {
        let mut file = File::create(file)?;
        (0..ROOM / chunk.len()).try_for_each(|_| file.write_all(&chunk))
    };
    let written = write();
    // If it cannot be removed, its folder is.
    let _ = fs::remove_file(file);
    !written.is_err_and(|e: io::Error| e.kind() == io::ErrorKind::StorageFull)
}

/// Why rustc, which wrote to `out`, failed; `None` if it did not.
fn wrong(outcome: &Outcome, package: &Package, out: &Path) -> Result<Option<Wrong>, BadInput> {
    if outcome.success() {
        return Ok(None);
    }
    let stderr = outcome.stderr.text();
    if outcome.killed.is_none() && is_full(&stderr, out) {
        return Err(full(out));
    }
    Ok(Some(reason(outcome, &stderr, package)))
}

/// Whether rustc was ended by its time limit.
fn is_late(outcome: &Outcome) -> bool {
    matches!(outcome.killed, Some(Killed::Time | Killed::Cpu))
}

fn reason(outcome: &Outcome, stderr: &str, package: &Package) -> Wrong {
    let path = package.path;
    if is_late(outcome) {
        return Wrong::Submission(too_long(path, "compiles", TO_COMPILE));
    }
    if outcome.killed == Some(Killed::FileSize) {
        let what = "expected it to compile to files of at most 1 GiB, but it needs more";
        return Wrong::Submission(Failure::new(Part::Text, path.display(), what));
    }
    if stderr.contains("memory allocation of") || stderr.contains("LLVM ERROR: out of memory") {
        let what = format!(
            "expected it to compile in {} GiB of memory, but it needs more",
            TO_COMPILE_IN >> 30
        );
        return Wrong::Submission(Failure::new(Part::Text, path.display(), what));
    }
    let (error, notes) = said::first_error(stderr);
    if is_about_the_library(&error) {
        return Wrong::Library(error);
    }
    let copy = package.source.display().to_string();
    let short = |line: String| line.replace(&copy, &path.display().to_string());
    let notes = notes.into_iter().map(|note| printable(&short(note)));
    Wrong::Submission(Failure {
        notes: notes.collect(),
        ..Failure::of_line(Part::Text, &short(error))
    })
}

/// Whether an error is not about a text: the library is from another compiler, lacks dependencies, or was built with
/// CUDA, which this call does not link.
fn is_about_the_library(error: &str) -> bool {
    let said = ["E0460", "E0461", "E0462", "E0463", "E0514", "linking with"];
    said.iter().any(|word| error.contains(word))
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_without_room_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    assert!(has_room(&out.join("room")) && !out.join("room").exists());
    // Written to, it is full; a linker may end there by a signal.
    std::os::unix::fs::symlink("/dev/full", out.join("room")).unwrap();
    assert!(is_full("error: linking with `cc` failed: signal 7", out));
}

#[test]
fn a_busy_machine_gets_a_second_try() {
    let tries = std::cell::Cell::new(0);
    let run = || Ok(tries.replace(tries.get() + 1));
    assert_eq!(twice(run, |tries| *tries == 0), Ok(1));
    assert_eq!(twice(run, |tries| *tries == 0), Ok(2));
}
