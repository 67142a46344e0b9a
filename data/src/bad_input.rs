//! The one shape of every complaint about input.

use std::fmt::Display;

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
