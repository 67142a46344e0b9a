//! Markdown pages and tables of exercises.

mod checked;
mod outputs;
mod plain;
mod solution;
mod tables;

use std::path::Path;

pub use checked::checked;
pub use outputs::{LEFT_OUT, MOST_LINES, SEED, SOLUTION_OUTPUT, STARTER_OUTPUT, offer_of_hint};
pub use plain::{plain, without_links};
pub use tables::{Minutes, session, table};

use crate::exercise::{Exercise, Language};
use crate::spec::Spec;

/// Whether a page has the solution and the wrong answers that the check rejects, folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solutions {
    /// For learners who may look them up.
    Shown,
    /// For a class that may not, and for handouts.
    Hidden,
}

/// The start of every command of the runner.
pub const COMMAND: &str = "cargo run --release -p workbook -- exercises";

/// The repository's alias for [`COMMAND`], from `.cargo/config.toml`.
pub const ALIAS: &str = "cargo ex";

/// Quotes a path for a shell.
pub fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        path
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// Formats an exercise's page: task, starter, checks, output of the check and hints, and, where they are shown, the
/// solution and the wrong answers that the check rejects. Links lead where those of the task do, from its folder in the
/// repository.
pub fn page(exercise: &Exercise, solutions: Solutions) -> String {
    let mut text = overview(exercise) + &starter(exercise);
    text += &format!("\n## What is checked\n\n{}\n", checked(exercise));
    text += &outputs::outputs(exercise, solutions);
    text += &hints(exercise);
    if solutions == Solutions::Shown {
        text += &solution::folded_solution(exercise);
    }
    text
}

/// The title, what the exercise is about, its goal and its task.
fn overview(exercise: &Exercise) -> String {
    let (number, spec) = (exercise.number(), &exercise.spec);
    format!(
        "# {number} · {}\n\n*{}*\n\nAfter it you can {}.\n\n{}\n",
        spec.title,
        about(exercise),
        spec.objective,
        exercise.task.trim_end()
    )
}

fn starter(exercise: &Exercise) -> String {
    format!(
        "\n## The starter\n\n```sh\n{COMMAND} start {name}\n```\n\nwrites this to `my-exercises/{file}`:\n\n\
         ```{fence}\n{starter}```\n",
        name = exercise.name(),
        file = exercise.file(),
        fence = fence(exercise.language),
        starter = exercise.starter,
    )
}

/// The hints, folded; empty in a handout without hints.
fn hints(exercise: &Exercise) -> String {
    if exercise.spec.hints.is_empty() {
        return String::new();
    }
    let mut text = "\n## Hints\n\n".to_owned();
    for (number, hint) in (1..).zip(&exercise.spec.hints) {
        text += &folded("tip", &format!("Hint {number}"), hint);
    }
    text
}

/// A part of a page that unfolds; the book's theme knows its `class`.
fn folded(class: &str, summary: &str, content: &str) -> String {
    let content = content.trim();
    format!(
        "<details class=\"{class}\"><summary>{summary}</summary>\n\n{content}\n\n</details>\n\n"
    )
}

/// `write · PTX · level 3 · chapter level3 · 35 minutes · session 2, graded`
pub fn about(exercise: &Exercise) -> String {
    let spec = &exercise.spec;
    let language = match exercise.language {
        Language::Ptx => "PTX",
        Language::Cuda => "CUDA, which needs NVRTC",
        Language::Rust => "Rust",
    };
    format!(
        "{} · {language} · level {} · chapter {} · {} minutes · session {}{}",
        spec.kind,
        spec.level,
        spec.chapter.trim_end_matches(".md"),
        spec.minutes,
        spec.session,
        of_session(spec)
    )
}

/// Describes an exercise's role in its session.
pub fn of_session(spec: &Spec) -> &'static str {
    match (spec.graded, spec.optional) {
        (true, _) => ", graded",
        (false, true) => ", optional",
        (false, false) => "",
    }
}

fn fence(language: Language) -> &'static str {
    match language {
        Language::Ptx => "ptx",
        Language::Cuda => "cpp",
        Language::Rust => "rust",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_be_pasted() {
        for (path, pasted) in [
            ("../a/b-c.d", "../a/b-c.d"),
            ("/new dir/a", "'/new dir/a'"),
            ("it's", r"'it'\''s'"),
            ("$(a)", "'$(a)'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(Path::new(path)), pasted);
        }
    }
}
