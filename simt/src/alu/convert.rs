//! `cvt` between all number types.

use std::cmp::Ordering;

use super::float::Float;
use super::forms::{self, Mods, each_float, each_mode};
use super::lane::{Converts, Lane, convert};
use super::rounding::{Mode, direct, integral, to_odd};
use super::{Alu, Selected};
use crate::ast::Type;

/// `Some($body)`, where `$T` is an integer type.
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

mod floats;

/// Returns the function of `cvt`. The last modifier is the source type, the one before it the destination
/// type.
pub(super) fn select(mods: &mut Mods) -> Option<Selected> {
    let from = mods.ty()?;
    let alu = if mods.take("tf32") {
        floats::to_tf32(mods, from)
    } else {
        let to = mods.ty()?;
        match (is_float(from), is_float(to)) {
            _ if matches!(to, Type::F16x2 | Type::Bf16x2) => floats::to_pair(mods, from, to),
            (false, false) => between_integers(mods, from, to),
            (true, false) => to_integer(mods, from, to),
            (false, true) => from_integer(mods, from, to),
            (true, true) if from == to => floats::within_float(mods, from),
            (true, true) if to.bytes() > from.bytes() => floats::to_wider(mods, from, to),
            (true, true) => floats::to_narrower(mods, from, to),
        }
    }?;
    Some(Selected::new(alu, from, 0))
}

fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64)
}

/// Converts between integers: high bits are cut off, or with `.sat` the result is the nearest that fits.
fn between_integers(mods: &mut Mods, from: Type, to: Type) -> Option<Alu> {
    if mods.take("sat") {
        return each_whole!(from, S => each_whole!(to, T => convert!(S, T, |a| {
            (a as i128).clamp(T::MIN as i128, T::MAX as i128) as T
        })))?;
    }
    each_whole!(from, S => each_whole!(to, T => convert!(S, T, |a| a as T)))?
}

/// An integer from an `f64` without a fraction.
macro_rules! whole {
    ($S:ty, $T:ty, |$a:ident| $f:expr) => {
        convert!($S, $T, |$a| {
            let x = $f;
            let is_long = size_of::<$S>() == 8 || size_of::<$T>() == 8;
            if is_long && x.is_nan() {
                1 << (<$T>::BITS - 1)
            } else {
                x as $T
            }
        })
    };
}

/// Converts to the nearest integer that fits, with `.sat` or without. NaN becomes zero, or only the sign bit
/// if the result has 64 bits or the source is f64.
fn to_integer(mods: &mut Mods, from: Type, to: Type) -> Option<Alu> {
    let mode = mods.integral_mode()?;
    let ftz = mods.take("ftz");
    mods.take("sat");
    if ftz {
        let alu = each_whole!(to, T => each_mode!(mode, M => whole!(f32, T, |a| integral(a.flush().wide(), M))));
        return alu.filter(|_| from == Type::F32);
    }
    each_float!(from, S => each_whole!(to, T => each_mode!(mode, M => whole!(S, T, |a| integral(a.wide(), M)))))?
}

/// Converts from an integer. 64-bit integers may have more digits than an f64.
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

/// Returns the nearest f64 of an integer, how the integer compares with it, and the distance between them.
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

#[cfg(test)]
mod tests;
