//! Instructions that read or write predicates.

use crate::alu::{self, Compare};
use crate::ast::{Instruction, Operand, Space, Type};
use crate::code::{Logic, Op, Reg, Slot};
use crate::error::Result;

use super::Lowering;
use super::lanewise;
use super::modifiers::has;
use super::operands::Condition;
use super::registers::Width;

/// `.and`, `.or`, `.xor`.
pub(super) fn logic(name: &str) -> Option<Logic> {
    Some(match name {
        "and" => Logic::And,
        "or" => Logic::Or,
        "xor" => Logic::Xor,
        _ => return None,
    })
}

impl Lowering<'_> {
    /// `setp.lt.and.ftz.f32 p|q, a, b, c`
    pub fn setp(&mut self, i: &Instruction) -> Result<()> {
        let ty = self.last_type(i)?;
        let operator = i.mods.first().map_or("", String::as_str);
        let Some(compare) = alu::compare(operator, ty, has(i, "ftz")) else {
            return Err(self.no_comparison());
        };
        let ([d, a, b], more) = self.operands_and_more::<3>(i)?;
        let combine = match (i.mods.iter().find_map(|m| logic(m)), more) {
            (Some(logic), [c]) => Some(self.condition(c)?).map(|(c, negated)| (logic, c, negated)),
            (None, []) => None,
            (found, _) => return Err(self.count_error(3 + found.iter().len(), i.operands.len())),
        };
        let width = match compare {
            Compare::W(_) => Width::Word,
            Compare::D(_) => Width::Double,
        };
        let (a, b) = (self.source(width, a, ty)?, self.source(width, b, ty)?);
        let d = self.pred_destinations(d)?;
        self.emit(Op::Setp {
            compare,
            d,
            a,
            b,
            combine,
        });
        Ok(())
    }

    /// `p|q`, or `p` alone.
    fn pred_destinations(&mut self, operand: &Operand) -> Result<(Option<Reg>, Option<Reg>)> {
        match operand {
            Operand::Pair(p, q) => Ok((self.pred_destination(p)?, self.pred_destination(q)?)),
            p => Ok((self.pred_destination(p)?, None)),
        }
    }

    /// A destination predicate; for `_` an unused one.
    fn pred_or_unread(&mut self, operand: &Operand) -> Result<Reg> {
        match self.pred_destination(operand)? {
            Some(reg) => Ok(reg),
            None => Ok(self.registers.new_preds(1)),
        }
    }

    /// `selp.f32 d, a, b, p`
    pub fn selp(&mut self, i: &Instruction) -> Result<()> {
        let ty = self.last_type(i)?;
        let [d, a, b, p] = self.operands::<4>(i)?;
        let width = Width::of(ty);
        let (a, b) = (self.source(width, a, ty)?, self.source(width, b, ty)?);
        let (p, negated) = self.condition(p)?;
        let (a, b) = if negated { (b, a) } else { (a, b) };
        let d = self.destination(width, d)?;
        self.emit(Op::Selp { d, a, b, p });
        Ok(())
    }

    /// `and.pred d, a, b`
    pub fn logic(&mut self, i: &Instruction) -> Result<()> {
        let [d, a, b] = self.operands::<3>(i)?;
        let Some(logic) = logic(&i.opcode) else {
            return Err(self.unsupported(""));
        };
        let (a, b) = (self.pred_source(a)?, self.pred_source(b)?);
        let d = self.pred_or_unread(d)?;
        self.emit(Op::Logic { logic, d, a, b });
        Ok(())
    }

    /// `not.pred d, a`
    pub fn not_pred(&mut self, i: &Instruction) -> Result<()> {
        let [d, a] = self.operands::<2>(i)?;
        let (a, negated) = self.condition(a)?;
        let d = self.pred_or_unread(d)?;
        self.emit_copy(d, (a, !negated));
        Ok(())
    }

    /// `mov.pred d, a`
    pub fn mov_pred(&mut self, i: &Instruction) -> Result<()> {
        let [d, a] = self.operands::<2>(i)?;
        let d = self.pred_or_unread(d)?;
        match a {
            Operand::Immediate(crate::ast::Immediate::Int(value)) => {
                self.emit(Op::PredConstant {
                    d,
                    value: *value != 0,
                });
            }
            Operand::Name(name) if name == "%is_explicit_cluster" => self.emit_is_explicit(d),
            _ => {
                let condition = self.condition(a)?;
                self.emit_copy(d, condition);
            }
        }
        Ok(())
    }

    /// A predicate register with the operand's value, negated if necessary.
    fn pred_source(&mut self, operand: &Operand) -> Result<Reg> {
        let (reg, negated) = self.condition(operand)?;
        if !negated {
            return Ok(reg);
        }
        let d = self.registers.new_preds(1);
        self.emit_copy(d, (reg, true));
        Ok(d)
    }

    /// Emits d = a or d = !a; the latter is `true and !a`.
    fn emit_copy(&mut self, d: Reg, (a, negated): Condition) {
        if !negated {
            self.emit(Op::Logic {
                logic: Logic::And,
                d,
                a,
                b: a,
            });
            return;
        }
        let zero = Slot::Word(self.registers.word(0));
        self.emit(Op::Setp {
            compare: Compare::W(lanewise::always),
            d: (Some(d), None),
            a: zero,
            b: zero,
            combine: Some((Logic::And, a, true)),
        });
    }

    /// `isspacep.shared p, a`: whether an address is in a window.
    pub fn isspacep(&mut self, i: &Instruction) -> Result<()> {
        let [p, a] = self.operands::<2>(i)?;
        let space = i.mods.first().and_then(|m| super::modifiers::space(m));
        let (compare, window) = match space.map(super::spaces::window) {
            Some(Some(window)) if space == Some(Space::Shared) => {
                (lanewise::in_own_window as fn(&_, &_) -> _, window)
            }
            Some(Some(window)) => (lanewise::in_window as fn(&_, &_) -> _, window),
            Some(None) => (
                lanewise::behind_window as fn(&_, &_) -> _,
                crate::code::PARAM_WINDOW,
            ),
            None => return Err(self.unsupported(": this machine has no such space")),
        };
        let a = self.source(Width::Double, a, Type::U64)?;
        let b = Slot::Double(self.registers.double(window));
        let d = (self.pred_destination(p)?, None);
        self.emit(Op::Setp {
            compare: Compare::D(compare),
            d,
            a,
            b,
            combine: None,
        });
        Ok(())
    }
}
