//! Floating-point types: their operations in each of the four rounding modes.
//!
//! NaN results are the canonical NaN of the type, `0x7fffffff` for f32. For f64 some GPUs keep the bits of an
//! operand; this crate gives `0x7ff8000000000000`.

use std::cmp::Ordering;

use super::exact::sign_of;
use super::lane::Lane;
use super::rounding::{
    Clamp, Mode, Neighbours, cancels_to_minus_zero, compare_sum, direct, order, two_sum,
};

/// A floating-point type.
pub(super) trait Float: Lane + PartialOrd {
    /// NaN, as operations return it.
    const CANONICAL_NAN: Self;
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// Converts to `f64`, exactly.
    fn wide(self) -> f64;
    /// Rounds an `f64`. A number rounded with [`to_odd`] gives the correctly rounded result of the exact one.
    fn rounded(x: f64, mode: Mode) -> Self;
    /// Turns subnormals into zeros of the same sign.
    fn flush(self) -> Self;
    /// Whether the sign bit is set.
    fn has_minus(self) -> bool;
    /// Flips the sign bit.
    fn negate(self) -> Self;
    /// The sum.
    fn add(self, b: Self, mode: Mode) -> Self;
    /// The product.
    fn mul(self, b: Self, mode: Mode) -> Self;
    /// Returns self × b + c, rounded once.
    fn fma(self, b: Self, c: Self, mode: Mode) -> Self;
}

/// A type with division and square root.
pub(super) trait Divides: Float {
    /// The quotient.
    fn div(self, b: Self, mode: Mode) -> Self;
    /// The square root.
    fn sqrt(self, mode: Mode) -> Self;
}

/// Applies `.ftz`, `.sat` and `.relu` to a result.
#[inline(always)]
pub(super) fn finish<T: Float>(x: T, ftz: bool, clamp: Clamp) -> T {
    let x = if ftz { x.flush() } else { x };
    match clamp {
        Clamp::Unit if x >= T::ONE => T::ONE,
        Clamp::Unit if x > T::ZERO => x,
        Clamp::Unit => T::ZERO,
        Clamp::Positive if x <= T::ZERO => T::ZERO,
        _ => canonical(x),
    }
}

/// Flushes an operand under `.ftz`.
#[inline(always)]
pub(super) fn operand<T: Float>(x: T, ftz: bool) -> T {
    if ftz { x.flush() } else { x }
}

/// Replaces any NaN by the canonical one.
#[inline(always)]
#[allow(clippy::eq_op)]
pub(super) fn canonical<T: Float>(x: T) -> T {
    if x == x { x } else { T::CANONICAL_NAN }
}

/// Rounds a sum of two terms in a directed mode; the signs of the terms are given.
#[inline]
fn directed_sum<T: Float + Neighbours>(
    nearest: T,
    exact: Ordering,
    mode: Mode,
    negative: [bool; 2],
) -> T {
    if nearest == T::ZERO && cancels_to_minus_zero(mode, exact, negative) {
        return T::ZERO.negate();
    }
    direct(nearest, exact, mode)
}

impl Float for f32 {
    const CANONICAL_NAN: Self = f32::from_bits(0x7fff_ffff);
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }

    #[inline(always)]
    fn rounded(x: f64, mode: Mode) -> Self {
        let nearest = x as f32;
        direct(nearest, order(x, nearest.into()), mode)
    }

    #[inline(always)]
    fn flush(self) -> Self {
        let is_small = self.abs() < f32::MIN_POSITIVE;
        f32::from_bits(self.to_bits() & if is_small { 1 << 31 } else { !0 })
    }

    #[inline(always)]
    fn has_minus(self) -> bool {
        self.is_sign_negative()
    }

    #[inline(always)]
    fn negate(self) -> Self {
        -self
    }

    #[inline(always)]
    fn add(self, b: Self, mode: Mode) -> Self {
        let nearest = self + b;
        if mode == Mode::Nearest {
            return nearest;
        }
        let (sum, missing) = two_sum(self.into(), b.into());
        let exact = compare_sum(sum, missing, nearest.into());
        directed_sum(nearest, exact, mode, [self.has_minus(), b.has_minus()])
    }

    #[inline(always)]
    fn mul(self, b: Self, mode: Mode) -> Self {
        // A product of two 24-bit significands has 48 bits; an f64 has 53.
        let exact = f64::from(self) * f64::from(b);
        let nearest = self * b;
        direct(nearest, order(exact, nearest.into()), mode)
    }

    #[inline(always)]
    fn fma(self, b: Self, c: Self, mode: Mode) -> Self {
        let nearest = self.mul_add(b, c);
        if mode == Mode::Nearest {
            return nearest;
        }
        let product = f64::from(self) * f64::from(b);
        let (sum, missing) = two_sum(product, c.into());
        let exact = compare_sum(sum, missing, nearest.into());
        let negative = [product.is_sign_negative(), c.has_minus()];
        directed_sum(nearest, exact, mode, negative)
    }
}

