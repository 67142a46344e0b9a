//! `cvt`, from every number type to every other.

use std::cmp::Ordering;

use half::{bf16, f16};

use super::float::{Float, canonical, finish, operand};
use super::forms::{self, Mods, each_bool, each_clamp, each_mode};
use super::lane::{Converts, Lane, Register, convert, lanes};
use super::rounding::{Clamp, Mode, direct, integral, to_odd};
use super::{Alu, Selected};
use crate::ast::Type;

/// `Some($body)` with the type `$T` of an integer.
macro_rules! each_whole {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty {
            Type::U8 => forms::with_types!($T = u8 => $body),
            Type::S8 => forms::with_types!($T = i8 => $body),
            Type::U16 => forms::with_types!($T = u16 => $body),
            Type::S16 => forms::with_types!($T = i16 => $body),
            Type::U32 => forms::with_types!($T = u32 => $body),
            Type::S32 => forms::with_types!($T = i32 => $body),
            Type::U64 => forms::with_types!($T = u64 => $body),
            Type::S64 => forms::with_types!($T = i64 => $body),
            _ => None,
        }
    };
}

/// `Some($body)` with the type `$T` of a floating-point number.
macro_rules! each_float {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty {
            Type::F16 => forms::with_types!($T = f16 => $body),
            Type::Bf16 => forms::with_types!($T = bf16 => $body),
            Type::F32 => forms::with_types!($T = f32 => $body),
            Type::F64 => forms::with_types!($T = f64 => $body),
            _ => None,
        }
    };
}

/// `cvt` with its modifiers: the last is the type from which, the one before it the type to which.
pub(super) fn select(mods: &mut Mods) -> Option<Selected> {
    let from = mods.ty()?;
    let alu = if mods.take("tf32") {
        to_tf32(mods, from)
    } else {
        let to = mods.ty()?;
        match (is_float(from), is_float(to)) {
            _ if matches!(to, Type::F16x2 | Type::Bf16x2) => to_pair(mods, from, to),
            (false, false) => between_integers(mods, from, to),
            (true, false) => to_integer(mods, from, to),
            (false, true) => from_integer(mods, from, to),
            (true, true) if from == to => within_float(mods, from),
            (true, true) if to.bytes() > from.bytes() => to_wider(mods, from, to),
            (true, true) => to_narrower(mods, from, to),
        }
    }?;
    Some(Selected::new(alu, from, 0))
}

fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64)
}

/// What does not fit is cut off, or with `.sat` replaced by the nearest that fits.
fn between_integers(mods: &mut Mods, from: Type, to: Type) -> Option<Alu> {
    if mods.take("sat") {
        return each_whole!(from, S => each_whole!(to, T => convert!(S, T, |a| {
            (a as i128).clamp(T::MIN as i128, T::MAX as i128) as T
        })))?;
    }
    each_whole!(from, S => each_whole!(to, T => convert!(S, T, |a| a as T)))?
}

/// The nearest that fits, with `.sat` or without. What is no number becomes zero; but the sign bit alone if
/// one of the types has 64 bits (of a result of 64 bits, or from f64).
fn to_integer(mods: &mut Mods, from: Type, to: Type) -> Option<Alu> {
    let mode = mods.integral_mode()?;
    let ftz = mods.take("ftz");
    mods.take("sat");
    each_float!(from, S => each_whole!(to, T => each_mode!(mode, M => each_bool!(ftz, FTZ => convert!(S, T, |a| {
        let x = integral(flushed(a, FTZ).wide(), M);
        let is_long = size_of::<S>() == 8 || size_of::<T>() == 8;
        if is_long && x.is_nan() { 1 << (T::BITS - 1) } else { x as T }
    })))))?
}

/// Integers of 64 bits may have more digits than an f64.
fn from_integer(mods: &mut Mods, from: Type, to: Type) -> Option<Alu> {
    let mode = mods.mode()?;
    if to == Type::F64 {
        return each_whole!(from, S => each_mode!(mode, M => convert!(S, f64, |a| {
            if M == Mode::Nearest || S::BITS <= 32 { a as f64 } else { directed(a as i128, M) }
        })));
    }
    each_whole!(from, S => each_float!(to, T => each_mode!(mode, M => convert!(S, T, |a| {
        T::rounded(if S::BITS <= 32 { a as f64 } else { odd(a as i128) }, M)
    }))))?
}

/// How an integer compares with its nearest f64, and how far it is from it.
fn beyond(a: i128) -> (f64, Ordering, f64) {
    let nearest = a as f64;
    let missing = a - nearest as i128;
    (nearest, missing.cmp(&0), missing as f64)
}

