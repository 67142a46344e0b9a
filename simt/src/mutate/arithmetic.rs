//! Mutations of computations.

use super::{Change, Site};
use crate::ast::{Immediate, Instruction, Operand};

/// Operations whose two sources are not interchangeable.
const ORDERED: &[&str] = &["sub", "div", "rem", "shl", "shr", "selp"];
/// Operations whose two sources are interchangeable; the mutant uses one of them twice.
const UNORDERED: &[&str] = &["add", "mul", "min", "max", "and", "or", "xor"];
/// a·b + c
const PRODUCT_AND_SUM: &[&str] = &["fma", "mad"];

/// a − b → b − a; a + b → a + a; a·b + c → a·c + b.
pub fn operand(site: &Site) -> Vec<Change> {
    let i = site.instruction;
    let is = |list: &[&str]| list.contains(&i.opcode.as_str());
    // `mul.wide` and `mad.wide` have an addend of another size, and shifts an amount of another type.
    let is_wide = site.has("wide");
    let mut now = i.clone();
    match i.operands.len() {
        3.. if is(ORDERED) => now.operands.swap(1, 2),
        3 if is(UNORDERED) => now.operands[2] = now.operands[1].clone(),
        4 if is(PRODUCT_AND_SUM) && !is_wide => now.operands.swap(2, 3),
        _ => return vec![],
    }
    if now == *i { vec![] } else { vec![now.into()] }
}

/// Operations and what replaces them.
const NEIGHBOURS: &[(&str, &str)] = &[
    ("add", "sub"),
    ("sub", "add"),
    ("min", "max"),
    ("max", "min"),
    ("and", "or"),
    ("or", "and"),
    ("shl", "shr"),
    ("shr", "shl"),
    ("neg", "mov"),
    ("div", "mul"),
];

/// a + b → a − b, max → min …; a float product becomes a sum, and the sum in `fma` a difference.
pub fn operation(site: &Site) -> Vec<Change> {
    let i = site.instruction;
    let ty = i.mods.last().map_or("", String::as_str);
    let mut now = i.clone();
    if let Some((_, other)) = NEIGHBOURS.iter().find(|(was, _)| *was == i.opcode) {
        now.opcode = (*other).into();
        now.mods = mods(i, other, ty);
    } else if i.opcode == "mul" && ty == "f32" {
        now.opcode = "add".into();
    } else {
        return vec![];
    }
    if sum_with_nothing(i) {
        vec![]
    } else {
        vec![now.into()]
    }
}

/// The modifiers of the replacement.
fn mods(i: &Instruction, other: &str, ty: &str) -> Vec<String> {
    let integer = ty.starts_with(['u', 's', 'b']);
    match other {
        "mov" => vec![ty.into()],
        "mul" if integer => vec!["lo".into(), ty.into()],
        "mul" => i.mods.iter().filter(|m| *m != "full").cloned().collect(),
        // `shl` takes untyped bits, without a sign.
        "shl" => vec![format!("b{}", &ty[1..])],
        _ => i.mods.clone(),
    }
}

/// Whether a source is 0, so that a sum and a difference are equal.
fn sum_with_nothing(i: &Instruction) -> bool {
    let is_zero = |o: &Operand| match o {
        Operand::Immediate(Immediate::Int(x)) => *x == 0,
        Operand::Immediate(Immediate::F32(bits)) => bits << 1 == 0,
        _ => false,
    };
    i.operands.iter().skip(2).any(is_zero)
}

/// Operations whose constants are sizes, steps, masks or factors.
const WITH_CONSTANTS: &[&str] = &[
    "add", "sub", "mul", "mad", "fma", "div", "rem", "shl", "shr", "and", "or", "xor", "min",
    "max", "mov", "selp",
];

/// Increments an integer and doubles a float; 0.0 becomes 1, and ∞ becomes 0.
pub fn constant(site: &Site) -> Vec<Change> {
    let i = site.instruction;
    if !WITH_CONSTANTS.contains(&i.opcode.as_str()) {
        return vec![];
    }
    let changed = |(index, operand): (usize, &Operand)| {
        let Operand::Immediate(value) = operand else {
            return None;
        };
        let mut now = i.clone();
        now.operands[index] = Operand::Immediate(another(*value)?);
        Some(now.into())
    };
    i.operands
        .iter()
        .enumerate()
        .skip(1)
        .filter_map(changed)
        .collect()
}

fn another(value: Immediate) -> Option<Immediate> {
    Some(match value {
        Immediate::Int(x) => Immediate::Int(x + 1),
        Immediate::F32(bits) => {
            let x = f32::from_bits(bits);
            let x = match x {
                0. => 1.,
                x if x.is_nan() => return None,
                x if x.is_infinite() => 0.,
                x => 2. * x,
            };
            Immediate::F32(x.to_bits())
        }
        Immediate::F64(_) => return None,
    })
}
