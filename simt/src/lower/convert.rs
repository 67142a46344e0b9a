//! `cvt`, whose registers may be wider than its types.

use crate::alu::{self, Alu, Selected};
use crate::ast::{Instruction, Operand, Type};
use crate::code::{Op, Slot};
use crate::error::Result;

use super::Lowering;
use super::arithmetic::{is_signed, widths};
use super::lanewise;
use super::names::Binding;
use super::registers::Width;

impl Lowering<'_> {
    /// `cvt.rn.f32.s32 d, a`, `cvt.rn.bf16x2.f32 d, a, b`
    pub fn cvt(&mut self, i: &Instruction) -> Result<()> {
        let Selected { alu, ty, flops } = self.select(i)?;
        let (to, widths) = widths(alu);
        let (d, operands) = self.operands_and_more::<1>(i)?;
        if operands.len() != widths.len() {
            return Err(self.count_error(widths.len() + 1, i.operands.len()));
        }
        let mut from = Vec::new();
        for (width, operand) in widths.iter().zip(operands) {
            from.push(self.cvt_source(*width, operand, ty)?);
        }
        if let (Width::Word, Some((wide, declared))) = (to, self.written(&d[0])?) {
            let word = self.word_for(wide);
            self.emit(Op::Alu {
                alu,
                d: word,
                from,
                flops,
            });
            self.extend(i, word, wide, declared);
            return Ok(());
        }
        let d = self.destination(to, &d[0])?;
        self.emit_only(Op::Alu {
            alu,
            d,
            from,
            flops,
        })
    }

    /// The source of `cvt`; `cvt.u32.u16` may read the low half of a 64-bit register.
    fn cvt_source(&mut self, width: Width, operand: &Operand, ty: Type) -> Result<Slot> {
        match (width, self.binding(operand)) {
            (Width::Word, Some(Binding::Register(wide @ Slot::Double(_), _))) => {
                let word = self.word_for(wide);
                self.emit_alu(Alu::DtoW(alu::low), word, vec![wide]);
                Ok(word)
            }
            _ => self.source(width, operand, ty),
        }
    }

    /// Returns the word itself, or for a double a new word.
    fn word_for(&mut self, slot: Slot) -> Slot {
        match slot {
            Slot::Word(_) => slot,
            Slot::Double(_) => Slot::Word(self.registers.new_word()),
        }
    }

    /// Fills a register that is wider than the result, which is in a word: `cvt.s16.s8` may write a 32-bit or
    /// 64-bit register.
    fn extend(&mut self, i: &Instruction, word: Slot, wide: Slot, declared: Type) {
        let to = i.mods.iter().find_map(|m| Type::parse(m));
        let signed = to.is_some_and(is_signed);
        if signed && declared.bytes() > 2 && to.is_some_and(|ty| ty.bytes() <= 2) {
            self.emit_alu(Alu::W(lanewise::extend16), word, vec![word]);
        }
        match wide {
            Slot::Word(_) => {}
            _ if signed => self.emit_alu(Alu::WtoD(lanewise::widen_signed), wide, vec![word]),
            _ => self.emit_alu(Alu::WtoD(lanewise::widen), wide, vec![word]),
        }
    }
}
