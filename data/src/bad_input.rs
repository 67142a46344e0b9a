//! The one shape of every complaint about input.

use std::fmt::Display;

/// The most characters of a value that a complaint quotes.
const QUOTED: usize = 80;

/// The beginning of what was found, with an ellipsis for the rest: of a value that may be as long as its file.
pub fn short(found: impl Display) -> String {
    let text = found.to_string();
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What clap says is wrong with a command line, without the usage and the hint at `--help` behind it.
pub fn usage(text: &str) -> &str {
    let tails = ["\n\nUsage:", "\n\nFor more information"];
    let end = tails.iter().filter_map(|tail| text.find(tail)).min();
    text[..end.unwrap_or(text.len())].trim_start_matches("error: ")
}

/// Something that a person gave us is not what it has to be.
///
/// Prints as one line, `what: expected …, found …`, where `what` names the file, the tensor or the
/// option. Programs print it on stderr and exit with code 2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: expected {expected}, found {found}")]
pub struct BadInput {
    /// The file, tensor, key or option.
    pub what: String,
    /// What would have been right.
    pub expected: String,
    /// What was there.
    pub found: String,
}

impl BadInput {
    /// Newlines become spaces, so that the message stays one line.
    pub fn new(what: impl Display, expected: impl Display, found: impl Display) -> Self {
        let line = |s: String| s.split_whitespace().collect::<Vec<_>>().join(" ");
        Self {
            what: line(what.to_string()),
            expected: line(expected.to_string()),
            found: line(found.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_between_characters() {
        let whole = "ä".repeat(QUOTED);
        assert_eq!(short(&whole), whole);
        assert_eq!(short(format!("{whole}ö")), format!("{whole}…"));
    }
}
