//! `set`: a comparison whose result is a number; true is all ones or 1.0.

use half::{bf16, f16};

use super::compare::{self, Operator, each_operator, holds};
use super::float::operand;
use super::forms::{Mods, each_bool};
use super::lane::{Lane, map};
use super::{Alu, Selected};
use crate::ast::Type;

const ALL: u32 = 0xffff_ffff;
const HALF: u32 = 0xffff;
const ONE_F32: u32 = 0x3f80_0000;
const ONE_F16: u32 = 0x3c00;
const ONE_BF16: u32 = 0x3f80;

/// An [`Alu`] that writes `$one` where `$OP` holds between the values of two words.
macro_rules! where_holds {
    ($operator:expr, $T:ty, $one:expr) => {
        each_operator!($operator, OP => map!(WW, |a: $T, b: $T| if holds(OP, a, b) { $one } else { 0u32 }))
    };
}

/// The same for floating-point numbers.
macro_rules! where_float_holds {
    ($operator:expr, $ftz:expr, $T:ty, $one:expr) => {
        each_bool!($ftz, FTZ => each_operator!($operator, OP => map!(WW, |a: $T, b: $T| {
            if holds(OP, operand::<$T>(a, FTZ), operand::<$T>(b, FTZ)) { $one } else { 0u32 }
        })))
    };
}

/// The same for pairs; `$one` is the value of a half.
macro_rules! where_pair_holds {
    ($operator:expr, $ftz:expr, $T:ty, $one:expr) => {
        each_bool!($ftz, FTZ => each_operator!($operator, OP => map!(WW, |a: u32, b: u32| {
            let half = |a: u32, b: u32| {
                let (a, b) = (<$T as Lane>::read(a), <$T as Lane>::read(b));
                if holds(OP, operand::<$T>(a, FTZ), operand::<$T>(b, FTZ)) { $one } else { 0u32 }
            };
            half(a, b) | half(a >> 16, b >> 16) << 16
        })))
    };
}

/// `set.lt.f32.s32`: the operator, the type of the result and the type of the operands. For 64-bit operands,
/// lowering uses a predicate instead.
pub(super) fn select(mods: &mut Mods) -> Option<Selected> {
    let (from, to) = (mods.ty()?, mods.ty()?);
    let ftz = mods.take("ftz");
    let operator = Operator::parse(mods.last()?, from)?;
    let alu = match from {
        Type::F16x2 | Type::Bf16x2 => of_pairs(operator, from, to, ftz),
        Type::F32 | Type::F16 | Type::Bf16 => of_floats(operator, from, to, ftz),
        _ if ftz => None,
        _ => of_integers(operator, from, to),
    }?;
    Some(Selected::new(alu, from, 0))
}

fn of_integers(operator: Operator, from: Type, to: Type) -> Option<Alu> {
    Some(match (from, to) {
        (Type::B16 | Type::U16, Type::U32 | Type::S32) => where_holds!(operator, u16, ALL),
        (Type::B16 | Type::U16, Type::F32) => where_holds!(operator, u16, ONE_F32),
        (Type::S16, Type::U32 | Type::S32) => where_holds!(operator, i16, ALL),
        (Type::S16, Type::F32) => where_holds!(operator, i16, ONE_F32),
        (Type::B32 | Type::U32, Type::U32 | Type::S32) => where_holds!(operator, u32, ALL),
        (Type::B32 | Type::U32, Type::F32) => where_holds!(operator, u32, ONE_F32),
        (Type::S32, Type::U32 | Type::S32) => where_holds!(operator, i32, ALL),
        (Type::S32, Type::F32) => where_holds!(operator, i32, ONE_F32),
        _ => return None,
    })
}

fn of_floats(operator: Operator, from: Type, to: Type, ftz: bool) -> Option<Alu> {
    Some(match (from, to) {
        (Type::F32, Type::U32 | Type::S32) => where_float_holds!(operator, ftz, f32, ALL),
        (Type::F32, Type::F32) => where_float_holds!(operator, ftz, f32, ONE_F32),
        (Type::F16, Type::U32 | Type::S32) => where_float_holds!(operator, ftz, f16, ALL),
        (Type::F16, Type::U16 | Type::S16) => where_float_holds!(operator, ftz, f16, HALF),
        (Type::F16, Type::F16) => where_float_holds!(operator, ftz, f16, ONE_F16),
        _ if ftz => return None,
        (Type::Bf16, Type::U32 | Type::S32) => where_float_holds!(operator, false, bf16, ALL),
        (Type::Bf16, Type::U16 | Type::S16) => where_float_holds!(operator, false, bf16, HALF),
        (Type::Bf16, Type::Bf16) => where_float_holds!(operator, false, bf16, ONE_BF16),
        _ => return None,
    })
}

fn of_pairs(operator: Operator, from: Type, to: Type, ftz: bool) -> Option<Alu> {
    Some(match (from, to) {
        (Type::F16x2, Type::F16x2) => where_pair_holds!(operator, ftz, f16, ONE_F16),
        (Type::F16x2, Type::U32 | Type::S32) => where_pair_holds!(operator, ftz, f16, HALF),
        _ if ftz => return None,
        (Type::Bf16x2, Type::Bf16x2) => where_pair_holds!(operator, false, bf16, ONE_BF16),
        (Type::Bf16x2, Type::U32 | Type::S32) => where_pair_holds!(operator, false, bf16, HALF),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::super::testing::{run, singles};

    proptest! {
        #[test]
        fn true_is_all_ones_or_one(a in singles(), b in singles()) {
            let bits = [a, b].map(|x| u64::from(x.to_bits()));
            let one = u64::from(1f32.to_bits());
            prop_assert_eq!(run("set.lt.f32.f32", &bits), if a < b { one } else { 0 });
            prop_assert_eq!(run("set.geu.u32.f32", &bits), if a < b { 0 } else { 0xffff_ffff });
            let less = (bits[0] as i32) < bits[1] as i32;
            prop_assert_eq!(run("set.lt.f32.s32", &bits), if less { one } else { 0 });
        }

        #[test]
        fn comparisons_of_16_bit_types(a: u32, b: u32) {
            let bits = [a, b].map(u64::from);
            let less = |shift: u32| f16::from_bits((a >> shift) as u16) < f16::from_bits((b >> shift) as u16);
            let half = |shift, one: u64| if less(shift) { one } else { 0 };
            prop_assert_eq!(run("set.lt.f16x2.f16x2", &bits), half(0, 0x3c00) | half(16, 0x3c00) << 16);
            prop_assert_eq!(run("set.lt.u32.f16x2", &bits), half(0, 0xffff) | half(16, 0xffff) << 16);
            prop_assert_eq!(run("set.lt.f16.f16", &bits), half(0, 0x3c00));
            prop_assert_eq!(run("set.lt.u16.f16", &bits), half(0, 0xffff));
            prop_assert_eq!(run("set.lt.u32.f16", &bits), half(0, 0xffff_ffff));
        }
    }
}
