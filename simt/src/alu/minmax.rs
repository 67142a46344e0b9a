//! `min`, `max`, `abs`, `neg` and `copysign` of floating-point numbers, which need no rounding.

use half::{bf16, f16};

use super::float::{Float, canonical, operand};
use super::forms::{Mods, each_bool};
use super::lane::{Lane, Register, lanes, pairs};
use super::{Alu, Selected};
use crate::ast::Type;

/// An [`Alu`] of any floating-point type; `$FTZ` says whether subnormals are flushed.
macro_rules! any {
    ($ty:expr, $ftz:expr, |$($a:ident),+| $f:expr) => {
        each_bool!($ftz, FTZ => match $ty {
            Type::F32 => Some(any!(lanes, f32, FTZ, |$($a),+| $f)),
            Type::F64 => Some(any!(lanes, f64, FTZ, |$($a),+| $f)),
            Type::F16 => Some(any!(lanes, f16, FTZ, |$($a),+| $f)),
            Type::Bf16 => Some(any!(lanes, bf16, FTZ, |$($a),+| $f)),
            Type::F16x2 => Some(any!(pairs, f16, FTZ, |$($a),+| $f)),
            Type::Bf16x2 => Some(any!(pairs, bf16, FTZ, |$($a),+| $f)),
            _ => None,
        })
    };
    ($lanes:ident, $T:ty, $FTZ:ident, |$($a:ident),+| $f:expr) => {
        $lanes!($T, |$($a),+| {
            $(let $a = operand::<$T>($a, $FTZ);)+
            $f
        })
    };
}

/// Returns the function of an opcode of this file; its type is read already.
pub(super) fn select(opcode: &str, mods: &mut Mods, ty: Type) -> Option<Selected> {
    let ftz = mods.take("ftz");
    if ftz && matches!(ty, Type::F64 | Type::Bf16 | Type::Bf16x2) {
        return None;
    }
    let alu = match opcode {
        "abs" => any!(ty, ftz, |a| absolute(a)),
        "neg" => any!(ty, ftz, |a| a.negate()),
        "copysign" if ftz => None,
        "copysign" => copysign(ty),
        "min" | "max" => extremum(opcode == "max", mods, ty, ftz),
        _ => None,
    }?;
    Some(Selected::new(alu, ty, 0))
}

/// `copysign d, a, b`: the magnitude of b with the sign of a.
fn copysign(ty: Type) -> Option<Alu> {
    match ty {
        Type::F32 => Some(lanes!(f32, |a, b| b.copysign(a))),
        Type::F64 => Some(lanes!(f64, |a, b| b.copysign(a))),
        _ => None,
    }
}

/// `min` and `max`. The rare forms `.NaN` and `.xorsign.abs` have functions of their own.
fn extremum(is_max: bool, mods: &mut Mods, ty: Type, ftz: bool) -> Option<Alu> {
    let (nan, xorsign) = (mods.take("NaN"), mods.take("xorsign"));
    if xorsign && !mods.take("abs") {
        return None;
    }
    each_bool!(is_max, MAX => match (nan, xorsign) {
        (false, false) => any!(ty, ftz, |a, b| number(a, b, MAX)),
        (true, false) => any!(ty, ftz, |a, b| number_or_nan(a, b, MAX)),
        (false, true) => any!(ty, ftz, |a, b| xor_sign(a, b, number(absolute(a), absolute(b), MAX))),
        (true, true) => any!(ty, ftz, |a, b| xor_sign(a, b, number_or_nan(absolute(a), absolute(b), MAX))),
    })
}

/// Clears the sign bit.
#[inline(always)]
fn absolute<T: Float>(a: T) -> T {
    if a.has_minus() { a.negate() } else { a }
}

/// Returns the larger or smaller number; if one is NaN, the other. −0 is smaller than +0.
#[inline(always)]
fn number<T: Float>(a: T, b: T, max: bool) -> T {
    let a_wins = if max {
        a > b || a == b && b.has_minus()
    } else {
        a < b || a == b && a.has_minus()
    };
    canonical(if a_wins || is_nan(b) { a } else { b })
}

/// Returns the larger or smaller number; NaN if either is NaN.
#[inline(always)]
fn number_or_nan<T: Float>(a: T, b: T, max: bool) -> T {
    if is_nan(a) || is_nan(b) {
        T::CANONICAL_NAN
    } else {
        number(a, b, max)
    }
}

