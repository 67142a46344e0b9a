//! Comparisons: `setp` gives one bit for each lane.

use super::Compare;
use super::compare;
use super::float::operand;
use super::forms::{self, each_bool, each_float};
use super::lane::{Lane, Register};
use crate::ast::Type;

/// A comparison operator. Those after `Ge` also hold for unordered numbers, or only for those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

impl Operator {
    /// Returns the operator of this name if the type has it.
    pub fn parse(name: &str, ty: Type) -> Option<Self> {
        use Operator::*;
        let is_unsigned = matches!(ty, Type::U16 | Type::U32 | Type::U64);
        let is_bits = matches!(ty, Type::B16 | Type::B32 | Type::B64);
        Some(match name {
            "eq" => Eq,
            "ne" => Ne,
            _ if is_bits => return None,
            "lt" => Lt,
            "le" => Le,
            "gt" => Gt,
            "ge" => Ge,
            "lo" if is_unsigned => Lt,
            "ls" if is_unsigned => Le,
            "hi" if is_unsigned => Gt,
            "hs" if is_unsigned => Ge,
            _ if is_float(ty) => return Self::parse_unordered(name),
            _ => return None,
        })
    }

    fn parse_unordered(name: &str) -> Option<Self> {
        use Operator::*;
        Some(match name {
            "equ" => Equ,
            "neu" => Neu,
            "ltu" => Ltu,
            "leu" => Leu,
            "gtu" => Gtu,
            "geu" => Geu,
            "num" => Num,
            "nan" => Nan,
            _ => return None,
        })
    }
}

fn is_float(ty: Type) -> bool {
    use Type::*;
    matches!(ty, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64)
}

/// Whether an operator holds between two numbers.
#[inline(always)]
pub(super) fn holds<T: PartialOrd>(operator: Operator, a: T, b: T) -> bool {
    let ordered = || a <= b || a > b;
    match operator {
        Operator::Eq => a == b,
        Operator::Ne => a != b && ordered(),
        Operator::Lt => a < b,
        Operator::Le => a <= b,
        Operator::Gt => a > b,
        Operator::Ge => a >= b,
        Operator::Equ => a == b || !ordered(),
        Operator::Neu => a != b,
        Operator::Ltu => a < b || !ordered(),
        Operator::Leu => a <= b || !ordered(),
        Operator::Gtu => a > b || !ordered(),
        Operator::Geu => a >= b || !ordered(),
        Operator::Num => ordered(),
        Operator::Nan => !ordered(),
    }
}

/// Collects one bit for each lane.
#[inline(always)]
fn bits(lane: impl Fn(usize) -> bool) -> u32 {
    (0..32).fold(0, |bits, i| bits | u32::from(lane(i)) << i)
}

/// Evaluates `$body` with the constant `$OP`, an operator.
macro_rules! each_operator {
    ($operator:expr, $OP:ident => $body:expr) => {
        compare::each_operator!($operator, $OP => $body; Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan)
    };
    ($operator:expr, $OP:ident => $body:expr; $($name:ident),+) => {
        match $operator {
            $(Operator::$name => {
                const $OP: Operator = Operator::$name;
                $body
            })+
        }
    };
}

pub(super) use each_operator;

/// `Some($body)`, where `$T` is an integer type of at least 16 bits; `b32` counts as unsigned.
macro_rules! each_whole {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty {
            Type::B16 | Type::U16 => forms::with_types!($T = u16 => $body),
            Type::S16 => forms::with_types!($T = i16 => $body),
            Type::B32 | Type::U32 => forms::with_types!($T = u32 => $body),
            Type::S32 => forms::with_types!($T = i32 => $body),
            Type::B64 | Type::U64 => forms::with_types!($T = u64 => $body),
            Type::S64 => forms::with_types!($T = i64 => $body),
            _ => None,
        }
    };
}

/// A [`Compare`] from a function of one lane's values.
macro_rules! compare {
    ($T:ty, |$a:ident, $b:ident| $f:expr) => {
        <<$T as Lane>::Register as Register>::compare(|x, y| {
            bits(|i| {
                let ($a, $b) = (<$T as Lane>::read(x[i]), <$T as Lane>::read(y[i]));
                $f
            })
        })
    };
}

