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

/// Makes control characters visible, but for newlines and tabs, because `\u{1b}[2J` from a file would clear a
/// terminal. Characters that reorder or break a line are visible, too.
pub fn plain(text: &str) -> Cow<'_, str> {
    visible(text, |c| is_invisible(c) && !"\n\t".contains(c))
}

/// Does the same as [`plain`] for a text of one line, such as the name of a class: newlines and tabs are visible, too.
pub fn plain_line(text: &str) -> Cow<'_, str> {
    visible(text, is_invisible)
}

/// Whether a character acts on a terminal instead of being printed: controls, line separators, and those that change
/// the direction of text.
pub fn is_invisible(c: char) -> bool {
    let directions = ['\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}'];
    c.is_control()
        || directions.contains(&c)
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn visible(text: &str, acts: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&acts) {
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

/// Returns clap's error about a command line, without the usage and the hint at `--help`. A tip follows a semicolon,
/// because programs print the error in one line.
pub fn usage(text: &str) -> String {
    let tails = ["\n\nUsage:", "\n\nFor more information"];
    let end = tails.iter().filter_map(|tail| text.find(tail)).min();
    let text = text[..end.unwrap_or(text.len())].trim_start_matches("error: ");
    let mut parts = text.split("\n  tip: ").map(str::trim_end);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, tip| format!("{all}; tip: {tip}"))
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

/// Maximum characters of a part of an error. A path and what is in its file fit.
const LONGEST: usize = 400;

/// Takes the middle out of a long text.
fn cut(text: String) -> String {
    let chars = text.chars().count();
    if chars <= LONGEST {
        return text;
    }
    let half = LONGEST / 2;
    let start = text.chars().take(half);
    let end = text.chars().skip(chars - half);
    start.chain(['…']).chain(end).collect()
}

impl BadInput {
    /// Creates an error. Newlines become spaces, so that it stays one line, other control characters become
    /// visible, a system error loses its number, and long parts are cut.
    pub fn new(what: impl Display, expected: impl Display, found: impl Display) -> Self {
        let line = |s: String| {
            let words = s.split_whitespace().collect::<Vec<_>>().join(" ");
            cut(plain(&words).into_owned())
        };
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
    fn a_long_name_leaves_the_rest_of_the_line() {
        let bad = BadInput::new("a".repeat(5000), "a", "ä".repeat(5000));
        assert_eq!(bad.what.chars().count(), LONGEST + 1);
        assert!(bad.to_string().len() < 2000);
    }

    #[test]
    fn characters_that_reorder_or_break_a_line_are_visible() {
        assert_eq!(plain("a\u{202e}b\u{2028}c"), "a\\u{202e}b\\u{2028}c");
        assert_eq!(plain("\u{2066}\u{200f}"), "\\u{2066}\\u{200f}");
        assert_eq!(plain_line("a\n\tä\u{1b}"), "a\\n\\tä\\u{1b}");
    }

    #[test]
    fn a_tip_of_clap_follows_a_semicolon() {
        let text = "error: unexpected argument '--model-x' found\n\n  tip: a similar argument exists: '--model'\n\nUsage: x";
        let line =
            "unexpected argument '--model-x' found; tip: a similar argument exists: '--model'";
        assert_eq!(usage(text), line);
        assert_eq!(
            usage("error: a\n  [b]\n\nFor more information, x"),
            "a\n  [b]"
        );
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
