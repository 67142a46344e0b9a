//! Mutations of guards: `@%p`.

use super::{Change, Site};
use crate::ast::Instruction;

/// `@%p st …` → `st …`
///
/// Guards of branches, too: an endless loop, or a body that all lanes skip.
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

/// Deletes `@%p bra …`.
pub fn drop_branch(site: &Site) -> Vec<Change> {
    let i = site.instruction;
    if i.guard.is_some() && i.opcode == "bra" {
        vec![Change::Dropped]
    } else {
        vec![]
    }
}
