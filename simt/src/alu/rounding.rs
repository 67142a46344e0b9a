//! Rounding in the four directions of IEEE 754.
//!
//! The processor rounds to nearest. The other directions start from its result: an operation says on which
//! side of it the exact one lies, and [`direct`] takes the neighbour on that side if the direction asks for it.

use std::cmp::Ordering;

/// A direction.
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

/// What is done with a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clamp {
    /// Nothing.
    None,
    /// `.sat`: into [0, 1]; what is no number becomes zero.
    Unit,
    /// `.relu`: what is negative becomes zero.
    Positive,
}

/// The numbers next to a number.
pub(super) trait Neighbours: Copy {
    /// Whether the sign bit is set.
    fn has_sign(self) -> bool;
    /// The next smaller number.
    fn down(self) -> Self;
    /// The next greater number.
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

/// The result in a direction, from the one to nearest and from how the exact one compares with it.
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

/// Whether a sum that came out as +0 is −0 instead: rounded down, terms that cancel give −0. Only the sum of
/// two positive zeros stays +0.
#[inline]
pub(super) fn cancels_to_minus_zero(mode: Mode, exact: Ordering, negative: [bool; 2]) -> bool {
    mode == Mode::Down && exact == Ordering::Equal && (negative[0] || negative[1])
}

/// The sum to nearest and what is missing from it: their sum is exact unless the first overflows.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}

/// How `sum + missing`, a result of [`two_sum`], compares with a number that is near it. What is missing is
/// less than the distance to the next `f64`, so that it counts only if the numbers are equal.
#[inline]
pub(super) fn compare_sum(sum: f64, missing: f64, other: f64) -> Ordering {
    order(sum, other).then(order(missing, 0.0))
}

/// How two numbers compare; equal if there is no order, as then there is nothing to round.
#[inline]
pub(super) fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

/// A sum rounded to odd: if something is missing, the last bit is set. Rounding it once more to a type of
/// 51 bits or fewer gives what rounding the exact sum gives: the last bit remembers that it was not a tie.
#[inline]
pub(super) fn to_odd(sum: f64, missing: f64) -> f64 {
    let bits = sum.to_bits();
    if missing == 0.0 || missing.is_nan() || bits & 1 == 1 {
        return sum;
    }
    // One step away from zero, or towards it; a sum of zero misses nothing.
    let away = (missing > 0.0) == (sum > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

/// To an integer.
#[inline]
pub(super) fn integral(x: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => x.round_ties_even(),
        Mode::Zero => x.trunc(),
        Mode::Down => x.floor(),
        Mode::Up => x.ceil(),
    }
}

/// A format narrower than `f64`.
pub(super) struct Format {
    /// Bits of the significand, the hidden one among them.
    pub digits: i32,
    /// Exponent of the smallest normal number.
    pub min_exponent: i32,
    /// The greatest finite number.
    pub max: f64,
}

/// A number rounded to a format, as an `f64`, which holds it exactly.
#[inline]
pub(super) fn narrow(x: f64, format: &Format, mode: Mode) -> f64 {
    if !x.is_finite() {
        return x;
    }
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    // What the last digit counts, which is the same for all subnormals.
    let last = power_of_two(exponent.max(format.min_exponent) - format.digits + 1);
    let rounded = integral(x / last, mode) * last;
    if rounded.abs() <= format.max {
        return rounded;
    }
    // The exact number is finite: infinity is one of its neighbours, the greatest number the other.
    let infinite = match mode {
        Mode::Nearest => true,
        Mode::Zero => false,
        Mode::Down => x < 0.0,
        Mode::Up => x > 0.0,
    };
    let magnitude = if infinite { f64::INFINITY } else { format.max };
    magnitude.copysign(x)
}

/// 2^exponent, of a normal number.
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
    fn directions() {
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
    fn odd_sums_remember_that_they_are_no_ties() {
        assert_eq!(to_odd(1.0, 1e-30), 1.0f64.next_up());
        assert_eq!(to_odd(1.0, -1e-30), 1.0f64.next_down());
        assert_eq!(to_odd(-1.0, -1e-30), -1.0f64.next_up());
        assert_eq!(to_odd(1.0, 0.0), 1.0);
    }

    proptest! {
        #[test]
        fn narrow_to_f32_is_the_processors(bits: u64) {
            let x = f64::from_bits(bits);
            let expected = x as f32;
            let rounded = narrow(x, &F32, Mode::Nearest) as f32;
            prop_assert!(rounded.to_bits() == expected.to_bits() || x.is_nan());
        }

        #[test]
        fn narrow_in_other_directions_is_a_neighbour(bits: u64, exponent in 870u64..1160) {
            let x = f64::from_bits(bits & !(0x7ff << 52) | exponent << 52);
            let (down, up) = (narrow(x, &F32, Mode::Down) as f32, narrow(x, &F32, Mode::Up) as f32);
            prop_assert!(f64::from(down) <= x && x <= f64::from(up));
            prop_assert!(down == up && f64::from(up) == x || down.next_up() == up);
            let zero = narrow(x, &F32, Mode::Zero) as f32;
            prop_assert_eq!(zero.to_bits(), if x > 0.0 { down } else { up }.to_bits());
        }
    }
}
