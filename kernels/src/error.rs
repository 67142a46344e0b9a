//! What a kernel says when it cannot do what it is asked.

use std::fmt::Display;

use candle_core::Error;

/// `{kernel}: expected {expected}, found {found}; level {level} can`
pub fn unsupported(kernel: &str, expected: impl Display, found: impl Display, level: u8) -> Error {
    Error::Msg(format!(
        "{kernel}: expected {expected}, found {found}; level {level} can"
    ))
}

/// `{kernel}: expected {expected}, found {found}`
pub fn mismatch(kernel: &str, expected: impl Display, found: impl Display) -> Error {
    Error::Msg(format!("{kernel}: expected {expected}, found {found}"))
}
