//! Errors of a kernel that cannot run on its operands.

use std::fmt::Display;

use candle_core::Error;

/// A request that a kernel refuses and another level can answer: `{kernel}: expected {expected}, found {found}; level
/// {level} can`.
///
/// Functions of this crate return it inside candle's error, where [`Unsupported::of`] finds it.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use kernels::error::Unsupported;
///
/// let x = Tensor::zeros((2, 4), DType::F64, &Device::Cpu)?;
/// let error = kernels::level4::gelu(&x).unwrap_err();
/// assert_eq!(Unsupported::of(&error).map(|refused| refused.level), Some(2));
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kernel}: expected {expected}, found {found}; level {level} can")]
pub struct Unsupported {
    /// The kernel that was asked.
    pub kernel: String,
    /// The operands that it supports.
    pub expected: String,
    /// The operands that it got.
    pub found: String,
    /// A level that can do it.
    pub level: u8,
}

impl Unsupported {
    /// The refusal that an error of candle holds; `None` for any other error.
    pub fn of(error: &Error) -> Option<&Self> {
        match error {
            Error::Cuda(inner) => inner.downcast_ref(),
            Error::Context { inner, .. }
            | Error::WithPath { inner, .. }
            | Error::WithBacktrace { inner, .. } => Self::of(inner),
            _ => None,
        }
    }
}

/// An [`Unsupported`] in candle's error. Of candle's variants, `Cuda` alone holds an error of any type that a caller can get
/// back, and prints it as it is; the request may have been for a CPU.
pub fn unsupported(kernel: &str, expected: impl Display, found: impl Display, level: u8) -> Error {
    Error::Cuda(Box::new(Unsupported {
        kernel: kernel.to_owned(),
        expected: expected.to_string(),
        found: found.to_string(),
        level,
    }))
}

/// `{kernel}: expected {expected}, found {found}`
pub fn mismatch(kernel: &str, expected: impl Display, found: impl Display) -> Error {
    Error::Msg(format!("{kernel}: expected {expected}, found {found}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_found_in_what_wraps_it() {
        let refused = unsupported("softmax_level4", "f32 or bf16", "f64", 2);
        let text = "softmax_level4: expected f32 or bf16, found f64; level 2 can";
        assert_eq!(refused.to_string(), text);
        let wrapped = refused.context("in block 3").with_path("model.safetensors");
        assert_eq!(Unsupported::of(&wrapped).unwrap().to_string(), text);
        assert!(Unsupported::of(&mismatch("softmax_level4", "x", "y")).is_none());
    }
}
