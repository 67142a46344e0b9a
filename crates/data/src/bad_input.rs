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
            found: line(in_plain_words(found.to_string())),
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

    /// A folder whose files cannot be listed.
    pub fn no_folder(path: &Path, expected: impl Display, error: &io::Error) -> Self {
        let found = match error.kind() {
            io::ErrorKind::NotADirectory => "a file".to_owned(),
            _ => why(error, "folder"),
        };
        Self::new(path.display(), expected, found)
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
    uncapitalised(without_number(&text).unwrap_or(&text))
}

/// The message of `serde_json` for a text without anything.
const EMPTY_JSON: &str = "EOF while parsing a value at line 1 column 0";

/// Says what a system or a parser found in the words of other errors.
fn in_plain_words(text: String) -> String {
    match without_number(&text) {
        Some(message) => uncapitalised(message),
        None if text == EMPTY_JSON => "an empty file".to_owned(),
        None => text,
    }
}

/// Removes the number from a system's message: ` (os error 13)`. `None` for another text.
fn without_number(text: &str) -> Option<&str> {
    let (message, number) = text.split_once(" (os error ")?;
    number.ends_with(')').then_some(message)
}

fn uncapitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_lowercase);
    first.into_iter().flatten().chain(chars).collect()
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
    fn json_without_anything_is_an_empty_file() {
        let empty = serde_json::from_str::<bool>("").unwrap_err();
        assert_eq!(BadInput::new("a", "JSON", empty).found, "an empty file");
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
        let no_folder = |path: &str| {
            let error = std::fs::read_dir(path).unwrap_err();
            BadInput::no_folder(path.as_ref(), "a folder of images", &error).to_string()
        };
        let expected = "expected a folder of images, found";
        assert_eq!(
            no_folder("no/such"),
            format!("no/such: {expected} no such folder")
        );
        if cfg!(unix) {
            assert_eq!(
                no_folder("Cargo.toml"),
                format!("Cargo.toml: {expected} a file")
            );
        }
        let denied = io::Error::other("Permission denied (os error 13)");
        assert_eq!(BadInput::new("a", "b", &denied).found, "permission denied");
        assert_eq!(
            BadInput::unwritable("a.json".as_ref(), &denied).to_string(),
            "cannot write `a.json`: permission denied"
        );
    }
}
