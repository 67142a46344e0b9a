//! `cvt` from one floating-point type to another.

use half::{bf16, f16};

use super::super::Alu;
use super::super::float::{Float, canonical, finish, operand};
use super::super::forms::{self, Mods, each_bool, each_clamp, each_float, each_mode};
use super::super::lane::{Converts, Lane, Register, convert, lanes};
use super::super::rounding::{Clamp, Mode, integral};
use crate::ast::Type;

/// `Some($body)` with the types `$S` and `$T`, where `$S` has digits that `$T` lacks.
macro_rules! each_narrower {
    ($from:expr, $to:expr, $S:ident, $T:ident => $body:expr) => {
        match ($from, $to) {
            (Type::F64, Type::F32) => forms::with_types!($S = f64, $T = f32 => $body),
            (Type::F64, Type::F16) => forms::with_types!($S = f64, $T = f16 => $body),
            (Type::F64, Type::Bf16) => forms::with_types!($S = f64, $T = bf16 => $body),
            (Type::F32, Type::F16) => forms::with_types!($S = f32, $T = f16 => $body),
            (Type::F32, Type::Bf16) => forms::with_types!($S = f32, $T = bf16 => $body),
            (Type::F16, Type::Bf16) => forms::with_types!($S = f16, $T = bf16 => $body),
            (Type::Bf16, Type::F16) => forms::with_types!($S = bf16, $T = f16 => $body),
            _ => None,
        }
    };
}

/// `Some($body)` with the types `$S` and `$T`, where `$T` holds every number of `$S`.
macro_rules! each_wider {
    ($from:expr, $to:expr, $S:ident, $T:ident => $body:expr) => {
        match ($from, $to) {
            (Type::F16, Type::F32) => forms::with_types!($S = f16, $T = f32 => $body),
            (Type::F16, Type::F64) => forms::with_types!($S = f16, $T = f64 => $body),
            (Type::Bf16, Type::F32) => forms::with_types!($S = bf16, $T = f32 => $body),
            (Type::Bf16, Type::F64) => forms::with_types!($S = bf16, $T = f64 => $body),
            (Type::F32, Type::F64) => forms::with_types!($S = f32, $T = f64 => $body),
            _ => None,
        }
    };
}

/// Flushes subnormals; `.ftz` applies to f32 only.
#[inline(always)]
fn flushed<T: Float>(x: T, ftz: bool) -> T {
    operand(x, ftz && size_of::<T>() == 4)
}

/// Converts from one floating-point type to another and rounds once.
#[inline(always)]
fn between<S: Float, T: Float>(a: S, mode: Mode, ftz: bool, clamp: Clamp) -> T {
    let rounded = T::rounded(flushed(a, ftz).wide(), mode);
    finish(flushed(rounded, ftz), false, clamp)
}

/// Rounds to an integer within a type, or applies `.sat` or `.ftz` alone.
pub fn within_float(mods: &mut Mods, ty: Type) -> Option<Alu> {
    let (mode, ftz, clamp) = (mods.integral_mode(), mods.take("ftz"), mods.clamp());
    match mode {
        None => each_float!(ty, T => each_bool!(ftz, FTZ => each_clamp!(clamp, C => lanes!(T, |a| {
            finish(flushed::<T>(a, FTZ), false, C)
        })))),
        Some(mode) => {
            each_float!(ty, T => each_mode!(mode, M => each_bool!(ftz, FTZ => each_clamp!(clamp, C => lanes!(T, |a| {
                // An integer in the range of a type is a number of that type.
                let x = integral(flushed::<T>(a, FTZ).wide(), M);
                finish(T::rounded(x, Mode::Nearest), false, C)
            })))))
        }
    }
}

/// `cvt.f32.f16`: exact, because the wider type holds every number.
pub fn to_wider(mods: &mut Mods, from: Type, to: Type) -> Option<Alu> {
    let (ftz, clamp) = (mods.take("ftz"), mods.clamp());
    each_wider!(from, to, S, T => each_bool!(ftz, FTZ => each_clamp!(clamp, C => convert!(S, T, |a| {
        between::<S, T>(a, Mode::Nearest, FTZ, C)
    }))))
}

/// `cvt.rn.f16.f32`, and conversions between 16-bit types.
pub fn to_narrower(mods: &mut Mods, from: Type, to: Type) -> Option<Alu> {
    let (mode, ftz, clamp) = (mods.mode()?, mods.take("ftz"), mods.clamp());
    match (from, to, mode, ftz, clamp) {
        (Type::F32, Type::F16, Mode::Nearest, false, Clamp::None) => {
            Some(convert!(f32, f16, |a| canonical(f16::from_f32(a))))
        }
        (Type::F32, Type::Bf16, Mode::Nearest, false, Clamp::None) => {
            Some(convert!(f32, bf16, |a| canonical(bf16::from_f32(a))))
        }
        _ => each_narrower!(from, to, S, T => each_mode!(mode, M => each_bool!(ftz, FTZ => {
            each_clamp!(clamp, C => convert!(S, T, |a| between::<S, T>(a, M, FTZ, C)))
        }))),
    }
}

/// `cvt.rn.f16x2.f32 d, a, b`: a becomes the high half, b the low half.
pub fn to_pair(mods: &mut Mods, from: Type, to: Type) -> Option<Alu> {
    let (mode, clamp) = (mods.mode()?, mods.clamp());
    if from != Type::F32 || clamp == Clamp::Unit {
        return None;
    }
    if (to, mode, clamp) == (Type::Bf16x2, Mode::Nearest, Clamp::None) {
        return Some(lanes!(f32, |a, b| pair(b, a, |x| canonical(
            bf16::from_f32(x)
        ))));
    }
    if to == Type::Bf16x2 {
        return Some(
            each_mode!(mode, M => each_clamp!(clamp, C => lanes!(f32, |a, b| {
                pair(b, a, |x| between::<f32, bf16>(x, M, false, C))
            }))),
        );
    }
    Some(
        each_mode!(mode, M => each_clamp!(clamp, C => lanes!(f32, |a, b| {
            pair(b, a, |x| between::<f32, f16>(x, M, false, C))
        }))),
    )
}

/// Packs two converted numbers into a word.
#[inline(always)]
fn pair<T: Lane<Register = u32>>(low: f32, high: f32, f: impl Fn(f32) -> T) -> u32 {
    f(low).write() | f(high).write() << 16
}

/// `cvt.rna.tf32.f32`: an f32 whose low 13 bits are zero.
pub fn to_tf32(mods: &mut Mods, from: Type) -> Option<Alu> {
    let modes = [("rna", 0), ("rn", 1), ("rz", 2)];
    let alu = match mods.choice(&modes)? {
        // Adding half a unit before the cut rounds to nearest, ties away from zero.
        0 => lanes!(f32, |a| tf32(a, |_| 0x1000)),
        // Adding slightly less than half, unless the last digit is odd, rounds ties to even.
        1 => lanes!(f32, |a| tf32(a, |bits| 0xfff + (bits >> 13 & 1))),
        _ => lanes!(f32, |a| tf32(a, |_| 0)),
    };
    (from == Type::F32).then_some(alu)
}

/// Adds to the bits and clears the low 13.
#[inline(always)]
fn tf32(a: f32, addend: impl Fn(u32) -> u32) -> f32 {
    let bits = a.to_bits();
    if a.is_finite() {
        return f32::from_bits((bits + addend(bits)) & !0x1fff);
    }
    canonical(a)
}
