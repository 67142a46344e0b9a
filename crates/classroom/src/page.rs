//! Markdown pages and tables of exercises.

use std::path::Path;

use crate::check::{forbidden, options, short};
use crate::exercise::{Exercise, Language};
use crate::spec::{KernelSpec, Kind, Limit, Question, Sizes, Spec};

/// The start of every command of the runner.
pub const COMMAND: &str = "cargo run --release -p workbook -- exercises";

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

/// Formats an exercise's page: task, starter, checks, hints. Links in the task are relative to `exercises/`
/// in the book.
pub fn page(exercise: &Exercise) -> String {
    let (number, spec) = (exercise.number(), &exercise.spec);
    let mut text = format!("# {number} · {}\n\n*{}*\n\n", spec.title, about(exercise));
    text += &format!(
        "After it you can {}.\n\n{}\n",
        spec.objective,
        exercise.task.trim_end()
    );
    text += &format!(
        "\n## The starter\n\n```sh\n{COMMAND} start {name}\n```\n\nwrites this to `my-exercises/{file}`:\n\n\
         ```{fence}\n{starter}```\n",
        name = exercise.name(),
        file = exercise.file(),
        fence = fence(exercise.language),
        starter = exercise.starter,
    );
    text += &format!("\n## What is checked\n\n{}\n", checked(exercise));
    text += "\n## Hints\n\n";
    for (number, hint) in (1..).zip(&spec.hints) {
        text += &format!("<details><summary>Hint {number}</summary>\n\n{hint}\n\n</details>\n\n");
    }
    text
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
        Language::Ptx => "text",
        Language::Cuda => "cuda",
        Language::Rust => "rust",
    }
}

