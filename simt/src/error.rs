//! What is wrong with a text or a launch, as a value.

use std::fmt;

/// A line of the PTX text, and the line of the source that it was compiled from, if the text says so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// File and line that a `.loc` before it names.
    pub source: Option<(String, u32)>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        match &self.source {
            Some((file, line)) => write!(f, " ({file}:{line})"),
            None => Ok(()),
        }
    }
}

impl Place {
    /// What a person looks up: the line of the source, or else of the PTX.
    pub(crate) fn words(&self) -> String {
        match &self.source {
            Some((file, line)) => format!("{file}:{line} (PTX line {})", self.line),
            None => format!("line {}", self.line),
        }
    }
}

/// Why a text cannot be read or a kernel not be launched. What a kernel does wrong while it runs is a
/// finding of its report and no error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not PTX.
    #[error("line {line}: expected {expected}, found {found}")]
    Syntax {
        /// From 1.
        line: u32,
        /// In words.
        expected: String,
        /// In words, or as it stands there.
        found: String,
    },
    /// An instruction that PTX has and this crate does not run.
    #[error("{place}: `{form}` is not supported{why}")]
    Unsupported {
        /// Where it stands.
        place: Place,
        /// The opcode with its modifiers.
        form: String,
        /// Empty, or `: ` and a reason.
        why: String,
    },
    /// A name that is used and not declared, or declared twice, or of another kind.
    #[error("{place}: expected {expected}, found `{found}`")]
    Name {
        /// Where it is used.
        place: Place,
        /// In words.
        expected: String,
        /// The name.
        found: String,
    },
    /// A launch that the kernel or the machine cannot take.
    #[error("{what}: expected {expected}, found {found}")]
    Launch {
        /// The part of the launch.
        what: String,
        /// In words.
        expected: String,
        /// In words.
        found: String,
    },
}

/// With this crate's error.
pub type Result<T> = std::result::Result<T, Error>;
