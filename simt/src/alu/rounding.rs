//! The four rounding modes of IEEE 754.
//!
//! The CPU rounds to nearest. The other modes start from that result: each operation compares it with the
//! exact one, and [`direct`] moves to the neighbour on that side if the mode asks for it.

use std::cmp::Ordering;

/// A rounding mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// `.rn`: to nearest, ties to even.
    Nearest,
    /// `.rz`: towards zero.
    Zero,
    /// `.rm`: towards minus infinity.
    Down,
    /// `.rp`: towards plus infinity.
    Up,
}

/// Post-processing of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clamp {
    /// None.
    None,
    /// `.sat`: clamps to [0, 1]; NaN becomes zero.
    Unit,
    /// `.relu`: negative numbers become zero.
    Positive,
}

/// Access to the adjacent numbers.
pub(super) trait Neighbours: Copy {
    /// Whether the sign bit is set.
    fn has_sign(self) -> bool;
    /// The next smaller number.
    fn down(self) -> Self;
    /// The next larger number.
    fn up(self) -> Self;
}

impl Neighbours for f32 {
    fn has_sign(self) -> bool {
        self.is_sign_negative()
    }
    fn down(self) -> Self {
        self.next_down()
    }
    fn up(self) -> Self {
        self.next_up()
    }
}

impl Neighbours for f64 {
    fn has_sign(self) -> bool {
        self.is_sign_negative()
    }
    fn down(self) -> Self {
        self.next_down()
    }
    fn up(self) -> Self {
        self.next_up()
    }
}

/// Returns the result in a mode, given the nearest number and how the exact result compares with it.
#[inline]
pub(super) fn direct<T: Neighbours>(nearest: T, exact: Ordering, mode: Mode) -> T {
    let (may_sink, may_rise) = match mode {
        Mode::Nearest => (false, false),
        Mode::Zero => (!nearest.has_sign(), nearest.has_sign()),
        Mode::Down => (true, false),
        Mode::Up => (false, true),
    };
    match exact {
        Ordering::Less if may_sink => nearest.down(),
        Ordering::Greater if may_rise => nearest.up(),
        _ => nearest,
    }
}

/// Whether a sum that came out as +0 must be −0. Rounding down, terms that cancel give −0; only two positive
/// zeros give +0.
#[inline]
pub(super) fn cancels_to_minus_zero(mode: Mode, exact: Ordering, negative: [bool; 2]) -> bool {
    mode == Mode::Down && exact == Ordering::Equal && (negative[0] || negative[1])
}

/// Returns the sum to nearest and its error; the two add up to the exact sum unless the first overflows.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}

/// Compares `sum + missing`, a result of [`two_sum`], with a number near it. `missing` is smaller than the
/// distance to the next `f64`, so it matters only if `sum` equals the number.
#[inline]
pub(super) fn compare_sum(sum: f64, missing: f64, other: f64) -> Ordering {
    order(sum, other).then(order(missing, 0.0))
}

/// Compares two numbers. Unordered numbers count as equal, because NaN needs no rounding.
#[inline]
pub(super) fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

/// Rounds a sum to odd: sets the last bit if `missing` is not zero. Rounding the result again to 51 bits or
/// fewer gives the correctly rounded sum, because the last bit marks that it was no tie.
#[inline]
pub(super) fn to_odd(sum: f64, missing: f64) -> f64 {
    let bits = sum.to_bits();
    if missing == 0.0 || missing.is_nan() || bits & 1 == 1 {
        return sum;
    }
    // One step away from zero or towards it; a sum of zero has no error.
    let away = (missing > 0.0) == (sum > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

/// Rounds to an integer.
#[inline]
pub(super) fn integral(x: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => x.round_ties_even(),
        Mode::Zero => x.trunc(),
        Mode::Down => x.floor(),
        Mode::Up => x.ceil(),
    }
}

/// A floating-point format narrower than `f64`.
pub(super) struct Format {
    /// Bits of the significand, including the hidden one.
    pub digits: i32,
    /// Exponent of the smallest normal number.
    pub min_exponent: i32,
    /// Largest finite number.
    pub max: f64,
}

/// Rounds to a format; the result is exact as an `f64`.
#[inline]
pub(super) fn narrow(x: f64, format: &Format, mode: Mode) -> f64 {
    if !x.is_finite() {
        return x;
    }
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    // The unit of the last digit, equal for all subnormals.
    let last = power_of_two(exponent.max(format.min_exponent) - format.digits + 1);
    let rounded = integral(x / last, mode) * last;
    if rounded.abs() <= format.max {
        return rounded;
    }
    // The exact number is finite and lies between the largest number and infinity.
    let infinite = match mode {
        Mode::Nearest => true,
        Mode::Zero => false,
        Mode::Down => x < 0.0,
        Mode::Up => x > 0.0,
    };
    let magnitude = if infinite { f64::INFINITY } else { format.max };
    magnitude.copysign(x)
}

/// Returns 2^exponent for the exponent of a normal number.
#[inline]
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const F32: Format = Format {
        digits: 24,
        min_exponent: -126,
        max: f32::MAX as f64,
    };

    #[test]
    fn rounding_modes_choose_a_neighbour() {
        use Ordering::*;
        assert_eq!(direct(1.0f32, Less, Mode::Nearest), 1.0);
        assert_eq!(direct(1.0f32, Less, Mode::Down), 1.0f32.next_down());
        assert_eq!(direct(1.0f32, Less, Mode::Zero), 1.0f32.next_down());
        assert_eq!(direct(-1.0f32, Less, Mode::Zero), -1.0);
        assert_eq!(direct(1.0f32, Less, Mode::Up), 1.0);
        assert_eq!(direct(-1.0f32, Greater, Mode::Zero), -1.0f32.next_down());
        assert_eq!(direct(f32::INFINITY, Less, Mode::Zero), f32::MAX);
        assert_eq!(direct(f32::NEG_INFINITY, Greater, Mode::Up), f32::MIN);
    }

    #[test]
    fn rounding_to_odd_keeps_ties_apart() {
        assert_eq!(to_odd(1.0, 1e-30), 1.0f64.next_up());
        assert_eq!(to_odd(1.0, -1e-30), 1.0f64.next_down());
        assert_eq!(to_odd(-1.0, -1e-30), -1.0f64.next_up());
        assert_eq!(to_odd(1.0, 0.0), 1.0);
    }

    proptest! {
        #[test]
        fn narrowing_to_f32_equals_the_cpus(bits: u64) {
            let x = f64::from_bits(bits);
            let expected = x as f32;
            let rounded = narrow(x, &F32, Mode::Nearest) as f32;
            prop_assert!(rounded.to_bits() == expected.to_bits() || x.is_nan());
        }

        #[test]
        fn directed_narrowing_gives_a_neighbour(bits: u64, exponent in 870u64..1160) {
            let x = f64::from_bits(bits & !(0x7ff << 52) | exponent << 52);
            let (down, up) = (narrow(x, &F32, Mode::Down) as f32, narrow(x, &F32, Mode::Up) as f32);
            prop_assert!(f64::from(down) <= x && x <= f64::from(up));
            prop_assert!(down == up && f64::from(up) == x || down.next_up() == up);
            let zero = narrow(x, &F32, Mode::Zero) as f32;
            prop_assert_eq!(zero.to_bits(), if x > 0.0 { down } else { up }.to_bits());
        }
    }
}
