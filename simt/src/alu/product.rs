//! Integer products: the low half, the high half or the full product, optionally with an addend.

use super::forms::{self, Mods, each_integer};
use super::lane::{Lane, Register, lanes, map};
use super::{Alu, Selected};
use crate::ast::Type;

/// The part of a product that is kept.
#[derive(Clone, Copy)]
enum Part {
    Low,
    High,
    Wide,
}

/// Returns the function of `mul`, `mad`, `mul24` or `mad24`; its type is read already.
pub(super) fn select(opcode: &str, mods: &mut Mods, ty: Type) -> Option<Selected> {
    let part = mods.choice(&[("lo", Part::Low), ("hi", Part::High), ("wide", Part::Wide)])?;
    let alu = match (opcode, part) {
        ("mul", Part::Low) => each_integer!(ty, T, Wide => lanes!(T, |a, b| a.wrapping_mul(b))),
        ("mul", Part::High) => high(ty),
        ("mul", Part::Wide) => wide(ty),
        ("mad", Part::Low) => {
            each_integer!(ty, T, Wide => lanes!(T, |a, b, c| a.wrapping_mul(b).wrapping_add(c)))
        }
        ("mad", Part::High) if mods.take("sat") => high_sum_saturating(ty),
        ("mad", Part::High) => high_sum(ty),
        ("mad", Part::Wide) => wide_sum(ty),
        ("mul24", _) => product24(part, ty),
        ("mad24", Part::High) if mods.take("sat") => sum24_saturating(ty),
        ("mad24", _) => sum24(part, ty),
        _ => None,
    }?;
    Some(Selected::new(alu, ty, 0))
}

/// The high half of a product.
macro_rules! high_half {
    ($T:ident, $Wide:ident, $a:expr, $b:expr) => {
        (($a as $Wide * $b as $Wide) >> $T::BITS) as $T
    };
}

fn high(ty: Type) -> Option<Alu> {
    each_integer!(ty, T, Wide => lanes!(T, |a, b| high_half!(T, Wide, a, b)))
}

fn high_sum(ty: Type) -> Option<Alu> {
    each_integer!(ty, T, Wide => lanes!(T, |a, b, c| high_half!(T, Wide, a, b).wrapping_add(c)))
}

fn high_sum_saturating(ty: Type) -> Option<Alu> {
    match ty {
        Type::S32 => Some(lanes!(i32, |a, b, c| high_half!(i32, i64, a, b).saturating_add(c))),
        _ => None,
    }
}

fn wide(ty: Type) -> Option<Alu> {
    Some(match ty {
        Type::U16 => map!(WW, |a: u16, b: u16| a as u32 * b as u32),
        Type::S16 => map!(WW, |a: i16, b: i16| a as i32 * b as i32),
        Type::U32 => map!(WWtoD, |a: u32, b: u32| a as u64 * b as u64),
        Type::S32 => map!(WWtoD, |a: i32, b: i32| a as i64 * b as i64),
        _ => return None,
    })
}

fn wide_sum(ty: Type) -> Option<Alu> {
    Some(match ty {
        Type::U16 => map!(WWW, |a: u16, b: u16, c: u32| (a as u32 * b as u32)
            .wrapping_add(c)),
        Type::S16 => map!(WWW, |a: i16, b: i16, c: i32| (a as i32 * b as i32)
            .wrapping_add(c)),
        Type::U32 => map!(WWDtoD, |a: u32, b: u32, c: u64| (a as u64 * b as u64)
            .wrapping_add(c)),
        Type::S32 => map!(WWDtoD, |a: i32, b: i32, c: i64| (a as i64 * b as i64)
            .wrapping_add(c)),
        _ => return None,
    })
}

/// The 48-bit product of the low 24 bits.
#[inline(always)]
fn unsigned24(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}

/// The same for signed numbers; bit 23 is the sign.
#[inline(always)]
fn signed24(a: i32, b: i32) -> i64 {
    i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)
}

fn product24(part: Part, ty: Type) -> Option<Alu> {
    Some(match (part, ty) {
        (Part::Low, Type::U32) => lanes!(u32, |a, b| unsigned24(a, b) as u32),
        (Part::Low, Type::S32) => lanes!(i32, |a, b| signed24(a, b) as i32),
        // The high part is bits 16 to 47.
        (Part::High, Type::U32) => lanes!(u32, |a, b| (unsigned24(a, b) >> 16) as u32),
        (Part::High, Type::S32) => lanes!(i32, |a, b| (signed24(a, b) >> 16) as i32),
        _ => return None,
    })
}

