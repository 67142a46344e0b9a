//! Fields of bits inside of words and doubles, and bytes picked from two words.

use super::forms::Mods;
use super::lane::{Lane, Register, lanes, map};
use super::{Alu, Selected};
use crate::ast::Type;

/// The function of an opcode of this file, its type read already.
pub(super) fn select(opcode: &str, mods: &mut Mods, ty: Type) -> Option<Selected> {
    let alu = match opcode {
        "bfe" => extract(ty),
        "bfi" => insert(ty),
        "bmsk" => mask(mods, ty),
        "szext" => extend(mods, ty),
        "prmt" => permute(mods, ty),
        _ => None,
    }?;
    Some(Selected::new(alu, ty, 0))
}

/// `count` ones at the lower end, of at most 64.
#[inline(always)]
fn ones(count: u32) -> u64 {
    if count < 64 { (1 << count) - 1 } else { !0 }
}

fn extract(ty: Type) -> Option<Alu> {
    Some(match ty {
        Type::U32 => lanes!(u32, |a, at, n| extract_unsigned(a.into(), at, n) as u32),
        Type::S32 => lanes!(u32, |a, at, n| extract_signed(a as i32 as i64, at, n, 31)
            as u32),
        Type::U64 => map!(DWWtoD, |a: u64, at: u32, n: u32| extract_unsigned(a, at, n)),
        Type::S64 => map!(DWWtoD, |a: i64, at: u32, n: u32| extract_signed(
            a, at, n, 63
        )),
        _ => return None,
    })
}

/// Of position and length the lowest byte counts. Beyond the width there are zeros.
#[inline(always)]
fn extract_unsigned(a: u64, at: u32, n: u32) -> u64 {
    let (at, n) = (at & 0xff, n & 0xff);
    let moved = if at < 64 { a >> at } else { 0 };
    moved & ones(n)
}

/// A field that ends beyond the last bit is extended with that bit, which is the sign; an empty one is zero.
#[inline(always)]
fn extract_signed(a: i64, at: u32, n: u32, last: u32) -> i64 {
    let (at, n) = (at & 0xff, n & 0xff);
    let moved = a >> at.min(last);
    // Bits above the field are pushed out and come back as copies of its uppermost.
    let above = 64 - n.clamp(1, 64);
    if n == 0 { 0 } else { moved << above >> above }
}

/// `bfi f, a, b, at, n`: the lowest n bits of a take the place of those of b from `at` on.
fn insert(ty: Type) -> Option<Alu> {
    Some(match ty {
        Type::B32 => {
            map!(
                WWWW,
                |a: u32, b: u32, at: u32, n: u32| inserted(a.into(), b.into(), at, n) as u32
            )
        }
        Type::B64 => map!(DDWWtoD, |a: u64, b: u64, at: u32, n: u32| inserted(
            a, b, at, n
        )),
        _ => return None,
    })
}

#[inline(always)]
fn inserted(a: u64, b: u64, at: u32, n: u32) -> u64 {
    let (at, n) = (at & 0xff, n & 0xff);
    if at >= 64 {
        return b;
    }
    let field = ones(n) << at;
    b & !field | a << at & field
}

/// Whether numbers beyond 31 count as 32, or modulo 32.
fn clamps(mods: &mut Mods) -> Option<bool> {
    mods.choice(&[("clamp", true), ("wrap", false)])
}

/// `bmsk`: n ones from position a on.
fn mask(mods: &mut Mods, ty: Type) -> Option<Alu> {
    let clamp = clamps(mods)?;
    let alu = match clamp {
        true => lanes!(u32, |a, n| (ones(n.min(32)) << a.min(32)) as u32),
        false => lanes!(u32, |a, n| (ones(n & 31) << (a & 31)) as u32),
    };
    (ty == Type::B32).then_some(alu)
}

/// `szext`: the lowest n bits, extended with zeros or with their sign.
fn extend(mods: &mut Mods, ty: Type) -> Option<Alu> {
    Some(match (ty, clamps(mods)?) {
        (Type::U32, true) => lanes!(u32, |a, n| extract_unsigned(a.into(), 0, n.min(32)) as u32),
        (Type::U32, false) => lanes!(u32, |a, n| extract_unsigned(a.into(), 0, n & 31) as u32),
        (Type::S32, true) => map!(
            WW,
            |a: i32, n: u32| extract_signed(a.into(), 0, n.min(32), 31) as i32
        ),
        (Type::S32, false) => map!(WW, |a: i32, n: u32| extract_signed(a.into(), 0, n & 31, 31)
            as i32),
        _ => return None,
    })
}

/// `prmt`: the bytes of a are numbered 0 to 3, those of b 4 to 7. A mode says which is byte i of the result.
fn permute(mods: &mut Mods, ty: Type) -> Option<Alu> {
    let mode = mods.choice(&[
        ("f4e", 1),
        ("b4e", 2),
        ("rc8", 3),
        ("ecl", 4),
        ("ecr", 5),
        ("rc16", 6),
    ]);
    let alu = match mode {
        None => lanes!(u32, |a, b, c| bytes(a, b, |i| c >> (4 * i))),
        Some(1) => lanes!(u32, |a, b, c| bytes(a, b, |i| (c & 3) + i)),
        Some(2) => lanes!(u32, |a, b, c| bytes(a, b, |i| (c & 3).wrapping_sub(i) & 7)),
        Some(3) => lanes!(u32, |a, b, c| bytes(a, b, |_| c & 3)),
        Some(4) => lanes!(u32, |a, b, c| bytes(a, b, |i| i.max(c & 3))),
        Some(5) => lanes!(u32, |a, b, c| bytes(a, b, |i| i.min(c & 3))),
        Some(_) => lanes!(u32, |a, b, c| bytes(a, b, |i| 2 * (c & 1) + (i & 1))),
    };
    (ty == Type::B32).then_some(alu)
}

/// Four bytes, each by its number among eight; 8 added to the number spreads the byte's sign over it.
#[inline(always)]
fn bytes(a: u32, b: u32, number: impl Fn(u32) -> u32) -> u32 {
    let all = u64::from(a) | u64::from(b) << 32;
    let byte = |i: u32| {
        let which = number(i);
        let byte = (all >> (8 * (which & 7))) as u8;
        let spread = if which & 8 == 0 {
            byte
        } else {
            (byte as i8 >> 7) as u8
        };
        u32::from(spread) << (8 * i)
    };
    byte(0) | byte(1) | byte(2) | byte(3)
}
