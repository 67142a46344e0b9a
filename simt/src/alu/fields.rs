//! Bit fields of 32-bit and 64-bit words, and byte permutations of two words.

use super::forms::Mods;
use super::lane::{Lane, Register, lanes, map};
use super::{Alu, Selected};
use crate::ast::Type;

/// Returns the function of an opcode of this file; its type is read already.
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

/// Returns `count` ones in the low bits; `count` is at most 64.
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

/// `bfe`, unsigned. Only the low bytes of position and length count; bits beyond the width are zeros.
#[inline(always)]
fn extract_unsigned(a: u64, at: u32, n: u32) -> u64 {
    let (at, n) = (at & 0xff, n & 0xff);
    let shifted = if at < 64 { a >> at } else { 0 };
    shifted & ones(n)
}

/// `bfe`, signed. A field that ends beyond the last bit is filled with that bit, the sign; an empty field is
/// zero.
#[inline(always)]
fn extract_signed(a: i64, at: u32, n: u32, last: u32) -> i64 {
    let (at, n) = (at & 0xff, n & 0xff);
    let shifted = a >> at.min(last);
    // Shifting left and back right fills the high bits with copies of the field's top bit.
    let above = 64 - n.clamp(1, 64);
    if n == 0 { 0 } else { shifted << above >> above }
}

/// `bfi f, a, b, at, n`: replaces the n bits of b from position `at` on by the low n bits of a.
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

/// Whether numbers beyond 31 count as 32 (`.clamp`) or modulo 32 (`.wrap`).
fn clamps(mods: &mut Mods) -> Option<bool> {
    mods.choice(&[("clamp", true), ("wrap", false)])
}

/// `bmsk`: n ones from position a on.
fn mask(mods: &mut Mods, ty: Type) -> Option<Alu> {
    let clamp = clamps(mods)?;
    let alu = if clamp {
        lanes!(u32, |a, n| (ones(n.min(32)) << a.min(32)) as u32)
    } else {
        lanes!(u32, |a, n| (ones(n & 31) << (a & 31)) as u32)
    };
    (ty == Type::B32).then_some(alu)
}

/// `szext`: zero- or sign-extends the low n bits.
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

/// `prmt`: selects bytes. The bytes of a have numbers 0 to 3, those of b 4 to 7; a mode derives them from c.
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

/// Builds a word of four bytes by their numbers among eight; adding 8 to a number fills the byte with its
/// sign.
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

#[cfg(test)]
mod tests {
    use super::super::testing::{integers, run};
    use proptest::prelude::*;

    fn bit(x: u64, i: u32) -> bool {
        x >> i & 1 == 1
    }

    fn from_bits(width: u32, f: impl Fn(u32) -> bool) -> u64 {
        (0..width).map(|i| u64::from(f(i)) << i).sum()
    }

    fn position() -> impl Strategy<Value = u32> {
        prop_oneof![4 => 0u32..70, 1 => any::<u32>()]
    }

    proptest! {
        #[test]
        fn extracted_bit_by_bit(a in integers(), at in position(), n in position()) {
            for width in [32, 64] {
                for signed in [false, true] {
                    let (from, len, last) = (at & 0xff, n & 0xff, width - 1);
                    let sign = signed && len > 0 && bit(a, (from + len - 1).min(last));
                    let field = |i| if i < len && from + i <= last { bit(a, from + i) } else { sign };
                    let form = format!("bfe.{}{width}", if signed { 's' } else { 'u' });
                    prop_assert_eq!(run(&form, &[a, at.into(), n.into()]), from_bits(width, field), "{}", form);
                }
            }
        }

        #[test]
        fn inserted_bit_by_bit(a in integers(), b in integers(), at in position(), n in position()) {
            for width in [32, 64] {
                let (from, len) = (at & 0xff, n & 0xff);
                let inside = |i: u32| i >= from && i < from + len;
                let expected = from_bits(width, |i| if inside(i) { bit(a, i - from) } else { bit(b, i) });
                prop_assert_eq!(run(&format!("bfi.b{width}"), &[a, b, at.into(), n.into()]), expected);
            }
        }

        #[test]
        fn masks(a in position(), n in position()) {
            for (mode, at, len) in [("clamp", a.min(32), n.min(32)), ("wrap", a & 31, n & 31)] {
                let expected = from_bits(32, |i| i >= at && i < at + len);
                prop_assert_eq!(run(&format!("bmsk.{mode}.b32"), &[a.into(), n.into()]), expected);
            }
        }

        #[test]
        fn extended(a: u32, n in position()) {
            for (mode, len) in [("clamp", n.min(32)), ("wrap", n & 31)] {
                let unsigned = from_bits(32, |i| i < len && bit(a.into(), i));
                prop_assert_eq!(run(&format!("szext.{mode}.u32"), &[a.into(), n.into()]), unsigned);
                let signed = from_bits(32, |i| len > 0 && bit(a.into(), i.min(len - 1)));
                prop_assert_eq!(run(&format!("szext.{mode}.s32"), &[a.into(), n.into()]), signed);
            }
        }

        #[test]
        fn bytes_by_selector(a: u32, b: u32, c: u32) {
            let bytes: Vec<u8> = a.to_le_bytes().into_iter().chain(b.to_le_bytes()).collect();
            let pick = |i: u32| {
                let selector = c >> (4 * i) & 0xf;
                let byte = bytes[(selector & 7) as usize];
                if selector < 8 { byte } else if byte & 0x80 != 0 { 0xff } else { 0 }
            };
            let expected = u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)]);
            prop_assert_eq!(run("prmt.b32", &[a.into(), b.into(), c.into()]), u64::from(expected));
        }
    }

    #[test]
    fn permute_modes_follow_the_tables_of_the_isa() {
        // Byte numbers for each selector, highest first; in this test each byte's value is its number.
        let tables = [
            ("f4e", ["3210", "4321", "5432", "6543"]),
            ("b4e", ["5670", "6701", "7012", "0123"]),
            ("rc8", ["0000", "1111", "2222", "3333"]),
            ("ecl", ["3210", "3211", "3222", "3333"]),
            ("ecr", ["0000", "1110", "2210", "3210"]),
            ("rc16", ["1010", "3232", "1010", "3232"]),
        ];
        for (mode, rows) in tables {
            for (selector, row) in rows.iter().enumerate() {
                let expected = row
                    .bytes()
                    .fold(0, |word, digit| word << 8 | u64::from(digit - b'0'));
                let operands = [0x0302_0100, 0x0706_0504, selector as u64];
                assert_eq!(
                    run(&format!("prmt.b32.{mode}"), &operands),
                    expected,
                    "{mode} {selector}"
                );
            }
        }
    }
}
