use std::fmt::Display;

/// Why an operand cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input is invalid.
    #[error("{what}: expected {expected}, found {found}")]
    Invalid {
        /// The part of the input that is wrong, such as `edge 3`.
        what: String,
        /// A description of valid input.
        expected: String,
        /// The input that was found.
        found: String,
    },
    /// A tensor operation failed.
    #[error(transparent)]
    Candle(#[from] candle_core::Error),
}

impl Error {
    pub(crate) fn invalid(what: impl Display, expected: impl Display, found: impl Display) -> Self {
        Self::Invalid {
            what: what.to_string(),
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }
}

impl From<Error> for candle_core::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Candle(error) => error,
            invalid => Self::wrap(invalid),
        }
    }
}
