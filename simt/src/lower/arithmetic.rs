//! Instructions that are functions of registers, lane by lane.

use crate::alu::{self, Alu, Selected};
use crate::ast::{Instruction, Type};
use crate::code::{Op, Slot};
use crate::error::Result;

use super::Lowering;
use super::modifiers::mods;
use super::registers::Width;

use Width::{Double as D, Word as W};

/// Returns the width of a function's result and of its operands.
pub(super) fn widths(alu: Alu) -> (Width, &'static [Width]) {
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
    /// Lowers all functions of [`alu`] except `cvt`.
    pub fn arithmetic(&mut self, i: &Instruction) -> Result<()> {
        let Selected { alu, ty, flops } = self.select(i)?;
        let (to, widths) = widths(alu);
        let (d, operands) = self.operands_and_more::<1>(i)?;
        if operands.len() != widths.len() {
            return Err(self.count_error(widths.len() + 1, i.operands.len()));
        }
        let mut from = Vec::new();
        for (width, operand) in widths.iter().zip(operands) {
            from.push(self.source(*width, operand, ty)?);
        }
        let d = self.destination(to, &d[0])?;
        self.emit_only(Op::Alu {
            alu,
            d,
            from,
            flops,
        })
    }

    /// Selects the function of an instruction.
    pub fn select(&self, i: &Instruction) -> Result<Selected> {
        alu::select(&i.opcode, &mods(i)).ok_or_else(|| self.not_selected(i))
    }

    /// Emits a function without floating-point operations.
    pub fn emit_alu(&mut self, alu: Alu, d: Slot, from: Vec<Slot>) {
        self.emit(Op::Alu {
            alu,
            d,
            from,
            flops: 0,
        });
    }
}

/// Whether values narrower than their register are sign-extended.
pub(super) fn is_signed(ty: Type) -> bool {
    matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64)
}