impl Divides for f32 {
    #[inline(always)]
    fn div(self, b: Self, mode: Mode) -> Self {
        let nearest = self / b;
        // Comparing self with nearest × b, which is exact in f64, tells the side; a negative b reverses it.
        let exact = order(self.into(), f64::from(nearest) * f64::from(b));
        direct(nearest, if b < 0.0 { exact.reverse() } else { exact }, mode)
    }

    #[inline(always)]
    fn sqrt(self, mode: Mode) -> Self {
        let nearest = self.sqrt();
        let square = f64::from(nearest) * f64::from(nearest);
        direct(nearest, order(self.into(), square), mode)
    }
}

impl Float for f64 {
    const CANONICAL_NAN: Self = f64::from_bits(0x7ff8_0000_0000_0000);
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn rounded(x: f64, _mode: Mode) -> Self {
        x
    }

    #[inline(always)]
    fn flush(self) -> Self {
        let is_small = self.abs() < f64::MIN_POSITIVE;
        f64::from_bits(self.to_bits() & if is_small { 1 << 63 } else { !0 })
    }

    #[inline(always)]
    fn has_minus(self) -> bool {
        self.is_sign_negative()
    }

    #[inline(always)]
    fn negate(self) -> Self {
        -self
    }

    #[inline(always)]
    fn add(self, b: Self, mode: Mode) -> Self {
        let nearest = self + b;
        if mode == Mode::Nearest {
            return nearest;
        }
        let exact = beyond(nearest, &[(self, 1.0), (b, 1.0)]);
        directed_sum(nearest, exact, mode, [self.has_minus(), b.has_minus()])
    }

    #[inline(always)]
    fn mul(self, b: Self, mode: Mode) -> Self {
        let nearest = self * b;
        if mode == Mode::Nearest {
            return nearest;
        }
        direct(nearest, beyond(nearest, &[(self, b)]), mode)
    }

    #[inline(always)]
    fn fma(self, b: Self, c: Self, mode: Mode) -> Self {
        let nearest = self.mul_add(b, c);
        if mode == Mode::Nearest {
            return nearest;
        }
        let exact = beyond(nearest, &[(self, b), (c, 1.0)]);
        let is_negative = self.has_minus() != b.has_minus();
        directed_sum(nearest, exact, mode, [is_negative, c.has_minus()])
    }
}

impl Divides for f64 {
    #[inline(always)]
    fn div(self, b: Self, mode: Mode) -> Self {
        let nearest = self / b;
        if mode == Mode::Nearest || !(self.is_finite() && b.is_finite()) || b == 0.0 {
            return nearest;
        }
        if nearest.is_infinite() {
            return direct(nearest, order(0.0, nearest), mode);
        }
        let exact = sign_of(&[(self, 1.0), (-nearest, b)]);
        direct(nearest, if b < 0.0 { exact.reverse() } else { exact }, mode)
    }

    #[inline(always)]
    fn sqrt(self, mode: Mode) -> Self {
        let nearest = self.sqrt();
        if mode == Mode::Nearest || !nearest.is_finite() {
            return nearest;
        }
        direct(nearest, sign_of(&[(self, 1.0), (-nearest, nearest)]), mode)
    }
}

/// Compares a sum of products with its nearest `f64`.
fn beyond(nearest: f64, products: &[(f64, f64)]) -> Ordering {
    if products
        .iter()
        .any(|&(a, b)| !a.is_finite() || !b.is_finite())
    {
        return Ordering::Equal;
    }
    if nearest.is_infinite() {
        return order(0.0, nearest);
    }
    let mut terms = [(-nearest, 1.0); 3];
    terms[..products.len()].copy_from_slice(products);
    sign_of(&terms[..=products.len()])
}
