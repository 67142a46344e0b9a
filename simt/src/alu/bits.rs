//! Logic, shifts and bit counts of words. The machine has its own logic for predicates.

use super::forms::{self, Mods, each_bits};
use super::lane::{Lane, Register, lanes, map};
use super::{Alu, Selected};
use crate::ast::Type;

/// Returns the function of an opcode of this file; its type is read already.
pub(super) fn select(opcode: &str, mods: &mut Mods, ty: Type) -> Option<Selected> {
    let alu = match opcode {
        "and" => each_bits!(ty, T => lanes!(T, |a, b| a & b)),
        "or" => each_bits!(ty, T => lanes!(T, |a, b| a | b)),
        "xor" => each_bits!(ty, T => lanes!(T, |a, b| a ^ b)),
        "not" => each_bits!(ty, T => lanes!(T, |a| !a)),
        "cnot" => each_bits!(ty, T => lanes!(T, |a| (a == 0) as T)),
        "lop3" => logic_of_three(ty),
        "shl" => shift_left(ty),
        "shr" => shift_right(ty),
        "shf" => funnel(mods, ty),
        "popc" | "clz" | "brev" => count(opcode, ty),
        "bfind" => find(mods.take("shiftamt"), ty),
        "mov" => identity(ty),
        _ => None,
    }?;
    Some(Selected::new(alu, ty, 0))
}

/// `lop3 d, a, b, c, table`.
fn logic_of_three(ty: Type) -> Option<Alu> {
    let alu = map!(WWWW, |a: u32, b: u32, c: u32, table: u32| lop3(
        a, b, c, table
    ));
    (ty == Type::B32).then_some(alu)
}

/// Computes a bitwise function of three words: bit 4a + 2b + c of `table` is the result for bits a, b and c.
#[inline(always)]
fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut result = 0;
    for row in 0..8 {
        let chosen = 0u32.wrapping_sub(table >> row & 1);
        let turned = |x: u32, bit: u32| if row & bit == 0 { !x } else { x };
        result |= chosen & turned(a, 4) & turned(b, 2) & turned(c, 1);
    }
    result
}

/// Shifts left; an amount beyond the width gives zero.
fn shift_left(ty: Type) -> Option<Alu> {
    Some(match ty {
        Type::B16 => map!(WW, |a: u16, n: u32| (a as u32).checked_shl(n).unwrap_or(0)
            as u16),
        Type::B32 => map!(WW, |a: u32, n: u32| if n < 32 { a << (n & 31) } else { 0 }),
        Type::B64 => map!(DWtoD, |a: u64, n: u32| if n < 64 {
            a << (n & 63)
        } else {
            0
        }),
        _ => return None,
    })
}

/// Shifts right; an amount beyond the width leaves zeros, or copies of the sign bit.
fn shift_right(ty: Type) -> Option<Alu> {
    Some(match ty {
        Type::B16 | Type::U16 => map!(WW, |a: u16, n: u32| (a as u32 >> n.min(31)) as u16),
        Type::B32 | Type::U32 => map!(WW, |a: u32, n: u32| if n < 32 { a >> (n & 31) } else { 0 }),
        Type::B64 | Type::U64 => map!(DWtoD, |a: u64, n: u32| if n < 64 {
            a >> (n & 63)
        } else {
            0
        }),
        Type::S16 => map!(WW, |a: i16, n: u32| a >> n.min(15)),
        Type::S32 => map!(WW, |a: i32, n: u32| a >> n.min(31)),
        Type::S64 => map!(DWtoD, |a: i64, n: u32| a >> n.min(63)),
        _ => return None,
    })
}

/// `shf`: a is the low word, b the high word. The amount is clamped to 32 or taken modulo 32.
fn funnel(mods: &mut Mods, ty: Type) -> Option<Alu> {
    let left = mods.choice(&[("l", true), ("r", false)])?;
    let clamp = mods.choice(&[("clamp", true), ("wrap", false)])?;
    let alu = match (left, clamp) {
        (true, true) => lanes!(u32, |a, b, n| funnel_left(a, b, n.min(32))),
        (true, false) => lanes!(u32, |a, b, n| funnel_left(a, b, n & 31)),
        (false, true) => lanes!(u32, |a, b, n| (pair(a, b) >> n.min(32)) as u32),
        (false, false) => lanes!(u32, |a, b, n| (pair(a, b) >> (n & 31)) as u32),
    };
    (ty == Type::B32).then_some(alu)
}

