//! Mistakes in predicates: `@%p`.

use super::{Change, Site};
use crate::ast::Instruction;

/// `@%p st …` → `st …`
///
/// Of a branch too: a loop without an end, a body that all skip.
pub fn drop(site: &Site) -> Vec<Change> {
    let i = site.instruction;
    let without = |_| {
        let guard = None;
        Instruction { guard, ..i.clone() }.into()
    };
    i.guard.iter().map(without).collect()
}

/// `@%p st …` → `@!%p st …`
pub fn negate(site: &Site) -> Vec<Change> {
    let i = site.instruction;
    let negated = |(p, not): &(String, bool)| {
        let guard = Some((p.clone(), !not));
        Instruction { guard, ..i.clone() }.into()
    };
    i.guard.iter().map(negated).collect()
}

/// Nothing in the place of `@%p bra …`
pub fn drop_branch(site: &Site) -> Vec<Change> {
    let i = site.instruction;
    if i.guard.is_some() && i.opcode == "bra" {
        vec![Change::Dropped]
    } else {
        vec![]
    }
}
