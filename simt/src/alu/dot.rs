//! `dp4a` and `dp2a`: dot products of the bytes and halves of words.

use super::forms::Mods;
use super::lane::{Lane, Register, lanes};
use super::{Alu, Selected};
use crate::ast::Type;

/// Returns the function of an opcode of this file: `dp4a.s32.u32`, `dp2a.lo.u32.u32`.
pub(super) fn select(opcode: &str, mods: &mut Mods) -> Option<Selected> {
    let b_is_signed = is_signed(mods)?;
    let a_is_signed = is_signed(mods)?;
    let alu = match opcode {
        "dp4a" => four(a_is_signed, b_is_signed),
        "dp2a" => {
            let high = mods.choice(&[("lo", false), ("hi", true)])?;
            two(high, a_is_signed, b_is_signed)
        }
        _ => return None,
    };
    let ty = if a_is_signed || b_is_signed {
        Type::S32
    } else {
        Type::U32
    };
    Some(Selected::new(alu, ty, 0))
}

fn is_signed(mods: &mut Mods) -> Option<bool> {
    match mods.ty()? {
        Type::S32 => Some(true),
        Type::U32 => Some(false),
        _ => None,
    }
}

/// Byte i of a word.
#[inline(always)]
fn byte(x: u32, i: u32, signed: bool) -> i32 {
    let byte = (x >> (8 * i)) as u8;
    if signed {
        (byte as i8).into()
    } else {
        byte.into()
    }
}

/// Half i of a word.
#[inline(always)]
fn half(x: u32, i: u32, signed: bool) -> i32 {
    let half = (x >> (16 * i)) as u16;
    if signed {
        (half as i16).into()
    } else {
        half.into()
    }
}

/// Returns c plus the dot product of four bytes and four bytes.
#[inline(always)]
fn dp4a(a: u32, b: u32, c: u32, signed: [bool; 2]) -> u32 {
    let product = |i| byte(a, i, signed[0]) * byte(b, i, signed[1]);
    c.wrapping_add((product(0) + product(1) + product(2) + product(3)) as u32)
}

/// Returns c plus the dot product of two halves and two bytes, the bytes from `first` on.
#[inline(always)]
fn dp2a(a: u32, b: u32, c: u32, first: u32, signed: [bool; 2]) -> u32 {
    let product = |i| half(a, i, signed[0]) * byte(b, first + i, signed[1]);
    c.wrapping_add((product(0) + product(1)) as u32)
}

fn four(a: bool, b: bool) -> Alu {
    match (a, b) {
        (false, false) => lanes!(u32, |a, b, c| dp4a(a, b, c, [false, false])),
        (false, true) => lanes!(u32, |a, b, c| dp4a(a, b, c, [false, true])),
        (true, false) => lanes!(u32, |a, b, c| dp4a(a, b, c, [true, false])),
        (true, true) => lanes!(u32, |a, b, c| dp4a(a, b, c, [true, true])),
    }
}

fn two(high: bool, a: bool, b: bool) -> Alu {
    match (high, a, b) {
        (false, false, false) => lanes!(u32, |a, b, c| dp2a(a, b, c, 0, [false, false])),
        (false, false, true) => lanes!(u32, |a, b, c| dp2a(a, b, c, 0, [false, true])),
        (false, true, false) => lanes!(u32, |a, b, c| dp2a(a, b, c, 0, [true, false])),
        (false, true, true) => lanes!(u32, |a, b, c| dp2a(a, b, c, 0, [true, true])),
        (true, false, false) => lanes!(u32, |a, b, c| dp2a(a, b, c, 2, [false, false])),
        (true, false, true) => lanes!(u32, |a, b, c| dp2a(a, b, c, 2, [false, true])),
        (true, true, false) => lanes!(u32, |a, b, c| dp2a(a, b, c, 2, [true, false])),
        (true, true, true) => lanes!(u32, |a, b, c| dp2a(a, b, c, 2, [true, true])),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use proptest::prelude::*;

    fn value(bits: u32, width: u32, signed: bool) -> i64 {
        let x = i64::from(bits) & ((1 << width) - 1);
        if signed && x >> (width - 1) == 1 {
            x - (1 << width)
        } else {
            x
        }
    }

    proptest! {
        #[test]
        fn dot_products_equal_the_sum_over_parts(a: u32, b: u32, c: u32) {
            for (sa, sb) in [(false, false), (false, true), (true, false), (true, true)] {
                let types = format!("{}.{}", if sa { "s32" } else { "u32" }, if sb { "s32" } else { "u32" });
                let operands = [a, b, c].map(u64::from);
                let byte = |i: u32| value(b >> (8 * i), 8, sb);
                let four: i64 = (0..4).map(|i| value(a >> (8 * i), 8, sa) * byte(i)).sum();
                prop_assert_eq!(run(&format!("dp4a.{types}"), &operands), u64::from((four + i64::from(c)) as u32));
                for (part, first) in [("lo", 0), ("hi", 2)] {
                    let two: i64 = (0..2).map(|i| value(a >> (16 * i), 16, sa) * byte(first + i)).sum();
                    let sum = (two + i64::from(c)) as u32;
                    prop_assert_eq!(run(&format!("dp2a.{part}.{types}"), &operands), u64::from(sum));
                }
            }
        }
    }
}
