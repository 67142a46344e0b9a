//! Errors of a text or a launch.

use std::fmt;

/// A line of the PTX text, and the source line it was compiled from, if the text names it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// File and line of the last `.loc`.
    pub source: Option<(String, u32)>,
    /// The line of another file that `source` was inlined into, such as that of a kernel which calls a function of a header.
    pub called: Option<Box<(String, u32)>>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        match &self.source {
            Some((file, line)) => write!(f, " ({file}:{line})"),
            None => Ok(()),
        }
    }
}

impl Location {
    /// Describes the line of the source, or else of the PTX.
    pub(crate) fn words(&self) -> String {
        match &self.source {
            Some((file, line)) => format!("{file}:{line} (PTX line {})", self.line),
            None => format!("line {}", self.line),
        }
    }
}

/// The reason why a text cannot be parsed or a kernel cannot be launched. A defect of a running kernel is a
/// finding in its report, not an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not PTX.
    #[error("line {line}: expected {expected}, found {found}")]
    Syntax {
        /// Line of the text, from 1.
        line: u32,
        /// Description of valid input.
        expected: String,
        /// The token found, or a description of it.
        found: String,
    },
    /// A PTX instruction that this crate does not run.
    #[error("{location}: `{form}` is not supported{why}")]
    Unsupported {
        /// Location.
        location: Location,
        /// The opcode with its modifiers.
        form: String,
        /// Empty, or `: ` and a reason.
        why: String,
    },
    /// A name that is undeclared, declared twice, or of another kind.
    #[error("{location}: expected {expected}, found `{found}`")]
    Name {
        /// Location of the use.
        location: Location,
        /// Description of a valid name.
        expected: String,
        /// The name.
        found: String,
    },
    /// A launch that the kernel or the machine cannot run.
    #[error("{what}: expected {expected}, found {found}")]
    Launch {
        /// The part of the launch.
        what: String,
        /// Description of valid input.
        expected: String,
        /// Description of the input.
        found: String,
    },
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;