fn sum24(part: Part, ty: Type) -> Option<Alu> {
    Some(match (part, ty) {
        (Part::Low, Type::U32) => lanes!(u32, |a, b, c| c.wrapping_add(unsigned24(a, b) as u32)),
        (Part::Low, Type::S32) => lanes!(i32, |a, b, c| c.wrapping_add(signed24(a, b) as i32)),
        (Part::High, Type::U32) => lanes!(u32, |a, b, c| c
            .wrapping_add((unsigned24(a, b) >> 16) as u32)),
        (Part::High, Type::S32) => {
            lanes!(i32, |a, b, c| c.wrapping_add((signed24(a, b) >> 16) as i32))
        }
        _ => return None,
    })
}

fn sum24_saturating(ty: Type) -> Option<Alu> {
    match ty {
        Type::S32 => Some(lanes!(i32, |a, b, c| ((signed24(a, b) >> 16) as i32)
            .saturating_add(c))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{integers, run};
    use proptest::prelude::*;

    /// The exact product of two registers; 64-bit numbers need 128 bits.
    fn product(a: u64, b: u64, width: u32, signed: bool) -> u128 {
        if signed {
            let extend = |x: u64| i128::from((x << (64 - width)) as i64 >> (64 - width));
            (extend(a) * extend(b)) as u128
        } else {
            let mask = u64::MAX >> (64 - width);
            u128::from(a & mask) * u128::from(b & mask)
        }
    }

    proptest! {
        #[test]
        fn parts_of_the_exact_product(a in integers(), b in integers(), c in integers()) {
            for (width, signed) in [(16, false), (16, true), (32, false), (32, true), (64, false), (64, true)] {
                let ty = format!("{}{width}", if signed { 's' } else { 'u' });
                let exact = product(a, b, width, signed);
                let cut = |x: u128, width: u32| (x & (u128::MAX >> (128 - width))) as u64;
                let with_c = |x: u128| x.wrapping_add(c.into());
                prop_assert_eq!(run(&format!("mul.lo.{ty}"), &[a, b]), cut(exact, width));
                prop_assert_eq!(run(&format!("mul.hi.{ty}"), &[a, b]), cut(exact >> width, width));
                prop_assert_eq!(run(&format!("mad.lo.{ty}"), &[a, b, c]), cut(with_c(exact), width));
                prop_assert_eq!(run(&format!("mad.hi.{ty}"), &[a, b, c]), cut(with_c(exact >> width), width));
                if width < 64 {
                    prop_assert_eq!(run(&format!("mul.wide.{ty}"), &[a, b]), cut(exact, 2 * width));
                    prop_assert_eq!(run(&format!("mad.wide.{ty}"), &[a, b, c]), cut(with_c(exact), 2 * width));
                }
            }
        }

        #[test]
        fn products_of_24_bits(a: u32, b: u32, c: u32) {
            for signed in [false, true] {
                let ty = if signed { "s32" } else { "u32" };
                let exact = product(a.into(), b.into(), 24, signed);
                let (low, high) = (exact as u32, (exact >> 16) as u32);
                let [a, b, d] = [a, b, c].map(u64::from);
                prop_assert_eq!(run(&format!("mul24.lo.{ty}"), &[a, b]), u64::from(low));
                prop_assert_eq!(run(&format!("mul24.hi.{ty}"), &[a, b]), u64::from(high));
                prop_assert_eq!(run(&format!("mad24.lo.{ty}"), &[a, b, d]), u64::from(low.wrapping_add(c)));
                prop_assert_eq!(run(&format!("mad24.hi.{ty}"), &[a, b, d]), u64::from(high.wrapping_add(c)));
            }
        }

        #[test]
        fn saturating_mad(a: i32, b: i32, c: i32) {
            let operands = [a, b, c].map(|x| x as u32 as u64);
            let clamp = |x: i64| x.clamp(i32::MIN.into(), i32::MAX.into()) as u32 as u64;
            let high = (i64::from(a) * i64::from(b)) >> 32;
            prop_assert_eq!(run("mad.hi.sat.s32", &operands), clamp(high + i64::from(c)));
            let high24 = product(a as u32 as u64, b as u32 as u64, 24, true) as i64 >> 16;
            prop_assert_eq!(run("mad24.hi.sat.s32", &operands), clamp(high24 + i64::from(c)));
        }
    }
}
