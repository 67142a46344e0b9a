//! `testp`: the class of a float.

use super::{Compare, D, W};
use crate::ast::Type;

/// Collects one bit for each lane whose value has a property.
fn lanes<T: Copy>(values: &[T; 32], has: impl Fn(T) -> bool) -> u32 {
    let bit = |(lane, &value): (usize, &T)| u32::from(has(value)) << lane;
    values.iter().enumerate().map(bit).fold(0, |a, b| a | b)
}

/// A property of f32 and f64.
macro_rules! property {
    ($ty:expr, |$x:ident| $holds:expr) => {
        match $ty {
            Type::F32 => Some(Compare::W(|a: &W, _: &W| {
                lanes(a, |bits| {
                    let $x = f32::from_bits(bits);
                    $holds
                })
            })),
            Type::F64 => Some(Compare::D(|a: &D, _: &D| {
                lanes(a, |bits| {
                    let $x = f64::from_bits(bits);
                    $holds
                })
            })),
            _ => None,
        }
    };
}

/// Returns the property of this name, as a comparison that ignores its second operand. Zeros count as normal.
pub(super) fn select(name: &str, ty: Type) -> Option<Compare> {
    match name {
        "finite" => property!(ty, |x| x.is_finite()),
        "infinite" => property!(ty, |x| x.is_infinite()),
        "number" => property!(ty, |x| !x.is_nan()),
        "notanumber" => property!(ty, |x| x.is_nan()),
        "normal" => property!(ty, |x| x.is_normal() || x == 0.0),
        "subnormal" => property!(ty, |x| x.is_subnormal()),
        _ => None,
    }
}
