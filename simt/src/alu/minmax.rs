//! `min`, `max`, `abs`, `neg`, `copysign` of floating-point numbers: nothing is rounded.

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

/// The function of an opcode of this file, its type read already.
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

/// `.NaN` and `.xorsign.abs` are rare: four functions for each of the two.
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

/// The sign bit cleared.
#[inline(always)]
fn absolute<T: Float>(a: T) -> T {
    if a.has_minus() { a.negate() } else { a }
}

/// The greater or smaller; if one is no number, the other. −0 is smaller than +0.
#[inline(always)]
fn number<T: Float>(a: T, b: T, max: bool) -> T {
    let a_wins = if max {
        a > b || a == b && b.has_minus()
    } else {
        a < b || a == b && a.has_minus()
    };
    canonical(if a_wins || is_nan(b) { a } else { b })
}

/// The greater or smaller; no number if one is none.
#[inline(always)]
fn number_or_nan<T: Float>(a: T, b: T, max: bool) -> T {
    if is_nan(a) || is_nan(b) {
        T::CANONICAL_NAN
    } else {
        number(a, b, max)
    }
}

/// A magnitude, negative if one of a and b is.
#[inline(always)]
fn xor_sign<T: Float>(a: T, b: T, magnitude: T) -> T {
    if a.has_minus() != b.has_minus() && !is_nan(magnitude) {
        magnitude.negate()
    } else {
        magnitude
    }
}

/// What differs from itself.
#[inline(always)]
#[allow(clippy::eq_op)]
fn is_nan<T: Float>(a: T) -> bool {
    a != a
}
