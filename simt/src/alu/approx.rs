//! `.approx` and `.full`: functions that a GPU computes with a few bits less than the type has.
//!
//! This module computes them in `f64` and rounds once, so results are more accurate than a GPU's and differ
//! from them in the last bits. Infinities, zeros and subnormals follow the PTX ISA.

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

/// An [`Alu`] of a 16-bit type from a function of `f64`.
macro_rules! narrow {
    ($lanes:ident, $T:ty, $ftz:expr, |$a:ident| $f:expr) => {
        Some(each_bool!($ftz, FTZ => $lanes!($T, |$a| {
            let $a = operand::<$T>($a, FTZ).wide();
            finish(<$T>::rounded($f, Mode::Nearest), FTZ, Clamp::None)
        })))
    };
}

/// Returns the function of an opcode with `.approx` or `.full`; its type and that modifier are read already.
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

/// `div.full`: the quotient, over the full range of divisors.
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

/// The reciprocal of a divisor beyond 2^126 counts as zero, and infinity times zero is NaN.
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

/// Applies `f` to the high word of `a`, and keeps the high word of the result.
#[inline]
fn gross(a: f64, f: impl Fn(f64) -> f64) -> f64 {
    let high = |x: f64| f64::from_bits(x.to_bits() >> 32 << 32);
    let result = finish(f(high(a.flush())), true, Clamp::None);
    // A NaN whose payload is in the low word must stay NaN.
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

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::super::testing::{run, run32, run64, singles};

    const INF: f32 = f32::INFINITY;

    /// Whether two numbers are a few units in the last place apart at most, the error of `f32` functions.
    fn is_near(a: f32, b: f32) -> bool {
        a.is_nan() && b.is_nan() || a == b || a.to_bits().abs_diff(b.to_bits()) <= 3
    }

    /// The f16 nearest to `f` of an f16, both as bits. By way of f32 alone it would be rounded twice.
    fn nearest(half: u32, f: fn(f64) -> f64) -> u64 {
        let exact = f(f16::from_bits(half as u16).to_f64());
        let near = f16::from_f32(exact as f32);
        if near.is_nan() {
            return 0x7fff;
        }
        if near.is_infinite() {
            return near.to_bits().into();
        }
        let neighbours = [0, 1, -1].map(|by| near.to_bits().wrapping_add_signed(by));
        let distance = |bits: u16| (f16::from_bits(bits).to_f64() - exact).abs();
        let is_nearer = |a: u16, b: u16| (distance(a), a % 2) < (distance(b), b % 2);
        let first = neighbours[0];
        let nearest =
            neighbours.into_iter().fold(
                first,
                |best, bits| {
                    if is_nearer(bits, best) { bits } else { best }
                },
            );
        nearest.into()
    }

    /// 2^0.000704… is 1 part in 10⁸ above the middle of two f16: f32 has its middle there.
    #[test]
    fn an_f16_result_is_rounded_once() {
        assert_eq!(run("ex2.approx.f16x2", &[0x11c5]) & 0xffff, 0x3c01);
        assert_eq!(nearest(0x11c5, f64::exp2), 0x3c01);
    }

    proptest! {
        #[test]
        fn results_are_close_to_the_f32_functions(a in singles(), b in singles()) {
            let near = |form: &str, expected: f32| {
                let result = run32(form, &[a, b]);
                assert!(is_near(result, expected), "{form} {a} {b}: {result}, not {expected}");
            };
            near("ex2.approx.f32", a.exp2());
            near("lg2.approx.f32", a.log2());
            near("sin.approx.f32", a.sin());
            near("cos.approx.f32", a.cos());
            near("tanh.approx.f32", a.tanh());
            near("sqrt.approx.f32", a.sqrt());
            near("rcp.approx.f32", 1.0 / a);
            near("div.full.f32", a / b);
            if b.abs() <= 2f32.powi(126) {
                near("div.approx.f32", a / b);
            }
            if a.is_normal() {
                near("rsqrt.approx.f32", 1.0 / f64::from(a).sqrt() as f32);
            }
        }

        #[test]
        fn f64_approximations_are_close(a: f64) {
            prop_assume!(a.is_normal() && (1.0 / a).is_normal());
            let result = run64("rcp.approx.ftz.f64", &[a]);
            prop_assert!((result * a - 1.0).abs() < 1e-5 && result.to_bits() as u32 == 0);
            let root = run64("rsqrt.approx.f64", &[a.abs()]);
            prop_assert!((root * root * a.abs() - 1.0).abs() < 1e-14);
        }

        #[test]
        fn f16_functions_round_the_f64_result(a: u32) {
            let pair = |f| nearest(a, f) | nearest(a >> 16, f) << 16;
            prop_assert_eq!(run("ex2.approx.f16x2", &[a.into()]), pair(f64::exp2));
            prop_assert_eq!(run("tanh.approx.f16x2", &[a.into()]), pair(f64::tanh));
            prop_assert_eq!(run("tanh.approx.f16", &[a.into()]), nearest(a, f64::tanh));
        }
    }

    #[test]
    fn special_values_follow_the_tables_of_the_isa() {
        let subnormal = f32::from_bits(1);
        let table = [
            ("ex2.approx.f32", -INF, 0.0),
            ("ex2.approx.f32", INF, INF),
            ("ex2.approx.ftz.f32", -subnormal, 1.0),
            ("ex2.approx.ftz.f32", -140.0, 0.0),
            ("lg2.approx.f32", -0.0, -INF),
            ("lg2.approx.ftz.f32", subnormal, -INF),
            ("lg2.approx.f32", INF, INF),
            ("rsqrt.approx.f32", 0.0, INF),
            ("rsqrt.approx.f32", -0.0, -INF),
            ("rsqrt.approx.f32", INF, 0.0),
            ("rcp.approx.f32", -0.0, -INF),
            ("rcp.approx.ftz.f32", -subnormal, -INF),
            ("rcp.approx.f32", -INF, -0.0),
            ("sqrt.approx.f32", -0.0, -0.0),
            ("sin.approx.f32", -0.0, -0.0),
            ("sin.approx.ftz.f32", -subnormal, -0.0),
            ("cos.approx.ftz.f32", subnormal, 1.0),
            ("tanh.approx.f32", -INF, -1.0),
        ];
        for (form, a, expected) in table {
            assert_eq!(
                run32(form, &[a]).to_bits(),
                expected.to_bits(),
                "{form} {a}"
            );
        }
        for form in [
            "sin.approx.f32",
            "cos.approx.f32",
            "lg2.approx.f32",
            "rsqrt.approx.f32",
        ] {
            assert_eq!(run32(form, &[-INF]).to_bits(), 0x7fff_ffff, "{form}");
        }
    }

    #[test]
    fn special_quotients_and_doubles() {
        let huge = 2f32.powi(127);
        assert_eq!(
            run32("div.approx.f32", &[-3.0, huge]).to_bits(),
            (-0.0f32).to_bits()
        );
        assert!(run32("div.approx.f32", &[INF, huge]).is_nan());
        assert_eq!(run32("div.full.f32", &[huge, huge]), 1.0);
        assert_eq!(run64("rcp.approx.ftz.f64", &[-1e-310]), f64::NEG_INFINITY);
        assert_eq!(run64("rcp.approx.ftz.f64", &[f64::INFINITY]).to_bits(), 0);
        assert_eq!(run64("rsqrt.approx.ftz.f64", &[-0.0]), f64::NEG_INFINITY);
        assert_eq!(
            run64("rsqrt.approx.f64", &[-1.0]).to_bits(),
            0x7ff8_0000_0000_0000
        );
    }
}
