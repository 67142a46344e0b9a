//! The dtypes of the kernels, f32 and bf16. Arithmetic is in f32 whatever the storage.

use candle_core::{DType, Result, WithDType};
use half::bf16;

use crate::cpu::lanes::Lanes;
use crate::error::unsupported;

/// An element that a kernel reads and writes.
pub trait Element: WithDType + Lanes + Send + Sync + 'static {
    /// The value of every output element before a kernel runs under test.
    const NAN: Self;
    /// Converts to f32, exactly.
    fn widen(self) -> f32;
    /// Converts from f32, rounded to nearest, ties to even.
    fn narrow(x: f32) -> Self;
}

impl Element for f32 {
    const NAN: Self = f32::NAN;

    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }

    #[inline(always)]
    fn narrow(x: f32) -> Self {
        x
    }
}

impl Element for bf16 {
    const NAN: Self = bf16::NAN;

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn narrow(x: f32) -> Self {
        let bits = x.to_bits();
        if x.is_nan() {
            return bf16::NAN;
        }
        // Adds half a unit of the last bit of the upper half, minus one if that bit is 0, so that ties go to
        // even. Wrapping addition cannot overflow here, and a check would prevent vectorisation.
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
        bf16::from_bits((rounded >> 16) as u16)
    }
}

/// Returns `f32` or `bf16`, the argument for `dtype`, such as the names of a kernel's two entries.
///
/// # Errors
/// For another dtype, which `kernel` does not support.
pub fn by_dtype<T>(kernel: &str, dtype: DType, f32: T, bf16: T) -> Result<T> {
    match dtype {
        DType::F32 => Ok(f32),
        DType::BF16 => Ok(bf16),
        other => Err(no_kernel(kernel, other)),
    }
}

/// Returns a dtype's name in names of entries: `f32` or `bf16`.
///
/// # Errors
/// For another dtype, which `kernel` does not support.
pub fn dtype_name(kernel: &str, dtype: DType) -> Result<&'static str> {
    by_dtype(kernel, dtype, "f32", "bf16")
}

/// Calls a function that is generic over [`Element`] with the type of `$dtype`.
macro_rules! by_element {
    ($kernel:literal, $dtype:expr, $($function:ident)::+ ( $($arg:expr),* $(,)? )) => {
        match $dtype {
            candle_core::DType::F32 => $($function)::+::<f32>($($arg),*),
            candle_core::DType::BF16 => $($function)::+::<half::bf16>($($arg),*),
            other => Err($crate::element::no_kernel($kernel, other)),
        }
    };
}
pub(crate) use by_element;

/// The error for a dtype without a kernel.
pub fn no_kernel(kernel: &str, dtype: DType) -> candle_core::Error {
    unsupported(kernel, "f32 or bf16", dtype.as_str(), 2)
}

/// Returns the dtype of all `tensors`.
///
/// # Errors
/// If they differ.
pub fn same_dtype(kernel: &str, tensors: &[&candle_core::Tensor]) -> Result<DType> {
    let dtype = tensors[0].dtype();
    match tensors.iter().find(|t| t.dtype() != dtype) {
        Some(other) => Err(crate::error::mismatch(
            kernel,
            dtype.as_str(),
            other.dtype().as_str(),
        )),
        None => Ok(dtype),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bf16_rounding_equals_the_half_crate() {
        for bits in (0..=u32::MAX).step_by(4099) {
            let x = f32::from_bits(bits);
            if x.is_nan() {
                assert!(bf16::narrow(x).is_nan());
            } else {
                assert_eq!(bf16::narrow(x), bf16::from_f32(x), "{x}");
            }
        }
    }
}
