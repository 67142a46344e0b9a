//! Instructions that are functions of registers, lane by lane.

use crate::alu::{self, Alu, Selected};
use crate::ast::{Instruction, Operand, Type};
use crate::code::{Op, Slot};
use crate::error::Result;

use super::Lowering;
use super::lanewise;
use super::modifiers::mods;
use super::names::Binding;
use super::registers::Width;

use Width::{Double as D, Word as W};

/// The width of what a function writes, and of what it reads.
fn widths(alu: Alu) -> (Width, &'static [Width]) {
    match alu {
        Alu::W(_) => (W, &[W]),
        Alu::WW(_) => (W, &[W, W]),
        Alu::WWW(_) => (W, &[W, W, W]),
        Alu::WWWW(_) => (W, &[W, W, W, W]),
        Alu::D(_) => (D, &[D]),
        Alu::DD(_) => (D, &[D, D]),
        Alu::DDD(_) => (D, &[D, D, D]),
        Alu::WtoD(_) => (D, &[W]),
        Alu::WWtoD(_) => (D, &[W, W]),
        Alu::WWDtoD(_) => (D, &[W, W, D]),
        Alu::DtoW(_) => (W, &[D]),
        Alu::DWtoD(_) => (D, &[D, W]),
        Alu::DWWtoD(_) => (D, &[D, W, W]),
        Alu::DDWWtoD(_) => (D, &[D, D, W, W]),
    }
}

impl Lowering<'_> {
    /// Whatever the functions of [`alu`] compute.
    pub fn arithmetic(&mut self, i: &Instruction) -> Result<()> {
        let Some(selected) = alu::select(&i.opcode, &mods(i)) else {
            return Err(self.unsupported(""));
        };
        let (to, widths) = widths(selected.alu);
        let (d, operands) = self.operands_and_more::<1>(i)?;
        if operands.len() != widths.len() {
            return Err(self.count_error(widths.len() + 1, i.operands.len()));
        }
        let mut from = Vec::new();
        for (width, operand) in widths.iter().zip(operands) {
            from.push(match i.opcode.as_str() {
                "cvt" => self.cvt_source(*width, operand, selected.ty)?,
                _ => self.source(*width, operand, selected.ty)?,
            });
        }
        let d = match i.opcode.as_str() {
            "cvt" => return self.cvt(i, &d[0], selected, from),
            _ => self.destination(to, &d[0])?,
        };
        self.emit(Op::Alu {
            alu: selected.alu,
            d,
            from,
            flops: selected.flops,
        });
        Ok(())
    }

    /// `cvt.u32.u16` may read a register of 64 bits: its lower half.
    fn cvt_source(&mut self, width: Width, operand: &Operand, ty: Type) -> Result<Slot> {
        if let (Width::Word, Operand::Name(name)) = (width, operand)
            && let Some(Binding::Register(Slot::Double(from), _)) = self.names.find(name)
        {
            let d = Slot::Word(self.registers.new_word());
            self.emit_alu(Alu::DtoW(alu::low), d, vec![Slot::Double(from)]);
            return Ok(d);
        }
        self.source(width, operand, ty)
    }

    /// `cvt.s16.s8` may write a register of 32 or 64 bits, which is then extended as its type says.
    fn cvt(
        &mut self,
        i: &Instruction,
        d: &Operand,
        selected: Selected,
        from: Vec<Slot>,
    ) -> Result<()> {
        let (alu, flops) = (selected.alu, selected.flops);
        let (to, _) = widths(alu);
        let Some((slot, declared)) = self.written(d)?.filter(|_| to == Width::Word) else {
            let d = self.destination(to, d)?;
            return self.emit_only(Op::Alu {
                alu,
                d,
                from,
                flops,
            });
        };
        let word = match slot {
            Slot::Word(_) => slot,
            Slot::Double(_) => Slot::Word(self.registers.new_word()),
        };
        self.emit(Op::Alu {
            alu,
            d: word,
            from,
            flops,
        });
        let ty = i
            .mods
            .iter()
            .find_map(|m| Type::parse(m))
            .unwrap_or(declared);
        if is_signed(ty) && ty.bytes() <= 2 && declared.bytes() > 2 {
            self.emit_alu(Alu::W(lanewise::extend16), word, vec![word]);
        }
        if let Slot::Double(_) = slot {
            let extend = if is_signed(ty) {
                lanewise::widen_signed
            } else {
                lanewise::widen
            };
            self.emit_alu(Alu::WtoD(extend), slot, vec![word]);
        }
        Ok(())
    }

    /// A function without floating-point operations.
    pub fn emit_alu(&mut self, alu: Alu, d: Slot, from: Vec<Slot>) {
        self.emit(Op::Alu {
            alu,
            d,
            from,
            flops: 0,
        });
    }
}

/// Whether what is narrower than its register is sign-extended.
pub(super) fn is_signed(ty: Type) -> bool {
    matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64)
}