/// Returns `magnitude`, negative if exactly one of a and b is.
#[inline(always)]
fn xor_sign<T: Float>(a: T, b: T, magnitude: T) -> T {
    if a.has_minus() != b.has_minus() && !is_nan(magnitude) {
        magnitude.negate()
    } else {
        magnitude
    }
}

/// Whether a number is NaN, which differs from itself.
#[inline(always)]
#[allow(clippy::eq_op)]
fn is_nan<T: Float>(a: T) -> bool {
    a != a
}

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::super::testing::{doubles, run, run32, run64, singles};

    const NAN: u32 = 0x7fff_ffff;

    proptest! {
        #[test]
        fn extrema(a in singles(), b in singles()) {
            let bits = |form: &str| run32(form, &[a, b]).to_bits();
            if a.is_nan() && b.is_nan() {
                prop_assert_eq!((bits("min.f32"), bits("max.f32")), (NAN, NAN));
            } else if a.is_nan() || b.is_nan() {
                let other = if a.is_nan() { b } else { a };
                prop_assert_eq!((bits("min.f32"), bits("max.f32")), (other.to_bits(), other.to_bits()));
                prop_assert_eq!((bits("min.NaN.f32"), bits("max.NaN.f32")), (NAN, NAN));
            } else {
                // `total_cmp` orders −0 before +0.
                let (least, greatest) = if a.total_cmp(&b).is_le() { (a, b) } else { (b, a) };
                prop_assert_eq!((bits("min.f32"), bits("max.f32")), (least.to_bits(), greatest.to_bits()));
                prop_assert_eq!((bits("min.NaN.f32"), bits("max.NaN.f32")), (least.to_bits(), greatest.to_bits()));
                let sign = (a.to_bits() ^ b.to_bits()) & 1 << 31;
                prop_assert_eq!(bits("min.xorsign.abs.f32"), a.abs().min(b.abs()).to_bits() | sign);
                prop_assert_eq!(bits("max.xorsign.abs.f32"), a.abs().max(b.abs()).to_bits() | sign);
            }
        }

        #[test]
        fn extrema_of_f64(a in doubles(), b in doubles()) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            let least = if a.total_cmp(&b).is_le() { a } else { b };
            prop_assert_eq!(run64("min.f64", &[a, b]).to_bits(), least.to_bits());
            prop_assert_eq!(run64("copysign.f64", &[a, b]).to_bits(), b.copysign(a).to_bits());
            prop_assert_eq!(run64("neg.f64", &[a]).to_bits(), (-a).to_bits());
        }

        #[test]
        fn signs(a in singles(), b in singles()) {
            prop_assert_eq!(run32("abs.f32", &[a]).to_bits(), a.to_bits() & !(1 << 31));
            prop_assert_eq!(run32("neg.f32", &[a]).to_bits(), a.to_bits() ^ 1 << 31);
            prop_assert_eq!(run32("copysign.f32", &[a, b]).to_bits(), b.copysign(a).to_bits());
            let is_small = a.abs() < f32::MIN_POSITIVE;
            prop_assert_eq!(run32("abs.ftz.f32", &[a]).to_bits(), if is_small { 0 } else { a.abs().to_bits() });
        }

        #[test]
        fn extrema_of_16_bit_types(a: u32, b: u32) {
            let half = |x: u32, shift: u32| f16::from_bits((x >> shift) as u16);
            let expected = |shift| {
                let (a, b) = (half(a, shift), half(b, shift));
                let greatest = if b.is_nan() || !a.is_nan() && a.total_cmp(&b).is_ge() { a } else { b };
                u64::from(if greatest.is_nan() { 0x7fff } else { greatest.to_bits() })
            };
            prop_assert_eq!(run("max.f16x2", &[a.into(), b.into()]), expected(0) | expected(16) << 16);
            prop_assert_eq!(run("max.f16", &[a.into(), b.into()]), expected(0));
            prop_assert_eq!(run("neg.bf16x2", &[a.into()]), u64::from(a ^ 0x8000_8000));
            prop_assert_eq!(run("abs.f16x2", &[a.into()]), u64::from(a & 0x7fff_7fff));
        }
    }
}