fn directed(a: i128, mode: Mode) -> f64 {
    let (nearest, exact, _) = beyond(a);
    direct(nearest, exact, mode)
}

fn odd(a: i128) -> f64 {
    let (nearest, _, missing) = beyond(a);
    to_odd(nearest, missing)
}

/// `.ftz` speaks of f32 only.
#[inline(always)]
fn flushed<T: Float>(x: T, ftz: bool) -> T {
    operand(x, ftz && size_of::<T>() == 4)
}

/// From one floating-point type to another, rounded once.
#[inline(always)]
fn between<S: Float, T: Float>(a: S, mode: Mode, ftz: bool, clamp: Clamp) -> T {
    let rounded = T::rounded(flushed(a, ftz).wide(), mode);
    finish(flushed(rounded, ftz), false, clamp)
}

/// To an integer of the same type, or with `.sat` or `.ftz` alone.
fn within_float(mods: &mut Mods, ty: Type) -> Option<Alu> {
    let (mode, ftz, clamp) = (mods.integral_mode(), mods.take("ftz"), mods.clamp());
    match mode {
        None => each_float!(ty, T => each_bool!(ftz, FTZ => each_clamp!(clamp, C => lanes!(T, |a| {
            finish(flushed::<T>(a, FTZ), false, C)
        })))),
        Some(mode) => {
            each_float!(ty, T => each_mode!(mode, M => each_bool!(ftz, FTZ => each_clamp!(clamp, C => lanes!(T, |a| {
                // An integer among numbers of a type is a number of that type.
                let x = integral(flushed::<T>(a, FTZ).wide(), M);
                finish(T::rounded(x, Mode::Nearest), false, C)
            })))))
        }
    }
}

/// `cvt.f32.f16`: every number is one of the wider type's.
fn to_wider(mods: &mut Mods, from: Type, to: Type) -> Option<Alu> {
    let (ftz, clamp) = (mods.take("ftz"), mods.clamp());
    each_float!(from, S => each_float!(to, T => each_bool!(ftz, FTZ => each_clamp!(clamp, C => convert!(S, T, |a| {
        between::<S, T>(a, Mode::Nearest, FTZ, C)
    })))))?
}

/// `cvt.rn.f16.f32`, and between the types of 16 bits.
fn to_narrower(mods: &mut Mods, from: Type, to: Type) -> Option<Alu> {
    let (mode, ftz, clamp) = (mods.mode()?, mods.take("ftz"), mods.clamp());
    match (from, to, mode, ftz, clamp) {
        (Type::F32, Type::F16, Mode::Nearest, false, Clamp::None) => {
            Some(convert!(f32, f16, |a| canonical(f16::from_f32(a))))
        }
        (Type::F32, Type::Bf16, Mode::Nearest, false, Clamp::None) => {
            Some(convert!(f32, bf16, |a| canonical(bf16::from_f32(a))))
        }
        _ => {
            each_float!(from, S => each_float!(to, T => each_mode!(mode, M => each_bool!(ftz, FTZ => {
                each_clamp!(clamp, C => convert!(S, T, |a| between::<S, T>(a, M, FTZ, C)))
            }))))?
        }
    }
}

/// `cvt.rn.f16x2.f32 d, a, b`: a becomes the high half, b the low one.
fn to_pair(mods: &mut Mods, from: Type, to: Type) -> Option<Alu> {
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

/// Two halves side by side.
#[inline(always)]
fn pair<T: Lane<Register = u32>>(low: f32, high: f32, f: impl Fn(f32) -> T) -> u32 {
    f(low).write() | f(high).write() << 16
}

/// `cvt.rna.tf32.f32`: an f32 whose lowest 13 bits are zeros.
fn to_tf32(mods: &mut Mods, from: Type) -> Option<Alu> {
    let modes = [("rna", 0), ("rn", 1), ("rz", 2)];
    let alu = match mods.choice(&modes)? {
        // Half of the last digit is added, and what is behind it cut off: ties go away from zero.
        0 => lanes!(f32, |a| tf32(a, |_| 0x1000)),
        // A little less than half, unless the last digit is odd: ties go to even.
        1 => lanes!(f32, |a| tf32(a, |bits| 0xfff + (bits >> 13 & 1))),
        _ => lanes!(f32, |a| tf32(a, |_| 0)),
    };
    (from == Type::F32).then_some(alu)
}

/// Something added to the bits, and 13 of them cut off.
#[inline(always)]
fn tf32(a: f32, addend: impl Fn(u32) -> u32) -> f32 {
    let bits = a.to_bits();
    if a.is_finite() {
        return f32::from_bits((bits + addend(bits)) & !0x1fff);
    }
    canonical(a)
}

#[cfg(test)]
mod tests;
