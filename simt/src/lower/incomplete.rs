//! Instructions with a missing modifier, and suggestions for it.

use crate::alu;
use crate::ast::{Instruction, Type};
use crate::error::Error;

use super::Lowering;
use super::modifiers::{has, mods};

/// Rounding modifiers, the most common first.
const ROUNDINGS: [&str; 4] = ["rn", "approx", "rzi", "rni"];
/// Opcodes whose forms with the types in `ALL` are those of PTX.
const COMPLETE: [&str; 20] = [
    "abs", "add", "and", "bfind", "brev", "clz", "cnot", "div", "max", "min", "mov", "neg", "not",
    "or", "popc", "rem", "shl", "shr", "sub", "xor",
];
/// Types of operands.
const ALL: [&str; 15] = [
    "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f16", "f16x2", "bf16",
    "bf16x2", "f32", "f64",
];
/// Opcodes that also take predicates.
const LOGIC: [&str; 5] = ["and", "mov", "not", "or", "xor"];
/// Comparisons as other languages name them, and PTX's name.
const COMPARISONS: [(&str, &str); 4] = [("gte", "ge"), ("lte", "le"), ("neq", "ne"), ("equ", "eq")];
/// Types, the most common first.
const TYPES: [&str; 4] = ["u32", "f32", "b32", "f64"];

impl Lowering<'_> {
    /// The error of an instruction whose comparison PTX does not have.
    pub fn no_comparison(&self) -> Error {
        let renamed = self.renamed_comparison();
        renamed.unwrap_or_else(|| self.unsupported(""))
    }

    /// The error of `setp.gte.u32`, which PTX calls `setp.ge.u32`.
    fn renamed_comparison(&self) -> Option<Error> {
        COMPARISONS.iter().find_map(|(other, name)| {
            let [other, name] = [other, name].map(|name| format!(".{name}."));
            let form = self.form.replace(&other, &name);
            (form != self.form).then(|| self.wrong(&format!("`{form}`"), &self.form))
        })
    }

    /// The error of an instruction without a matching function.
    pub fn not_selected(&self, i: &Instruction) -> Error {
        if is_half_missing(i) {
            return self.unsupported(": a product of integers needs .lo, .hi or .wide");
        }
        if let Some(error) = self.renamed_comparison() {
            return error;
        }
        match completed(i) {
            Some((missing, form)) => self.wrong(&format!("{missing}, as in `{form}`"), &self.form),
            None => match other_types(i) {
                Some(types) => self.wrong(&types, &self.form),
                None => self.unsupported(""),
            },
        }
    }
}

/// The types that an instruction takes whose type alone is wrong: `` .b16, .b32 or .b64, the types of `shl` in PTX ``.
fn other_types(i: &Instruction) -> Option<String> {
    let all = mods(i);
    let (last, others) = all.split_last()?;
    if !COMPLETE.contains(&&*i.opcode) || !ALL.contains(last) {
        return None;
    }
    let takes = |ty: &&&str| {
        let all: Vec<&str> = others.iter().copied().chain([**ty]).collect();
        alu::select(&i.opcode, &all).is_some()
    };
    let pred = LOGIC.contains(&&*i.opcode).then_some(&"pred");
    let taken: Vec<String> = ALL
        .iter()
        .filter(takes)
        .chain(pred)
        .map(|ty| format!(".{ty}"))
        .collect();
    let (end, begin) = taken.split_last()?;
    let types = if begin.is_empty() {
        end.clone()
    } else {
        format!("{} or {end}", begin.join(", "))
    };
    let opcode = std::iter::once(&*i.opcode);
    let form: Vec<&str> = opcode.chain(others.iter().copied()).collect();
    Some(format!("{types}, the types of `{}` in PTX", form.join(".")))
}

/// Whether an integer product lacks `.lo`, `.hi` or `.wide`.
fn is_half_missing(i: &Instruction) -> bool {
    let any = |of: &[&str]| of.iter().any(|name| has(i, name));
    let is_product = matches!(&*i.opcode, "mul" | "mad");
    let is_integer = any(&["u16", "s16", "u32", "s32", "u64", "s64"]);
    is_product && is_integer && !any(&["lo", "hi", "wide"])
}

/// Returns the missing modifier of an instruction and the complete form.
fn completed(i: &Instruction) -> Option<(&'static str, String)> {
    let has_type = i.mods.last().is_some_and(|m| Type::parse(m).is_some());
    let types: Vec<Option<&str>> = if has_type {
        vec![None]
    } else {
        TYPES.map(Some).into()
    };
    let roundings = || std::iter::once(None).chain(ROUNDINGS.map(Some));
    let both = roundings().flat_map(|rounding| types.iter().map(move |ty| (rounding, *ty)));
    for (rounding, ty) in both {
        let all: Vec<&str> = rounding.into_iter().chain(mods(i)).chain(ty).collect();
        if alu::select(&i.opcode, &all).is_some() {
            let missing = match (rounding, ty) {
                (Some(_), Some(_)) => "a rounding modifier and a type",
                (Some("approx"), None) => "`.approx`",
                (Some(_), None) => "a rounding modifier",
                (None, _) => "a type",
            };
            return Some((missing, format!("{}.{}", i.opcode, all.join("."))));
        }
    }
    None
}