#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[inline(always)]
fn funnel_left(low: u32, high: u32, n: u32) -> u32 {
    (pair(low, high) << n >> 32) as u32
}

/// `popc` and `clz`: the count is a word for both widths.
fn count(opcode: &str, ty: Type) -> Option<Alu> {
    Some(match (opcode, ty) {
        ("popc", Type::B32) => map!(W, |a: u32| a.count_ones()),
        ("popc", Type::B64) => map!(DtoW, |a: u64| a.count_ones()),
        ("clz", Type::B32) => map!(W, |a: u32| a.leading_zeros()),
        ("clz", Type::B64) => map!(DtoW, |a: u64| a.leading_zeros()),
        ("brev", Type::B32) => map!(W, |a: u32| a.reverse_bits()),
        ("brev", Type::B64) => map!(D, |a: u64| a.reverse_bits()),
        _ => return None,
    })
}

/// `bfind`: the position of the highest bit that differs from the sign, or with `.shiftamt` its distance from
/// the top; all ones if there is none.
fn find(from_above: bool, ty: Type) -> Option<Alu> {
    Some(match (ty, from_above) {
        (Type::U32, true) => map!(W, |a: u32| found(a.leading_zeros(), 32)),
        (Type::S32, true) => map!(W, |a: i32| found((a ^ a >> 31).leading_zeros(), 32)),
        (Type::U64, true) => map!(DtoW, |a: u64| found(a.leading_zeros(), 64)),
        (Type::S64, true) => map!(DtoW, |a: i64| found((a ^ a >> 63).leading_zeros(), 64)),
        // For zero, 31 − 32 wraps to all ones.
        (Type::U32, false) => map!(W, |a: u32| 31u32.wrapping_sub(a.leading_zeros())),
        (Type::S32, false) => map!(W, |a: i32| 31u32
            .wrapping_sub((a ^ a >> 31).leading_zeros())),
        (Type::U64, false) => map!(DtoW, |a: u64| 63u32.wrapping_sub(a.leading_zeros())),
        (Type::S64, false) => map!(DtoW, |a: i64| 63u32
            .wrapping_sub((a ^ a >> 63).leading_zeros())),
        _ => return None,
    })
}

/// Returns the number of leading zeros; all ones if no bit is set.
#[inline(always)]
fn found(zeros: u32, width: u32) -> u32 {
    if zeros == width { !0 } else { zeros }
}

