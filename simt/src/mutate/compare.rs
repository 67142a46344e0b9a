//! Mutations of comparisons: `setp.lt.u32 %p, a, b`.

use super::{Change, Site};
use crate::ast::Instruction;

/// Comparisons and their opposites; those with `u` are true if an operand is NaN.
const OPPOSITES: &[(&str, &str)] = &[
    ("eq", "ne"),
    ("lt", "ge"),
    ("le", "gt"),
    ("lo", "hs"),
    ("ls", "hi"),
    ("equ", "neu"),
    ("ltu", "geu"),
    ("leu", "gtu"),
];

/// Strict comparisons and their inclusive forms.
const BOUNDS: &[(&str, &str)] = &[("lt", "le"), ("gt", "ge"), ("lo", "ls"), ("hi", "hs")];

/// `lt` → `ge`
pub fn flip(site: &Site) -> Vec<Change> {
    replace(site.instruction, OPPOSITES)
}

/// `lt` → `le`, for integers only: floats rarely equal their bound.
pub fn off_by_one(site: &Site) -> Vec<Change> {
    let i = site.instruction;
    let is_integer = |ty: &String| ty.starts_with(['u', 's']);
    if i.mods.last().is_some_and(is_integer) {
        replace(i, BOUNDS)
    } else {
        vec![]
    }
}

/// Replaces a comparison by its partner.
fn replace(i: &Instruction, pairs: &[(&str, &str)]) -> Vec<Change> {
    let Some(was) = i
        .mods
        .first()
        .filter(|_| matches!(i.opcode.as_str(), "setp" | "set"))
    else {
        return vec![];
    };
    let other = pairs.iter().find_map(|&(a, b)| match was.as_str() {
        x if x == a => Some(b),
        x if x == b => Some(a),
        _ => None,
    });
    let changed = |name: &str| {
        let mut now = i.clone();
        now.mods[0] = name.into();
        now.into()
    };
    other.map(changed).into_iter().collect()
}
