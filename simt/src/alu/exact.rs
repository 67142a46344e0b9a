//! Sums of products of `f64` without any rounding: as integers that are long enough for every bit.
//!
//! Slow, and used only for the directed roundings of `f64`, which programs hardly ever ask for.

use std::cmp::Ordering;

/// The product of the two smallest numbers is 2^-2148: the unit of the integers.
const UNIT: i32 = -2148;
/// The greatest products are below 2^2048; there is room for sums of some.
const LIMBS: usize = (2048 - UNIT) as usize / 64 + 2;

/// An unsigned integer, lowest part first.
type Long = [u64; LIMBS];

/// The sign of a sum of products of finite numbers, as a comparison with zero.
pub(super) fn sign_of(products: &[(f64, f64)]) -> Ordering {
    let (mut positive, mut negative): (Long, Long) = ([0; LIMBS], [0; LIMBS]);
    for &(a, b) in products {
        let ((m, exponent), (n, other)) = (decode(a), decode(b));
        let is_negative = a.is_sign_negative() != b.is_sign_negative();
        let sum = if is_negative {
            &mut negative
        } else {
            &mut positive
        };
        add(sum, u128::from(m) * u128::from(n), exponent + other - UNIT);
    }
    positive.iter().rev().cmp(negative.iter().rev())
}

/// The magnitude of a number as an integer and a power of two.
fn decode(x: f64) -> (u64, i32) {
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32;
    let fraction = x.to_bits() & ((1 << 52) - 1);
    match exponent {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, exponent - 1075),
    }
}

/// `sum += value << shift`, of a value below 2^106.
fn add(sum: &mut Long, value: u128, shift: i32) {
    let (limb, bit) = (shift as usize / 64, shift as usize % 64);
    // Moved by less than a limb, the value reaches into a third one.
    let low = value << bit;
    let high = (value >> 64) << bit >> 64;
    let mut carry = false;
    for (i, part) in sum[limb..].iter_mut().enumerate() {
        let addend = match i {
            0 => low as u64,
            1 => (low >> 64) as u64,
            2 => high as u64,
            _ => 0,
        };
        (*part, carry) = part.carrying_add(addend, carry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::*;

    #[test]
    fn nothing_is_lost() {
        assert_eq!(sign_of(&[(1e300, 1e300), (-1e300, 1e300)]), Equal);
        let tiny = f64::from_bits(1);
        let huge = f64::MAX;
        let with_tiny = [(huge, huge), (tiny, tiny), (-huge, huge)];
        assert_eq!(sign_of(&with_tiny), Greater);
        assert_eq!(sign_of(&[(tiny, tiny), (-tiny, tiny)]), Equal);
        assert_eq!(sign_of(&[(3.0, -2.0), (6.0, 1.0 - f64::EPSILON)]), Less);
    }

    #[test]
    fn as_integers_of_128_bits_say() {
        for i in 0..1000i128 {
            let f = |k: i128| (i * k % (1 << 53)) as f64;
            let (a, b, c) = (f(0x1f_3a2b_5c7d), -f(0x13_57bd_f024), f(0x0f_edcb_a987));
            let exact = a as i128 * b as i128 + c as i128;
            assert_eq!(sign_of(&[(a, b), (c, 1.0)]), exact.cmp(&0));
            let back = [(a, b), (c, 1.0), (-a, b), (-c, 1.0)];
            assert_eq!(sign_of(&back), Equal);
        }
    }
}