/// Returns the comparison of `setp`.
pub(super) fn select(operator: &str, ty: Type, ftz: bool) -> Option<Compare> {
    let operator = Operator::parse(operator, ty)?;
    if ftz && !matches!(ty, Type::F32 | Type::F16) {
        return None;
    }
    each_whole!(ty, T => each_operator!(operator, OP => compare!(T, |a, b| holds(OP, a, b)))).or_else(|| {
        each_float!(ty, T => each_operator!(operator, OP => each_bool!(ftz, FTZ => compare!(T, |a, b| {
            holds(OP, operand::<T>(a, FTZ), operand::<T>(b, FTZ))
        }))))
    })
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};
    use proptest::prelude::*;

    use super::super::testing::{doubles, holds, integers, singles};
    use super::*;
    use std::cmp::Ordering::{self, *};

    /// The expected result of an operator for two numbers in this order.
    fn expected(operator: &str, order: Option<Ordering>) -> bool {
        let unordered = order.is_none();
        match operator {
            "eq" => order == Some(Equal),
            "ne" => matches!(order, Some(Less | Greater)),
            "lt" | "lo" => order == Some(Less),
            "le" | "ls" => matches!(order, Some(Less | Equal)),
            "gt" | "hi" => order == Some(Greater),
            "ge" | "hs" => matches!(order, Some(Greater | Equal)),
            "num" => !unordered,
            "nan" => unordered,
            _ => unordered || expected(&operator[..2], order),
        }
    }

    const ALL: [&str; 14] = [
        "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
    ];

    proptest! {
        #[test]
        fn integer_comparisons_follow_the_order(a in integers(), b in integers()) {
            let unsigned = [Type::U16, Type::U32, Type::U64].map(|ty| (ty, 64 - 8 * ty.bytes()));
            for (ty, cut) in unsigned {
                let order = Some((a << cut).cmp(&(b << cut)));
                for operator in ALL[..6].iter().copied().chain(["lo", "ls", "hi", "hs"]) {
                    prop_assert_eq!(holds(operator, ty, false, a, b), expected(operator, order));
                }
            }
            for ty in [Type::S16, Type::S32, Type::S64] {
                let cut = 64 - 8 * ty.bytes();
                let order = Some(((a << cut) as i64).cmp(&((b << cut) as i64)));
                for operator in &ALL[..6] {
                    prop_assert_eq!(holds(operator, ty, false, a, b), expected(operator, order));
                }
            }
            prop_assert_eq!(holds("eq", Type::B16, false, a, b), a as u16 == b as u16);
            prop_assert_eq!(holds("ne", Type::B32, false, a, b), a as u32 != b as u32);
            prop_assert_eq!(holds("eq", Type::B64, false, a, b), a == b);
        }

        #[test]
        fn float_comparisons_follow_the_order(a in singles(), b in singles(), c in doubles(), d in doubles()) {
            for operator in ALL {
                let of = |ty, ftz, a: u64, b: u64| holds(operator, ty, ftz, a, b);
                let (x, y) = (a.to_bits().into(), b.to_bits().into());
                prop_assert_eq!(of(Type::F32, false, x, y), expected(operator, a.partial_cmp(&b)));
                let flush = |x: f32| if x.is_subnormal() { 0.0 } else { x };
                let flushed = flush(a).partial_cmp(&flush(b));
                prop_assert_eq!(of(Type::F32, true, x, y), expected(operator, flushed));
                let double = of(Type::F64, false, c.to_bits(), d.to_bits());
                prop_assert_eq!(double, expected(operator, c.partial_cmp(&d)));
                let halves = f16::from_bits(x as u16).partial_cmp(&f16::from_bits(y as u16));
                prop_assert_eq!(of(Type::F16, false, x, y), expected(operator, halves));
                let halves = bf16::from_bits(x as u16).partial_cmp(&bf16::from_bits(y as u16));
                prop_assert_eq!(of(Type::Bf16, false, x, y), expected(operator, halves));
            }
        }
    }

    #[test]
    fn each_lane_has_its_bit() {
        let Some(Compare::W(f)) = select("lt", Type::U32, false) else {
            panic!()
        };
        let lanes = std::array::from_fn(|i| i as u32);
        assert_eq!(f(&lanes, &[5; 32]), 0b11111);
    }

    #[test]
    fn operators_that_a_type_lacks() {
        assert!(select("lt", Type::B32, false).is_none());
        assert!(select("lo", Type::S32, false).is_none());
        assert!(select("ltu", Type::S32, false).is_none());
        assert!(select("eq", Type::S32, true).is_none());
    }
}
