//! `slct`, `testp`, and the forms of `set` that need a predicate and a selection.

use crate::alu::{self, Compare};
use crate::ast::{Immediate, Instruction, Operand, Type};
use crate::code::{Op, Reg};
use crate::error::Result;

use super::Lowering;
use super::modifiers::has;
use super::predicates::logic;
use super::registers::Width;

impl Lowering<'_> {
    /// `slct.f32.s32 d, a, b, c`: a where c >= 0, otherwise b.
    pub fn slct(&mut self, i: &Instruction) -> Result<()> {
        let [d, a, b, c] = self.operands::<4>(i)?;
        let of_c = self.last_type(i)?;
        let ty = i.mods.iter().rev().nth(1).and_then(|m| Type::parse(m));
        let ftz = has(i, "ftz");
        let known = matches!(of_c, Type::S32 | Type::F32) && i.mods.len() == 2 + usize::from(ftz);
        let (Some(ty), true) = (ty.filter(|ty| ty.bytes() > 1), known) else {
            return Err(self.unsupported(""));
        };
        let zero = Operand::Immediate(Immediate::Int(0));
        let p = self.compared("ge", of_c, ftz, [c, &zero], None)?;
        let width = Width::of(ty);
        let (a, b) = (self.source(width, a, ty)?, self.source(width, b, ty)?);
        let d = self.destination(width, d)?;
        self.emit_only(Op::Selp { d, a, b, p })
    }

    /// Whether a `set` compares 64-bit values or has a predicate operand.
    pub fn is_set_by_predicate(&self, i: &Instruction) -> bool {
        let from = i.mods.last().and_then(|m| Type::parse(m));
        i.operands.len() == 4 || from.is_some_and(|ty| ty.bytes() == 8)
    }

    /// `set.lt.and.u32.f64 d, a, b, c`
    pub fn set_by_predicate(&mut self, i: &Instruction) -> Result<()> {
        let from = self.last_type(i)?;
        let to = i.mods.iter().rev().nth(1).and_then(|m| Type::parse(m));
        let one = match to {
            Some(Type::U32 | Type::S32) => u32::MAX,
            Some(Type::F32) => 1f32.to_bits(),
            _ => return Err(self.unsupported("")),
        };
        let ([d, a, b], more) = self.operands_and_more::<3>(i)?;
        let operator = i.mods.first().map_or("", String::as_str);
        let p = self.compared(operator, from, has(i, "ftz"), [a, b], Some((i, more)))?;
        let [a, b] = [one, 0].map(|value| self.registers.number(Width::Word, value.into()));
        let d = self.destination(Width::Word, d)?;
        self.emit_only(Op::Selp { d, a, b, p })
    }

    /// A new predicate with the result of a comparison, combined with another predicate as in `setp`.
    fn compared(
        &mut self,
        operator: &str,
        ty: Type,
        ftz: bool,
        [a, b]: [&Operand; 2],
        more: Option<(&Instruction, &[Operand])>,
    ) -> Result<Reg> {
        let Some(compare) = alu::compare(operator, ty, ftz) else {
            return Err(self.no_comparison());
        };
        let named = more.and_then(|(i, _)| i.mods.iter().find_map(|m| logic(m)));
        let combine = match (named, more.map_or(&[][..], |(_, rest)| rest)) {
            (Some(logic), [c]) => Some(self.condition(c)?).map(|(c, negated)| (logic, c, negated)),
            (None, []) => None,
            _ => return Err(self.unsupported(": a predicate and how it is combined go together")),
        };
        let width = match compare {
            Compare::W(_) => Width::Word,
            Compare::D(_) => Width::Double,
        };
        let (a, b) = (self.source(width, a, ty)?, self.source(width, b, ty)?);
        let p = self.registers.new_preds(1);
        self.emit(Op::Setp {
            compare,
            d: (Some(p), None),
            a,
            b,
            combine,
        });
        Ok(p)
    }

    /// `testp.finite.f32 p, a`
    pub fn testp(&mut self, i: &Instruction) -> Result<()> {
        let [p, a] = self.operands::<2>(i)?;
        let ty = self.last_type(i)?;
        let [name, _] = &i.mods[..] else {
            return Err(self.unsupported(""));
        };
        let Some(compare) = alu::test(name, ty) else {
            return Err(self.unsupported(""));
        };
        let a = self.source(Width::of(ty), a, ty)?;
        let d = (self.pred_destination(p)?, None);
        self.emit_only(Op::Setp {
            compare,
            d,
            a,
            b: a,
            combine: None,
        })
    }
}
