//! `dp4a` and `dp2a`: products of the parts of words, summed up.

use super::forms::Mods;
use super::lane::{Lane, Register, lanes};
use super::{Alu, Selected};
use crate::ast::Type;

/// The function of an opcode of this file: `dp4a.s32.u32`, `dp2a.lo.u32.u32`.
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

/// c plus the products of four bytes and four bytes.
#[inline(always)]
fn dp4a(a: u32, b: u32, c: u32, signed: [bool; 2]) -> u32 {
    let product = |i| byte(a, i, signed[0]) * byte(b, i, signed[1]);
    c.wrapping_add((product(0) + product(1) + product(2) + product(3)) as u32)
}

/// c plus the products of two halves and two bytes, those from `first` on.
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
