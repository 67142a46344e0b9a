//! Errors of loading: bad input, told apart from everything else.

use data::BadInput;

/// Errors between a path and a model's answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file, a tensor or an option is not what it has to be: the user can fix it.
    #[error(transparent)]
    Input(#[from] BadInput),
    /// A tensor operation failed.
    #[error(transparent)]
    Candle(candle_core::Error),
}

/// The result of loading.
pub type Result<T> = std::result::Result<T, Error>;

impl From<candle_core::Error> for Error {
    /// A [`BadInput`] that travelled through candle (a `VarBuilder` can only return candle's error)
    /// is taken out again.
    fn from(error: candle_core::Error) -> Self {
        match error {
            candle_core::Error::WithBacktrace { inner, .. } => Self::from(*inner),
            candle_core::Error::Context { inner, .. } => Self::from(*inner),
            candle_core::Error::WrappedContext { wrapped, context } => {
                match wrapped.downcast::<BadInput>() {
                    Ok(bad) => Self::Input(*bad),
                    Err(wrapped) => {
                        Self::Candle(candle_core::Error::WrappedContext { wrapped, context })
                    }
                }
            }
            other => Self::Candle(other),
        }
    }
}

impl From<Error> for candle_core::Error {
    /// For code that has to return candle's error; [`Error::from`] is the way back.
    fn from(error: Error) -> Self {
        match error {
            Error::Candle(error) => error,
            Error::Input(bad) => Self::WrappedContext {
                context: bad.to_string(),
                wrapped: Box::new(bad),
            },
        }
    }
}

/// A [`BadInput`] as candle's error, for code that has to return that.
pub fn bad_input(
    what: impl std::fmt::Display,
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> candle_core::Error {
    Error::Input(BadInput::new(what, expected, found)).into()
}

impl From<operands::Error> for Error {
    fn from(error: operands::Error) -> Self {
        match error {
            operands::Error::Invalid {
                what,
                expected,
                found,
            } => Self::Input(BadInput::new(what, expected, found)),
            operands::Error::Candle(error) => error.into(),
        }
    }
}
