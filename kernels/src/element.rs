//! The number formats of the kernels. Arithmetic is in f32 whatever the storage.

use candle_core::{DType, Result, WithDType};
use half::bf16;

use crate::cpu::lanes::Lanes;
use crate::error::unsupported;

/// An element that a kernel reads and writes.
pub trait Element: WithDType + Lanes + Send + Sync + 'static {
    /// What an output holds before a kernel runs under test.
    const NAN: Self;
    /// Exact.
    fn widen(self) -> f32;
    /// Rounds to nearest, ties to even.
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
        // Adds half of the last place that is kept, less one where that place is even.
        // Wrapping: it cannot overflow, and a check for it would keep the compiler from using vectors.
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
        bf16::from_bits((rounded >> 16) as u16)
    }
}

/// `Ok("{op}_f32_{level}")` or `Ok("{op}_bf16_{level}")`: the entry point for a number format.
macro_rules! entry {
    ($op:literal, $dtype:expr, $level:literal) => {
        match $dtype {
            candle_core::DType::F32 => Ok(concat!($op, "_f32_", $level)),
            candle_core::DType::BF16 => Ok(concat!($op, "_bf16_", $level)),
            other => Err($crate::element::no_kernel(concat!($op, "_", $level), other)),
        }
    };
}
pub(crate) use entry;

/// As [`entry`], the entry points of all [`NARROW`](crate::launch::NARROW), in its order.
macro_rules! narrow_entries {
    ($op:literal, $dtype:expr) => {
        match $dtype {
            candle_core::DType::F32 => Ok($crate::element::narrow_entries!(@ concat!($op, "_f32_level5"))),
            candle_core::DType::BF16 => Ok($crate::element::narrow_entries!(@ concat!($op, "_bf16_level5"))),
            other => Err($crate::element::no_kernel(concat!($op, "_level5"), other)),
        }
    };
    (@ $stem:expr) => {
        [
            concat!($stem, "_16x1"),
            concat!($stem, "_32x1"),
            concat!($stem, "_32x2"),
            concat!($stem, "_32x4"),
            concat!($stem, "_32x8"),
        ]
    };
}
pub(crate) use narrow_entries;

/// Calls a function that is generic over [`Element`] with the format that `$dtype` names.
macro_rules! dispatch {
    ($kernel:literal, $dtype:expr, $($function:ident)::+ ( $($arg:expr),* $(,)? )) => {
        match $dtype {
            candle_core::DType::F32 => $($function)::+::<f32>($($arg),*),
            candle_core::DType::BF16 => $($function)::+::<half::bf16>($($arg),*),
            other => Err($crate::element::no_kernel($kernel, other)),
        }
    };
}
pub(crate) use dispatch;

/// The error for a number format without a kernel.
pub fn no_kernel(kernel: &str, dtype: DType) -> candle_core::Error {
    unsupported(kernel, "f32 or bf16", dtype.as_str(), 2)
}

/// All of `tensors` have the format of the first.
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
    fn bf16_rounds_as_half_does() {
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
