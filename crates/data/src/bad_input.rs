//! Errors about input, all in the same form.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::Path;

/// Maximum characters of a quoted value.
const QUOTED: usize = 80;

/// Shortens a value, which may be as long as its file, to its start and an ellipsis.
pub fn short(found: impl Display) -> String {
    let text = found.to_string();
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Makes control characters visible, but for newlines and tabs: `\u{1b}[2J` from a file would clear a terminal.
pub fn plain(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() && !"\n\t".contains(c);
    if !text.contains(acts) {
        return text.into();
    }
    let show = |c: char| {
        if acts(c) {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    text.chars().map(show).collect()
}

/// Returns clap's error about a command line, without the usage and the hint at `--help`.
pub fn usage(text: &str) -> &str {
    let tails = ["\n\nUsage:", "\n\nFor more information"];
    let end = tails.iter().filter_map(|tail| text.find(tail)).min();
    text[..end.unwrap_or(text.len())].trim_start_matches("error: ")
}

/// Invalid input by a person.
///
/// Prints as one line, `what: expected …, found …`, where `what` names the file, the tensor or the
/// option. A file that cannot be opened prints as ``cannot read `file`: no such file``. Programs print the line on
/// stderr and exit with code 2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct BadInput {
    /// The file, tensor, key or option.
    pub what: String,
    /// Expected value. Empty if `found` says it all, as of a file that cannot be read.
    pub expected: String,
    /// Value that was found, or the reason of the failure.
    pub found: String,
}

impl Display for BadInput {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let Self {
            what,
            expected,
            found,
        } = self;
        if expected.is_empty() {
            write!(f, "{what}: {found}")
        } else {
            write!(f, "{what}: expected {expected}, found {found}")
        }
    }
}

impl BadInput {
    /// Creates an error. Newlines become spaces, so that it stays one line, other control characters become
    /// visible, and a system error loses its number.
    pub fn new(what: impl Display, expected: impl Display, found: impl Display) -> Self {
        let line =
            |s: String| plain(&s.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned();
        Self {
            what: line(what.to_string()),
            expected: line(expected.to_string()),
            found: line(without_number(&found.to_string()).to_string()),
        }
    }

    /// An unreadable file.
    pub fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::new(
            format!("cannot read `{}`", path.display()),
            "",
            why(error, "file"),
        )
    }

    /// An unwritable file.
    pub fn unwritable(path: &Path, error: &io::Error) -> Self {
        Self::new(
            format!("cannot write `{}`", path.display()),
            "",
            why(error, "folder"),
        )
    }
}

/// Returns the system's message as the end of a sentence: `permission denied`, without `(os error 13)`.
/// `thing` is what is missing in case of "not found".
pub(crate) fn why(error: &io::Error, thing: &str) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        return format!("no such {thing}");
    }
    let text = error.to_string();
    let text = without_number(&text);
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(chars).collect()
    })
}

/// Removes the number from a system's message: ` (os error 13)`.
fn without_number(text: &str) -> &str {
    match text.split_once(" (os error ") {
        Some((message, number)) if number.ends_with(')') => message,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_between_characters() {
        let whole = "ä".repeat(QUOTED);
        assert_eq!(short(&whole), whole);
        assert_eq!(short(format!("{whole}ö")), format!("{whole}…"));
    }

    #[test]
    fn control_characters_are_visible() {
        assert_eq!(plain("a\n\tä☃"), "a\n\tä☃");
        assert_eq!(plain("\u{1b}[2J\r\u{9b}"), "\\u{1b}[2J\\r\\u{9b}");
        let bad = BadInput::new("a\u{7}.json", "a\nb", "\u{1b}c");
        assert_eq!(
            bad.to_string(),
            "a\\u{7}.json: expected a b, found \\u{1b}c"
        );
    }

    #[test]
    fn a_file_that_cannot_be_opened_has_no_expectation() {
        let missing = std::fs::read("no/such.png").unwrap_err();
        assert_eq!(
            BadInput::unreadable("no/such.png".as_ref(), &missing).to_string(),
            "cannot read `no/such.png`: no such file"
        );
        let denied = io::Error::other("Permission denied (os error 13)");
        assert_eq!(
            BadInput::unwritable("a.json".as_ref(), &denied).to_string(),
            "cannot write `a.json`: permission denied"
        );
    }
}