/// `mov` between registers.
fn identity(ty: Type) -> Option<Alu> {
    Some(match ty {
        Type::Pred | Type::B128 | Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 => {
            return None;
        }
        _ if ty.bytes() == 8 => map!(D, |a: u64| a),
        _ => map!(W, |a: u32| a),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{integers, run};
    use proptest::prelude::*;

    /// Bit i of x.
    fn bit(x: u64, i: u32) -> bool {
        x >> i & 1 == 1
    }

    /// Builds a number from its bits.
    fn from_bits(width: u32, f: impl Fn(u32) -> bool) -> u64 {
        (0..width).map(|i| u64::from(f(i)) << i).sum()
    }

    proptest! {
        #[test]
        fn logic(a in integers(), b in integers()) {
            for width in [16, 32, 64] {
                let form = |opcode: &str| format!("{opcode}.b{width}");
                prop_assert_eq!(run(&form("and"), &[a, b]), from_bits(width, |i| bit(a, i) && bit(b, i)));
                prop_assert_eq!(run(&form("or"), &[a, b]), from_bits(width, |i| bit(a, i) || bit(b, i)));
                prop_assert_eq!(run(&form("xor"), &[a, b]), from_bits(width, |i| bit(a, i) != bit(b, i)));
                prop_assert_eq!(run(&form("not"), &[a]), from_bits(width, |i| !bit(a, i)));
                let is_zero = (0..width).all(|i| !bit(a, i));
                prop_assert_eq!(run(&form("cnot"), &[a]), u64::from(is_zero));
            }
        }

        #[test]
        fn logic_of_three(a: u32, b: u32, c: u32, table in 0u64..256) {
            let [a, b, c] = [a, b, c].map(u64::from);
            let row = |i| u32::from(bit(a, i)) * 4 + u32::from(bit(b, i)) * 2 + u32::from(bit(c, i));
            prop_assert_eq!(run("lop3.b32", &[a, b, c, table]), from_bits(32, |i| bit(table, row(i))));
        }

        #[test]
        fn shifts_bit_by_bit(a in integers(), n in prop_oneof![0u32..70, any::<u32>()]) {
            for width in [16, 32, 64] {
                let left = from_bits(width, |i| i >= n && bit(a, i - n));
                prop_assert_eq!(run(&format!("shl.b{width}"), &[a, n.into()]), left);
                let up = |i: u32| i.saturating_add(n);
                let right = from_bits(width, |i| up(i) < width && bit(a, up(i)));
                prop_assert_eq!(run(&format!("shr.b{width}"), &[a, n.into()]), right);
                prop_assert_eq!(run(&format!("shr.u{width}"), &[a, n.into()]), right);
                let signed = from_bits(width, |i| bit(a, up(i).min(width - 1)));
                prop_assert_eq!(run(&format!("shr.s{width}"), &[a, n.into()]), signed);
            }
        }

        #[test]
        fn funnels(a: u32, b: u32, n in prop_oneof![0u32..70, any::<u32>()]) {
            let both = u64::from(a) | u64::from(b) << 32;
            for (mode, n) in [("clamp", n.min(32)), ("wrap", n & 31)].map(|(mode, m)| (mode, (n, m))) {
                let operands = [a.into(), b.into(), n.0.into()];
                let left = from_bits(32, |i| bit(both, i + 32 - n.1));
                prop_assert_eq!(run(&format!("shf.l.{mode}.b32"), &operands), left);
                let right = from_bits(32, |i| bit(both, i + n.1));
                prop_assert_eq!(run(&format!("shf.r.{mode}.b32"), &operands), right);
            }
        }

        #[test]
        fn counts(a in integers()) {
            for width in [32, 64] {
                let highest = (0..width).rev().find(|&i| bit(a, i));
                let ones = (0..width).filter(|&i| bit(a, i)).count() as u64;
                prop_assert_eq!(run(&format!("popc.b{width}"), &[a]), ones);
                let zeros = highest.map_or(width, |i| width - 1 - i);
                prop_assert_eq!(run(&format!("clz.b{width}"), &[a]), u64::from(zeros));
                prop_assert_eq!(run(&format!("brev.b{width}"), &[a]), from_bits(width, |i| bit(a, width - 1 - i)));
                let no_sign = (0..width).rev().find(|&i| bit(a, i) != bit(a, width - 1));
                for (ty, at) in [('u', highest), ('s', no_sign)] {
                    let found = at.map_or(0xffff_ffff, u64::from);
                    prop_assert_eq!(run(&format!("bfind.{ty}{width}"), &[a]), found);
                    let amount = at.map_or(0xffff_ffff, |i| u64::from(width - 1 - i));
                    prop_assert_eq!(run(&format!("bfind.shiftamt.{ty}{width}"), &[a]), amount);
                }
            }
        }
    }

    #[test]
    fn moves_change_nothing() {
        for (form, bits) in [
            ("mov.b32", 0xdead_beef),
            ("mov.f32", 0xffff_ffff),
            ("mov.u16", 0xbeef),
        ] {
            assert_eq!(run(form, &[bits]), bits);
        }
        assert_eq!(
            run("mov.b64", &[0x0123_4567_89ab_cdef]),
            0x0123_4567_89ab_cdef
        );
    }
}
