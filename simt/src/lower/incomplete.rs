//! Instructions with a missing modifier, and suggestions for it.

use crate::alu;
use crate::ast::{Instruction, Type};
use crate::error::Error;

use super::Lowering;
use super::modifiers::{has, mods};

/// Rounding modifiers, the most common first.
const ROUNDINGS: [&str; 4] = ["rn", "approx", "rzi", "rni"];
/// Types, the most common first.
const TYPES: [&str; 4] = ["u32", "f32", "b32", "f64"];

impl Lowering<'_> {
    /// The error of an instruction without a matching function.
    pub fn not_selected(&self, i: &Instruction) -> Error {
        if is_half_missing(i) {
            return self.unsupported(": a product of integers needs .lo, .hi or .wide");
        }
        match completed(i) {
            Some((missing, form)) => self.wrong(&format!("{missing}, as in `{form}`"), &self.form),
            None => self.unsupported(""),
        }
    }
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
