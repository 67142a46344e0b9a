//! `atom` and `red`.

use crate::ast::{Instruction, Operand, Type};
use crate::code::{Atomic, Op, Slot};
use crate::error::Result;

use super::Lowering;
use super::modifiers::{has, is_cache_hint, scope, space, space_of};
use super::registers::Width;

/// Returns the update of this name.
pub(super) fn update(name: &str, ty: Type) -> Option<Atomic> {
    Some(match name {
        "add" => Atomic::Add(ty),
        "min" => Atomic::Min(ty),
        "max" => Atomic::Max(ty),
        "and" => Atomic::And,
        "or" => Atomic::Or,
        "xor" => Atomic::Xor,
        "exch" => Atomic::Exch,
        "cas" => Atomic::Cas,
        "inc" => Atomic::Inc,
        "dec" => Atomic::Dec,
        _ => return None,
    })
}

fn is_float(ty: Type) -> bool {
    use Type::{Bf16, Bf16x2, F16, F16x2, F32, F64};
    matches!(ty, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64)
}

/// Whether a modifier has no effect in this machine or is handled elsewhere.
fn is_known(name: &str, ty: Type) -> bool {
    let others = ["relaxed", "acquire", "release", "acq_rel", "noftz"];
    others.contains(&name)
        || Type::parse(name).is_some()
        || update(name, ty).is_some()
        || space(name).is_some()
        || scope(name).is_some()
        || is_cache_hint(name)
}

impl Lowering<'_> {
    /// `atom.global.add.u32 d, [a], b`, `red.global.add.u32 [a], b`
    pub fn atomic(&mut self, i: &Instruction) -> Result<()> {
        let ty = self.last_type(i)?;
        let atomic = self.update(i, ty)?;
        let (d, operands) = match i.operands.as_slice() {
            [d, operands @ ..] if i.opcode == "atom" => (self.old_value(d, ty)?, operands),
            operands => (None, operands),
        };
        let values = if atomic == Atomic::Cas { 2 } else { 1 };
        if operands.len() <= values {
            return Err(self.count_error(values + 1, operands.len()));
        }
        let at = self.address(space_of(i), &operands[0])?;
        let mut from = Vec::new();
        for value in &operands[1..=values] {
            from.push(self.source(Width::of(ty), value, ty)?);
        }
        let ordered = ["acq_rel", "acquire", "release"]
            .iter()
            .any(|order| has(i, order));
        self.emit_only(Op::Atomic {
            d,
            atomic,
            at,
            from,
            bytes: ty.bytes(),
            ordered,
        })
    }

    /// Returns the update of an instruction.
    fn update(&self, i: &Instruction, ty: Type) -> Result<Atomic> {
        if has(i, "async") {
            return Err(self.unsupported(": this machine has no asynchronous atomics"));
        }
        if ["v2", "v4", "v8"].iter().any(|vector| has(i, vector)) {
            return Err(self.unsupported(": vectors of atomic updates"));
        }
        let known = i.mods.iter().all(|m| is_known(m, ty));
        let update = i.mods.iter().find_map(|m| update(m, ty));
        if matches!(update, Some(Atomic::Min(_) | Atomic::Max(_))) && is_float(ty) {
            return Err(self.unsupported(": min and max are for integers only"));
        }
        update.filter(|_| known).ok_or_else(|| self.unsupported(""))
    }

    /// Destination of the old value; `None` for `_`.
    fn old_value(&mut self, d: &Operand, ty: Type) -> Result<Option<Slot>> {
        match self.written(d)? {
            None => Ok(None),
            Some(_) => self.destination(Width::of(ty), d).map(Some),
        }
    }
}
