//! Helpers of this folder's tests, which run a form on one value per operand.

use proptest::prelude::*;

use super::{Alu, Compare, W, compare, select};
use crate::ast::Type;

/// Returns the result of an instruction in the last lane; the operands are in all lanes but the first, which
/// has zeros.
pub(super) fn run(form: &str, operands: &[u64]) -> u64 {
    let mut parts = form.split('.');
    let opcode = parts.next().unwrap();
    let mods: Vec<&str> = parts.collect();
    let selected = select(opcode, &mods).unwrap_or_else(|| panic!("{form} is not there"));
    let w = |i: usize| -> W {
        std::array::from_fn(|lane| if lane == 0 { 0 } else { operands[i] as u32 })
    };
    let d = |i: usize| -> [u64; 32] {
        std::array::from_fn(|lane| if lane == 0 { 0 } else { operands[i] })
    };
    let same = |words: W| u64::from(words[31]);
    match selected.alu {
        Alu::W(f) => same(f(&w(0))),
        Alu::WW(f) => same(f(&w(0), &w(1))),
        Alu::WWW(f) => same(f(&w(0), &w(1), &w(2))),
        Alu::WWWW(f) => same(f(&w(0), &w(1), &w(2), &w(3))),
        Alu::D(f) => f(&d(0))[31],
        Alu::DD(f) => f(&d(0), &d(1))[31],
        Alu::DDD(f) => f(&d(0), &d(1), &d(2))[31],
        Alu::WtoD(f) => f(&w(0))[31],
        Alu::WWtoD(f) => f(&w(0), &w(1))[31],
        Alu::WWDtoD(f) => f(&w(0), &w(1), &d(2))[31],
        Alu::DtoW(f) => same(f(&d(0))),
        Alu::DWtoD(f) => f(&d(0), &w(1))[31],
        Alu::DWWtoD(f) => f(&d(0), &w(1), &w(2))[31],
        Alu::DDWWtoD(f) => f(&d(0), &d(1), &w(2), &w(3))[31],
    }
}

/// The same for f32, with operands and result as numbers.
pub(super) fn run32(form: &str, operands: &[f32]) -> f32 {
    let bits: Vec<u64> = operands.iter().map(|x| x.to_bits().into()).collect();
    f32::from_bits(run(form, &bits) as u32)
}

/// The same for f64.
pub(super) fn run64(form: &str, operands: &[f64]) -> f64 {
    let bits: Vec<u64> = operands.iter().map(|x| x.to_bits()).collect();
    f64::from_bits(run(form, &bits))
}

/// Whether a comparison holds.
pub(super) fn holds(operator: &str, ty: Type, ftz: bool, a: u64, b: u64) -> bool {
    let mask = match compare(operator, ty, ftz)
        .unwrap_or_else(|| panic!("{operator} of {ty:?} is not there"))
    {
        Compare::W(f) => f(&[a as u32; 32], &[b as u32; 32]),
        Compare::D(f) => f(&[a; 32], &[b; 32]),
    };
    assert!(mask == 0 || mask == !0);
    mask != 0
}

/// Integers, many of them at the ends of the ranges.
pub(super) fn integers() -> impl Strategy<Value = u64> {
    let edges = vec![
        0,
        1,
        2,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
    ];
    let long = vec![
        1 << 32,
        i64::MAX as u64,
        1 << 63,
        !0,
        !0 - 1,
        !0x7fff,
        !0x7fff_ffff,
    ];
    prop_oneof![
        proptest::sample::select(edges),
        proptest::sample::select(long),
        any::<u64>(),
        0u64..300
    ]
}

/// f32 numbers, many of them special values or of similar size.
pub(super) fn singles() -> impl Strategy<Value = f32> {
    let edges = vec![
        0,
        1,
        0x7f_ffff,
        0x80_0000,
        0x3f80_0000,
        0x3f80_0001,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_0000,
    ];
    let sign = any::<bool>().prop_map(|s| if s { 1u32 << 31 } else { 0 });
    let edge = (proptest::sample::select(edges), sign).prop_map(|(x, s)| x | s);
    let similar = any::<u32>().prop_map(|x| x & 0x83ff_ffff | 0x3c00_0000);
    prop_oneof![1 => edge, 2 => any::<u32>(), 2 => similar].prop_map(f32::from_bits)
}

/// f64 numbers of the same kinds.
pub(super) fn doubles() -> impl Strategy<Value = f64> {
    let similar = any::<u64>()
        .prop_map(|x| f64::from_bits(x & 0x803f_ffff_ffff_ffff | 0x3fc0_0000_0000_0000));
    let edges = vec![
        0.0,
        5e-324,
        f64::MIN_POSITIVE,
        1.0,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
    ];
    let edge =
        (proptest::sample::select(edges), any::<bool>()).prop_map(|(x, s)| if s { -x } else { x });
    prop_oneof![1 => edge, 2 => any::<u64>().prop_map(f64::from_bits), 2 => similar, 2 => singles().prop_map(f64::from)]
}
