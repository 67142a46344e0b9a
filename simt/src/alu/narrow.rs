//! The 16-bit types. Operations run in `f64`, where a product of two is exact and a sum is rounded to odd;
//! rounding that to 16 bits is the only visible rounding: see [`to_odd`].

use half::{bf16, f16};

use super::float::Float;
use super::rounding::{Format, Mode, narrow, to_odd, two_sum};

/// [`Float`] of a type of 16 bits.
macro_rules! narrow_float {
    ($T:ty, $nan:expr, $smallest_normal:expr, $format:expr) => {
        impl Float for $T {
            const CANONICAL_NAN: Self = <$T>::from_bits($nan);
            const ZERO: Self = <$T>::ZERO;
            const ONE: Self = <$T>::ONE;

            #[inline(always)]
            fn wide(self) -> f64 {
                self.to_f32().into()
            }

            #[inline(always)]
            fn rounded(x: f64, mode: Mode) -> Self {
                // `narrow` has rounded to a number of the type, so the conversion is exact.
                <$T>::from_f32(narrow(x, &$format, mode) as f32)
            }

            #[inline(always)]
            fn flush(self) -> Self {
                let is_small = self.to_bits() & 0x7fff < $smallest_normal;
                <$T>::from_bits(self.to_bits() & if is_small { 0x8000 } else { 0xffff })
            }

            #[inline(always)]
            fn has_minus(self) -> bool {
                self.to_bits() >> 15 == 1
            }

            #[inline(always)]
            fn negate(self) -> Self {
                <$T>::from_bits(self.to_bits() ^ 0x8000)
            }

            #[inline(always)]
            fn add(self, b: Self, mode: Mode) -> Self {
                let (sum, missing) = two_sum(self.wide(), b.wide());
                Self::rounded(to_odd(sum, missing), mode)
            }

            #[inline(always)]
            fn mul(self, b: Self, mode: Mode) -> Self {
                Self::rounded(self.wide() * b.wide(), mode)
            }

            #[inline(always)]
            fn fma(self, b: Self, c: Self, mode: Mode) -> Self {
                let (sum, missing) = two_sum(self.wide() * b.wide(), c.wide());
                Self::rounded(to_odd(sum, missing), mode)
            }
        }
    };
}

narrow_float!(
    f16,
    0x7fff,
    0x0400,
    Format {
        digits: 11,
        min_exponent: -14,
        max: 65504.0,
    }
);

narrow_float!(
    bf16,
    0x7fff,
    0x0080,
    Format {
        digits: 8,
        min_exponent: -126,
        max: 3.389_531_389_251_535_5e38,
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn overflow_gives_infinity_or_the_maximum() {
        assert_eq!(f16::rounded(f64::INFINITY, Mode::Zero), f16::INFINITY);
        assert_eq!(f16::rounded(1e9, Mode::Zero), f16::MAX);
        assert_eq!(f16::rounded(1e9, Mode::Nearest), f16::INFINITY);
        assert_eq!(bf16::rounded(f64::from(f32::MAX), Mode::Zero), bf16::MAX);
        assert_eq!(bf16::rounded(-1e300, Mode::Up), -bf16::MAX);
        assert_eq!(bf16::MAX.wide(), 3.389_531_389_251_535_5e38);
    }

    #[test]
    fn results_are_rounded_once() {
        // 1 + 2^-11 is a tie in f16; slightly more is not.
        let (one, tie) = (f16::ONE, f16::from_f32(2f32.powi(-11)));
        assert_eq!(one.fma(one, tie, Mode::Nearest).to_bits(), 0x3c00);
        let tiny = f16::from_bits(1);
        assert_eq!(tiny.fma(tiny, one, Mode::Nearest).to_bits(), 0x3c00);
        let above = f16::from_f32(1.0 + 2f32.powi(-10));
        assert_eq!(tie.fma(above, one, Mode::Nearest).to_bits(), 0x3c01);
        // bf16 has products far below the last digit of 1 + 2^-8 in f64.
        let (one, tiny) = (bf16::ONE, bf16::from_f32(1e-30));
        let tie = bf16::from_f32(1.0 + 2f32.powi(-7));
        let half = bf16::from_f32(2f32.powi(-8));
        let exact_tie = half.fma(one, one, Mode::Nearest);
        assert_eq!(exact_tie.to_bits(), 0x3f80);
        assert!(tie.to_bits() == 0x3f81 && tiny.fma(tiny, one, Mode::Up) == tie);
    }

    /// A number in units of 2^-48, the smallest product.
    fn f16_units(x: f16) -> i128 {
        (x.wide() * 2f64.powi(48)) as i128
    }

    proptest! {
        #[test]
        fn f16_fma_is_the_nearest_number(a: u16, b: u16, c: u16) {
            let [a, b, c] = [a, b, c].map(f16::from_bits);
            let d = a.fma(b, c, Mode::Nearest);
            prop_assume!(a.is_finite() && b.is_finite() && c.is_finite() && d.is_finite());
            let exact = ((a.wide() * 2f64.powi(24)) as i128) * ((b.wide() * 2f64.powi(24)) as i128) + f16_units(c);
            let distance = |x: f16| (exact - f16_units(x)).abs();
            for next in [d.to_bits().wrapping_add(1), d.to_bits().wrapping_sub(1)].map(f16::from_bits) {
                prop_assert!(!next.is_finite() || distance(d) <= distance(next));
                let is_tie = next.is_finite() && distance(d) == distance(next) && distance(d) > 0;
                prop_assert!(!is_tie || d.to_bits() & 1 == 0);
            }
            prop_assert!(f16_units(a.fma(b, c, Mode::Down)) <= exact);
        }

        #[test]
        fn rounding_from_f32_equals_the_half_crate(bits: u32) {
            let x = f32::from_bits(bits);
            prop_assume!(!x.is_nan());
            prop_assert_eq!(bf16::rounded(x.into(), Mode::Nearest).to_bits(), bf16::from_f32(x).to_bits());
            prop_assert_eq!(f16::rounded(x.into(), Mode::Nearest).to_bits(), f16::from_f32(x).to_bits());
        }

        #[test]
        fn bf16_sums_equal_rounded_f32_sums(a: u16, b: u16) {
            // Sums of terms of similar size are exact in f32.
            let (a, b) = (bf16::from_bits(a), bf16::from_bits(b & 0x807f | a & 0x7f80));
            prop_assume!(a.is_finite() && b.is_finite());
            let sum = bf16::from_f32(a.to_f32() + b.to_f32());
            prop_assert_eq!(a.add(b, Mode::Nearest).to_bits(), sum.to_bits());
        }
    }
}
