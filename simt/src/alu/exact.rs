//! Exact sums of products of `f64`, computed with integers long enough for every bit.
//!
//! This is slow. Only the directed roundings of `f64`, which programs rarely use, need it.

use std::cmp::Ordering;

/// Exponent of the integers' unit: the product of the two smallest numbers is 2^-2148.
const UNIT: i32 = -2148;
/// Limbs of an integer: the largest products are below 2^2048, and a few of them can be added.
const LIMBS: usize = (2048 - UNIT) as usize / 64 + 2;

/// An unsigned integer, least significant limb first.
type Long = [u64; LIMBS];

/// Compares a sum of products of finite numbers with zero.
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

/// Splits the magnitude of a number into an integer and a power of two.
fn decode(x: f64) -> (u64, i32) {
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32;
    let fraction = x.to_bits() & ((1 << 52) - 1);
    match exponent {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, exponent - 1075),
    }
}

/// Computes `sum += value << shift`; `value` is below 2^106.
fn add(sum: &mut Long, value: u128, shift: i32) {
    let (limb, bit) = (shift as usize / 64, shift as usize % 64);
    // A shift within a limb spreads the value over up to three limbs.
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
    fn the_smallest_products_are_kept() {
        assert_eq!(sign_of(&[(1e300, 1e300), (-1e300, 1e300)]), Equal);
        let tiny = f64::from_bits(1);
        let huge = f64::MAX;
        let with_tiny = [(huge, huge), (tiny, tiny), (-huge, huge)];
        assert_eq!(sign_of(&with_tiny), Greater);
        assert_eq!(sign_of(&[(tiny, tiny), (-tiny, tiny)]), Equal);
        assert_eq!(sign_of(&[(3.0, -2.0), (6.0, 1.0 - f64::EPSILON)]), Less);
    }

    #[test]
    fn sums_equal_those_of_128_bit_integers() {
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
