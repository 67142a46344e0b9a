//! `.approx`: functions that the processor computes with a few bits less than the type has.
//!
//! Here they are computed in `f64` and rounded once, so that they are better than what they stand for, and
//! differ from a GPU in the last bits. What the PTX ISA says of infinities, zeros and subnormals holds.

use half::{bf16, f16};

use super::float::{Float, finish, operand};
use super::forms::{Mods, each_bool};
use super::lane::{Lane, Register, lanes, pairs};
use super::rounding::{Clamp, Mode};
use super::{Alu, Selected};
use crate::ast::Type;

/// An [`Alu`] of f32 from a function of `f64`.
macro_rules! single {
    ($ftz:expr, |$($a:ident),+| $f:expr) => {
        Some(each_bool!($ftz, FTZ => lanes!(f32, |$($a),+| {
            $(let $a = operand($a, FTZ).wide();)+
            finish(f32::rounded($f, Mode::Nearest), FTZ, Clamp::None)
        })))
    };
}

/// The same of a type of 16 bits.
macro_rules! narrow {
    ($lanes:ident, $T:ty, $ftz:expr, |$a:ident| $f:expr) => {
        Some(each_bool!($ftz, FTZ => $lanes!($T, |$a| {
            let $a = operand::<$T>($a, FTZ).wide();
            finish(<$T>::rounded($f, Mode::Nearest), FTZ, Clamp::None)
        })))
    };
}

/// The function of an opcode with `.approx` or `.full`, its type and that modifier read already.
pub(super) fn select(opcode: &str, mods: &mut Mods, ty: Type) -> Option<Selected> {
    let ftz = mods.take("ftz");
    let alu = match ty {
        Type::F32 => of_f32(opcode, ftz),
        Type::F64 => of_f64(opcode, ftz),
        _ => of_halves(opcode, ty, ftz),
    }?;
    let elements = if matches!(ty, Type::F16x2 | Type::Bf16x2) {
        2
    } else {
        1
    };
    Some(Selected::new(alu, ty, elements))
}

/// `div.full`, the quotient of the whole range.
pub(super) fn full(mods: &mut Mods, ty: Type) -> Option<Selected> {
    let alu = single!(mods.take("ftz"), |a, b| a / b)?;
    (ty == Type::F32).then(|| Selected::new(alu, ty, 1))
}

fn of_f32(opcode: &str, ftz: bool) -> Option<Alu> {
    match opcode {
        "div" => single!(ftz, |a, b| quotient(a, b)),
        "rcp" => single!(ftz, |a| 1.0 / a),
        "sqrt" => single!(ftz, |a| a.sqrt()),
        "rsqrt" => single!(ftz, |a| 1.0 / a.sqrt()),
        "ex2" => single!(ftz, |a| a.exp2()),
        "lg2" => single!(ftz, |a| a.log2()),
        "sin" => single!(ftz, |a| a.sin()),
        "cos" => single!(ftz, |a| a.cos()),
        "tanh" if !ftz => single!(false, |a| a.tanh()),
        _ => None,
    }
}

/// Of a divisor beyond 2^126 the reciprocal is taken for zero: infinity by it is no number.
#[inline]
fn quotient(a: f64, b: f64) -> f64 {
    let beyond = b.is_finite() && b.abs() > 2f64.powi(126);
    if beyond { a * 0f64.copysign(b) } else { a / b }
}

fn of_f64(opcode: &str, ftz: bool) -> Option<Alu> {
    Some(match (opcode, ftz) {
        ("rsqrt", false) => lanes!(f64, |a| finish(1.0 / a.sqrt(), false, Clamp::None)),
        ("rsqrt", true) => lanes!(f64, |a| gross(a, |x| 1.0 / x.sqrt())),
        ("rcp", true) => lanes!(f64, |a| gross(a, |x| 1.0 / x)),
        _ => return None,
    })
}

/// A function of the high word of a number, of whose result the high word is kept.
#[inline]
fn gross(a: f64, f: impl Fn(f64) -> f64) -> f64 {
    let high = |x: f64| f64::from_bits(x.to_bits() >> 32 << 32);
    let result = finish(f(high(a.flush())), true, Clamp::None);
    // What is no number stays so without its low word.
    if a.is_nan() {
        f64::CANONICAL_NAN
    } else {
        high(result)
    }
}

fn of_halves(opcode: &str, ty: Type, ftz: bool) -> Option<Alu> {
    match (opcode, ty) {
        ("ex2", Type::F16) => narrow!(lanes, f16, ftz, |a| a.exp2()),
        ("ex2", Type::F16x2) => narrow!(pairs, f16, ftz, |a| a.exp2()),
        ("ex2", Type::Bf16) => narrow!(lanes, bf16, ftz, |a| a.exp2()),
        ("ex2", Type::Bf16x2) => narrow!(pairs, bf16, ftz, |a| a.exp2()),
        _ if ftz => None,
        ("tanh", Type::F16) => narrow!(lanes, f16, false, |a| a.tanh()),
        ("tanh", Type::F16x2) => narrow!(pairs, f16, false, |a| a.tanh()),
        ("tanh", Type::Bf16) => narrow!(lanes, bf16, false, |a| a.tanh()),
        ("tanh", Type::Bf16x2) => narrow!(pairs, bf16, false, |a| a.tanh()),
        _ => None,
    }
}
