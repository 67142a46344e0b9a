//! `atom` and `red`.

use crate::ast::{Instruction, Operand, Space, Type};
use crate::code::{Atomic, Op};
use crate::error::Result;

use super::Lowering;
use super::modifiers::{has, is_cache_hint, scope, space};
use super::registers::Width;

/// The update of this name.
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

/// Whether a modifier changes nothing but what is looked at here.
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
        if has(i, "async") {
            return Err(self.unsupported(": this machine has no barriers in memory"));
        }
        if ["v2", "v4", "v8"].iter().any(|vector| has(i, vector)) {
            return Err(self.unsupported(": vectors of atomic updates"));
        }
        let ty = self.last_type(i)?;
        if !i.mods.iter().all(|m| is_known(m, ty)) {
            return Err(self.unsupported(""));
        }
        let Some(atomic) = i.mods.iter().find_map(|m| update(m, ty)) else {
            return Err(self.unsupported(""));
        };
        let (d, operands) = match i.opcode.as_str() {
            "atom" => (i.operands.first(), i.operands.get(1..).unwrap_or_default()),
            _ => (None, i.operands.as_slice()),
        };
        let d = match d {
            Some(Operand::Name(name)) if name == "_" => None,
            Some(d) => Some(self.destination(Width::of(ty), d)?),
            None => None,
        };
        let space = i
            .mods
            .iter()
            .find_map(|m| space(m))
            .unwrap_or(Space::Generic);
        let (at, from) = self.atomic_operands(atomic, space, operands, ty)?;
        let ordered = ["acq_rel", "acquire", "release"]
            .iter()
            .any(|order| has(i, order));
        self.emit(Op::Atomic {
            d,
            atomic,
            at,
            from,
            bytes: ty.bytes(),
            ordered,
        });
        Ok(())
    }

    fn atomic_operands(
        &mut self,
        atomic: Atomic,
        space: Space,
        operands: &[Operand],
        ty: Type,
    ) -> Result<(crate::code::Address, Vec<crate::code::Slot>)> {
        let count = if atomic == Atomic::Cas { 2 } else { 1 };
        if operands.len() <= count {
            return Err(self.count_error(count + 1, operands.len()));
        }
        let at = self.address(space, &operands[0])?;
        let values = operands[1..=count]
            .iter()
            .map(|value| self.source(Width::of(ty), value, ty));
        Ok((at, values.collect::<Result<_>>()?))
    }
}