/// Lists all that a submission is checked against.
pub fn checked(exercise: &Exercise) -> String {
    let spec = &exercise.spec;
    let mut lines = vec!["Outside the regions, the file equals the starter.".to_owned()];
    match exercise.language {
        Language::Rust => lines.push(
            "Your functions run on fresh random numbers, for at most ten seconds. What they print is shown."
                .into(),
        ),
        _ => lines.push("The simulator finds no fault under two schedules.".into()),
    }
    lines.extend(forbidden(exercise.language));
    lines.extend(spec.checked.iter().cloned());
    for kernel in &spec.kernels {
        lines.push(launched(kernel));
    }
    if !spec.shapes.odd.is_empty() {
        let shapes: Vec<String> = spec.shapes.odd.iter().map(sizes).collect();
        lines.push(format!(
            "Sizes: {}. Inputs are random and new each time.",
            shapes.join("; ")
        ));
    }
    if !spec.limits.is_empty() || !spec.questions.is_empty() {
        lines.push(format!(
            "Costs are counted for {}.",
            sizes(&spec.shapes.counted)
        ));
    }
    lines.extend(spec.limits.iter().map(limit));
    lines.extend(spec.questions.iter().map(question));
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

fn launched(kernel: &KernelSpec) -> String {
    let launch = if kernel.launch.contains("{launch}") {
        "launched as your line `// launch = …` says".to_owned()
    } else {
        format!("launched with `{}`", kernel.launch)
    };
    let within = match kernel.tolerance {
        0. => "exactly".to_owned(),
        tolerance => format!("within {tolerance:e}"),
    };
    format!(
        "`{}`, {launch}, with the arguments `{}`, writes the result of the formula to argument {} (counted from 0), {within}.",
        kernel.entry,
        kernel.args.join(" "),
        kernel.output,
    )
}

fn sizes(sizes: &Sizes) -> String {
    let each = sizes.iter().map(|(name, size)| format!("{name} {size}"));
    each.collect::<Vec<_>>().join(", ")
}

fn limit(limit: &Limit) -> String {
    let of = limit
        .entry
        .as_ref()
        .map(|entry| format!(" of `{entry}`"))
        .unwrap_or_default();
    let bounds = [("at most", limit.at_most), ("at least", limit.at_least)];
    let bounds = bounds
        .iter()
        .filter_map(|(word, bound)| Some(format!("{word} {}", short((*bound)?))));
    format!(
        "Limit: {}{of}: {} (`{}`).",
        limit.what,
        bounds.collect::<Vec<_>>().join(", "),
        limit.of
    )
}

fn question(question: &Question) -> String {
    let options = options(&question.truth);
    let answer = if options.is_empty() {
        "a number".to_owned()
    } else {
        format!("one of `{}`", options.join("`, `"))
    };
    format!(
        "`// {} = …`: {} Answer with {answer}.",
        question.name, question.ask
    )
}

/// Formats a table of exercises with links from the book's chapters, and a line with their total time.
pub fn table(exercises: &[&Exercise]) -> String {
    let mut text =
        "| | exercise | what you do | level | minutes |\n|---|---|---|---:|---:|\n".to_owned();
    for exercise in exercises {
        let spec = &exercise.spec;
        let graded = if spec.graded { " (graded)" } else { "" };
        text += &format!(
            "| {} | [{}](exercises/{}.md){graded} | {} | {} | {} |\n",
            exercise.number(),
            spec.title,
            exercise.name(),
            what(exercise),
            spec.level,
            spec.minutes
        );
    }
    let minutes: u32 = exercises.iter().map(|e| e.spec.minutes).sum();
    let count = match exercises.len() {
        1 => "1 exercise".to_owned(),
        n => format!("{n} exercises"),
    };
    text + &format!("\n{count}, {minutes} minutes.\n")
}

/// Formats a session of the syllabus: purpose, exercises, graded task, and minutes including reading.
pub fn session(exercises: &[&Exercise], reading: u32) -> String {
    let mut text = "After this session you can\n\n".to_owned();
    for exercise in exercises {
        text += &format!("- {};\n", exercise.spec.objective);
    }
    text += &format!("\n{}\n", table(exercises));
    text += &Minutes::of(exercises, reading).table();
    for exercise in exercises.iter().filter(|e| e.spec.graded) {
        let (title, name) = (&exercise.spec.title, exercise.name());
        text += &format!("\nGraded: [{title}](exercises/{name}.md).\n");
    }
    let optional = exercises.iter().filter(|e| e.spec.optional);
    let optional: Vec<&str> = optional.map(|e| e.number()).collect();
    if !optional.is_empty() {
        text += &format!("\nOptional: {}.\n", optional.join(", "));
    }
    text
}

/// Minutes of a session.
#[derive(Debug, Clone, Copy)]
pub struct Minutes {
    reading: u32,
    graded: u32,
    in_the_room: u32,
    optional: u32,
}

impl Minutes {
    /// Adds up a session with these exercises.
    pub fn of(exercises: &[&Exercise], reading: u32) -> Self {
        let sum = |is_one: fn(&Exercise) -> bool| {
            let of_it = exercises.iter().filter(|e| is_one(e));
            of_it.map(|e| e.spec.minutes).sum()
        };
        Self {
            reading,
            graded: sum(|e| e.spec.graded),
            in_the_room: sum(|e| !e.spec.graded && !e.spec.optional),
            optional: sum(|e| e.spec.optional),
        }
    }

    /// Total without optional exercises.
    pub fn together(self) -> u32 {
        self.reading + self.graded + self.in_the_room
    }

    fn table(self) -> String {
        let Self {
            reading,
            graded,
            in_the_room,
            optional,
        } = self;
        let together = self.together();
        format!(
            "| | minutes |\n\
             |---|---:|\n\
             | at home, before: reading | {reading} |\n\
             | in the room | {in_the_room} |\n\
             | at home, after: the graded task | {graded} |\n\
             | together | **{together}** |\n\
             | optional, on top | {optional} |\n"
        )
    }
}

/// Kind and language: `find the bug, Rust`.
fn what(exercise: &Exercise) -> String {
    let language = match exercise.language {
        Language::Ptx => "PTX",
        Language::Cuda => "CUDA",
        Language::Rust => "Rust",
    };
    match exercise.spec.kind {
        Kind::Write => format!("write {language}"),
        kind => format!("{kind}, {language}"),
    }
}

/// Formats Markdown for a terminal: replaces links by their text, removes comments and code fences.
pub fn plain(markdown: &str) -> String {
    let is_shown = |line: &&str| !line.starts_with("```") && !line.starts_with("<!--");
    let shown: String = markdown.split_inclusive('\n').filter(is_shown).collect();
    without_links(&shown)
}

/// Replaces links by their text.
pub fn without_links(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once('[') {
        text += before;
        let parts = link
            .split_once("](")
            .and_then(|(name, to)| Some((name, to.split_once(')')?.1)));
        match parts.filter(|(name, _)| !name.contains(['[', '\n'])) {
            Some((name, after)) => {
                text += name;
                rest = after;
            }
            None => {
                text.push('[');
                rest = link;
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_their_text() {
        assert_eq!(
            plain("see [a b](c.md), `x[1]` and [y]"),
            "see a b, `x[1]` and [y]"
        );
    }

    #[test]
    fn code_loses_its_fences() {
        let markdown = "Run\n\n<!-- not run: an example -->\n```sh\nls `pwd`\n```\n\nand `look`.\n";
        assert_eq!(plain(markdown), "Run\n\nls `pwd`\n\nand `look`.\n");
    }

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
