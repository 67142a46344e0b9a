//! Errors of a learner's level that does not compile: rustc's, from JSON.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use data::{BadInput, RustcError};

use super::OwnLevel;

/// A level that does not compile; prints as one line.
#[derive(Debug)]
pub struct NotCompiled {
    /// rustc's first error, with file and line.
    pub line: BadInput,
    /// All errors as rustc shows them in a terminal, without the title of the first, which is in the line, and their number;
    /// empty if it is not rustc that refuses.
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

/// The errors of rustc about a text.
pub(super) struct Said {
    /// All of it, in JSON.
    pub(super) whole: String,
    /// The first error in one line: `FILE:LINE:COLUMN: error[E0425]: …`.
    first: String,
    /// All errors as a terminal shows them, without the title of the first, and their number if there are several.
    rendered: String,
}

impl Said {
    pub(super) fn line(first: String) -> Self {
        Self {
            whole: first.clone(),
            first,
            rendered: String::new(),
        }
    }

    /// Reads stderr; `ended` says how rustc ended, in case that there is no error in it.
    pub(super) fn of(stderr: String, ended: impl Display) -> Self {
        let errors = RustcError::all(&stderr);
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
        let texts = errors.iter().map(RustcError::rendered);
        let texts = texts.collect::<String>();
        // The first title is in the line above.
        let (_, below) = texts.split_once('\n').unwrap_or_default();
        let mut rendered = below.trim_end().to_owned();
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
fn in_one_line(error: &RustcError) -> String {
    let Some(span) = error.span() else {
        return error.title();
    };
    error.at(span.call().place())
}

fn is_error_line(line: &str) -> bool {
    line.contains(": error") || line.starts_with("error")
}

/// rustc's errors, with the path of the file as the learner would type it.
pub(super) fn not_compiled(said: &Said, level: &OwnLevel, root: &Path) -> NotCompiled {
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
    use std::fs;

    use anyhow::Result;
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
        let shown = |line: u32| format!(" --> {own}/src/ops.rs:{line}:9");
        assert_eq!(one.text, shown(7));
        let repeated = of(&error(7, "cannot find value `y` here").to_string());
        assert_eq!(repeated.to_string(), first.replace(": not found", ""));
        let two = of(&format!(
            "{}\n{}\n{aborting}",
            error(7, "not found"),
            error(8, "")
        ));
        assert_eq!(two.to_string(), first);
        assert_eq!(
            two.text,
            format!(
                "{}\n\nerror[E0425]: cannot find value `y`\n{}\n\n(2 errors)",
                shown(7),
                shown(8)
            )
        );
        let other = of("error: no input");
        assert_eq!(other.to_string(), format!("{own}: error: no input"));
        assert_eq!(other.text, "");
        let expected = format!("{own}: error: the compiler ended early (exit status: 1): x");
        assert_eq!(of("x").to_string(), expected);
        Ok(())
    }
}
