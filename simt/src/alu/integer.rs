//! Integer arithmetic. Overflow wraps, and nothing traps: x / 0 is all ones and x % 0 is x, as on NVIDIA's
//! GPUs.

use super::forms::{self, Mods, each_integer};
use super::lane::{Lane, Register, lanes, pairs};
use super::{Alu, Selected};
use crate::ast::Type;

/// Returns the function of an opcode of this file; its type is read already. Products are in
/// [`super::product`].
pub(super) fn select(opcode: &str, mods: &mut Mods, ty: Type) -> Option<Selected> {
    let alu = match opcode {
        "add" | "sub" if mods.take("sat") => saturating(opcode, ty),
        "add" => each_integer!(ty, T, Wide => lanes!(T, |a, b| a.wrapping_add(b))),
        "sub" => each_integer!(ty, T, Wide => lanes!(T, |a, b| a.wrapping_sub(b))),
        "min" | "max" if mods.take("relu") => clamped(opcode, ty),
        "min" => each_integer!(ty, T, Wide => lanes!(T, |a, b| a.min(b))),
        "max" => each_integer!(ty, T, Wide => lanes!(T, |a, b| a.max(b))),
        "div" => quotient(ty),
        "rem" => remainder(ty),
        "sad" => {
            each_integer!(ty, T, Wide => lanes!(T, |a, b, c| c.wrapping_add(a.abs_diff(b) as T)))
        }
        "abs" => magnitude(ty),
        "neg" => opposite(ty),
        _ => None,
    }?;
    Some(Selected::new(alu, ty, 0))
}

/// `add`, `min` and `max` of `.u16x2` and `.s16x2`, which are no [`Type`]; a constant operand is a word.
pub(super) fn select_pairs(opcode: &str, mods: &mut Mods, is_signed: bool) -> Option<Selected> {
    let alu = match (opcode, is_signed) {
        ("add", _) => pairs!(u16, |a, b| a.wrapping_add(b)),
        ("min", true) if mods.take("relu") => pairs!(i16, |a, b| a.min(b).max(0)),
        ("max", true) if mods.take("relu") => pairs!(i16, |a, b| a.max(b).max(0)),
        ("min", true) => pairs!(i16, |a, b| a.min(b)),
        ("max", true) => pairs!(i16, |a, b| a.max(b)),
        ("min", false) => pairs!(u16, |a, b| a.min(b)),
        ("max", false) => pairs!(u16, |a, b| a.max(b)),
        _ => return None,
    };
    Some(Selected::new(alu, Type::B32, 0))
}

/// `add.sat`, `sub.sat`.
fn saturating(opcode: &str, ty: Type) -> Option<Alu> {
    match (opcode, ty) {
        ("add", Type::S32) => Some(lanes!(i32, |a, b| a.saturating_add(b))),
        ("sub", Type::S32) => Some(lanes!(i32, |a, b| a.saturating_sub(b))),
        _ => None,
    }
}

/// `min.relu`, `max.relu`: negative results become zero.
fn clamped(opcode: &str, ty: Type) -> Option<Alu> {
    match (opcode, ty) {
        ("min", Type::S32) => Some(lanes!(i32, |a, b| a.min(b).max(0))),
        ("max", Type::S32) => Some(lanes!(i32, |a, b| a.max(b).max(0))),
        _ => None,
    }
}

fn quotient(ty: Type) -> Option<Alu> {
    each_integer!(ty, T, Wide => lanes!(T, |a, b| if b == 0 { !0 } else { a.wrapping_div(b) }))
}

fn remainder(ty: Type) -> Option<Alu> {
    each_integer!(ty, T, Wide => lanes!(T, |a, b| if b == 0 { a } else { a.wrapping_rem(b) }))
}

/// `abs`; the minimum wraps to itself.
fn magnitude(ty: Type) -> Option<Alu> {
    match ty {
        Type::S16 => Some(lanes!(i16, |a| a.wrapping_abs())),
        Type::S32 => Some(lanes!(i32, |a| a.wrapping_abs())),
        Type::S64 => Some(lanes!(i64, |a| a.wrapping_abs())),
        _ => None,
    }
}

fn opposite(ty: Type) -> Option<Alu> {
    match ty {
        Type::S16 => Some(lanes!(i16, |a| a.wrapping_neg())),
        Type::S32 => Some(lanes!(i32, |a| a.wrapping_neg())),
        Type::S64 => Some(lanes!(i64, |a| a.wrapping_neg())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{integers, run};
    use proptest::prelude::*;

    /// Name, bits, and whether the type is signed.
    const TYPES: [(&str, u32, bool); 6] = [
        ("u16", 16, false),
        ("s16", 16, true),
        ("u32", 32, false),
        ("s32", 32, true),
        ("u64", 64, false),
        ("s64", 64, true),
    ];

    /// The number in a register.
    fn value(bits: u64, width: u32, signed: bool) -> i128 {
        let x = i128::from(bits) & ((1 << width) - 1);
        if signed && x >> (width - 1) == 1 {
            x - (1 << width)
        } else {
            x
        }
    }

    fn expected(opcode: &str, a: i128, b: i128, c: i128) -> i128 {
        match opcode {
            "add" => a + b,
            "sub" => a - b,
            "min" => a.min(b),
            "max" => a.max(b),
            "div" if b == 0 => -1,
            "div" => a / b,
            "rem" if b == 0 => a,
            "rem" => a % b,
            "sad" => c + (a - b).abs(),
            "abs" => a.abs(),
            _ => -a,
        }
    }

    proptest! {
        #[test]
        fn results_equal_128_bit_arithmetic(a in integers(), b in integers(), c in integers()) {
            for (ty, width, signed) in TYPES {
                let [x, y, z] = [a, b, c].map(|bits| value(bits, width, signed));
                for opcode in ["add", "sub", "min", "max", "div", "rem", "sad", "abs", "neg"] {
                    if !signed && matches!(opcode, "abs" | "neg") {
                        continue;
                    }
                    let exact = expected(opcode, x, y, z);
                    let bits = (exact & ((1 << width) - 1)) as u64;
                    prop_assert_eq!(run(&format!("{opcode}.{ty}"), &[a, b, c]), bits, "{} {}", opcode, ty);
                }
            }
        }

        #[test]
        fn saturating_sums_stay_in_range(a: i32, b: i32) {
            let operands = [a, b].map(|x| x as u32 as u64);
            let clamp = |x: i64| x.clamp(i32::MIN.into(), i32::MAX.into()) as u32 as u64;
            prop_assert_eq!(run("add.sat.s32", &operands), clamp(i64::from(a) + i64::from(b)));
            prop_assert_eq!(run("sub.sat.s32", &operands), clamp(i64::from(a) - i64::from(b)));
            prop_assert_eq!(run("max.relu.s32", &operands), a.max(b).max(0) as u64);
            prop_assert_eq!(run("min.relu.s32", &operands), a.min(b).max(0) as u64);
        }

        #[test]
        fn pairs_are_computed_half_by_half(a: u32, b: u32) {
            for opcode in ["add", "min", "max"] {
                for ty in ["u16", "s16"] {
                    let half = |shift: u32| run(&format!("{opcode}.{ty}"), &[(a >> shift).into(), (b >> shift).into()]);
                    let both = run(&format!("{opcode}.{ty}x2"), &[a.into(), b.into()]);
                    prop_assert_eq!(both, half(0) | half(16) << 16);
                }
            }
        }
    }
}
