//! Compiles a submission and its check with one call of rustc.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use data::BadInput;

use super::{Failure, Part, TO_COMPILE, run, said, too_long};
use crate::exercise::Exercise;
use crate::printed::printable;

/// Compiles a submission and its check; returns the program, or the compiler's error about the submission.
pub fn compile(
    exercise: &Exercise,
    path: &Path,
    folder: &Path,
) -> Result<Result<PathBuf, Failure>, BadInput> {
    let absolute = |path: &Path| {
        path.canonicalize()
            .map_err(|e| BadInput::unreadable(path, &e))
    };
    let submission = absolute(path)?;
    let check = absolute(&exercise.folder.join("check.rs"))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let main = folder.join("main.rs");
    let text = format!(
        "#[global_allocator]\nstatic COUNTED: exercise::Counted = exercise::Counted;\n\
         #[path = {submission:?}]\nmod submission;\n#[path = {check:?}]\nmod check;\n\
         fn main() {{\n    exercise::run(check::check, {file:?})\n}}\n"
    );
    fs::write(&main, text).map_err(|e| BadInput::unwritable(&main, &e))?;
    let program = folder.join(format!("program{}", std::env::consts::EXE_SUFFIX));
    let mut unfit = "none".to_owned();
    for library in libraries()? {
        let ended = run(rustc(&library, &main, &program), TO_COMPILE, "")?;
        match ended.status {
            Some(status) if status.success() => return Ok(Ok(program)),
            None => return Ok(Err(too_long(path, "compiles", TO_COMPILE))),
            Some(_) => {}
        }
        let (error, notes) = said::first_error(&ended.stderr);
        if !is_about_the_library(&error) {
            let absolute = submission.display().to_string();
            let short = |line: String| line.replace(&absolute, &path.display().to_string());
            let notes = notes.into_iter().map(|note| printable(&short(note)));
            return Ok(Err(Failure {
                notes: notes.collect(),
                ..Failure::of_line(Part::Text, &short(error))
            }));
        }
        unfit = error;
    }
    let expected = "one that can be linked (build it with `cargo build --release -p workbook`, without --features cuda)";
    Err(BadInput::new(LIBRARY, expected, unfit))
}

fn rustc(library: &Path, main: &Path, program: &Path) -> Command {
    let options = "--edition 2024 --crate-name program --cap-lints allow --error-format json \
                   -C opt-level=1 -C debuginfo=line-tables-only";
    let dependencies = library.parent().unwrap_or(Path::new("."));
    let mut rustc = Command::new("rustc");
    // In the clone, rustup selects the toolchain that compiled the library.
    rustc.current_dir(dependencies);
    rustc.args(options.split_whitespace());
    rustc
        .arg("-L")
        .arg(format!("dependency={}", dependencies.display()));
    rustc
        .arg("--extern")
        .arg(format!("exercise={}", library.display()));
    rustc.arg("-o").args([program, main]);
    rustc
}

/// Whether an error is not about the submission: the library is from another compiler, lacks dependencies, or
/// was built with CUDA, which this call does not link.
fn is_about_the_library(error: &str) -> bool {
    let said = ["E0460", "E0461", "E0462", "E0463", "E0514", "linking with"];
    said.iter().any(|word| error.contains(word))
}

const LIBRARY: &str = "the library of the exercises in Rust";

/// Finds the compiled crate `exercise` among the libraries of the running program: one per set of features,
/// newest first.
fn libraries() -> Result<Vec<PathBuf>, BadInput> {
    let missing =
        |found: String| BadInput::new(LIBRARY, "libexercise-….rlib next to this program", found);
    let program = std::env::current_exe().map_err(|e| missing(e.to_string()))?;
    let folder = program.parent().unwrap_or(Path::new("."));
    // A test program is in the folder of the libraries itself.
    let deps = Some(folder.join("deps")).filter(|deps| deps.is_dir());
    let folder = deps.unwrap_or(folder.into());
    let entries = fs::read_dir(&folder).map_err(|e| missing(e.to_string()))?;
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libexercise-") && name.ends_with(".rlib")
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(is_it).collect();
    found.sort_by_key(|path| path.metadata().and_then(|data| data.modified()).ok());
    found.reverse();
    if found.is_empty() {
        Err(missing(format!("none in {}", folder.display())))
    } else {
        Ok(found)
    }
}
