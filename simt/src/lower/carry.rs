//! Multi-word arithmetic: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.lo.cc`, `madc.hi.cc`.

use crate::ast::{Instruction, Type};
use crate::code::{CarryOp, Op};
use crate::error::Result;

use super::Lowering;
use super::modifiers::mods;
use super::registers::Width;

impl Lowering<'_> {
    /// `add.cc.u32 d, a, b`, `madc.hi.cc.u32 d, a, b, c`. All share one predicate as the carry flag.
    pub fn carry(&mut self, i: &Instruction) -> Result<()> {
        let ty = self.last_type(i)?;
        let mods = mods(i);
        let signed = matches!(ty, Type::S32 | Type::S64);
        let is_integer = signed || matches!(ty, Type::U32 | Type::U64);
        let (op, reads) = match (i.opcode.as_str(), &mods[..mods.len() - 1]) {
            ("add", ["cc"]) => (CarryOp::Add, false),
            ("addc", [] | ["cc"]) => (CarryOp::Add, true),
            ("sub", ["cc"]) => (CarryOp::Sub, false),
            ("subc", [] | ["cc"]) => (CarryOp::Sub, true),
            ("mad", ["lo", "cc"]) => (CarryOp::MadLow, false),
            ("madc", ["lo"] | ["lo", "cc"]) => (CarryOp::MadLow, true),
            ("mad", ["hi", "cc"]) => (CarryOp::MadHigh { signed }, false),
            ("madc", ["hi"] | ["hi", "cc"]) => (CarryOp::MadHigh { signed }, true),
            _ => return Err(self.unsupported("")),
        };
        if !is_integer {
            return Err(self.unsupported(""));
        }
        let count = match op {
            CarryOp::Add | CarryOp::Sub => 2,
            CarryOp::MadLow | CarryOp::MadHigh { .. } => 3,
        };
        let (d, operands) = self.operands_and_more::<1>(i)?;
        if operands.len() != count {
            return Err(self.count_error(count + 1, i.operands.len()));
        }
        let width = Width::of(ty);
        let mut from = Vec::new();
        for operand in operands {
            from.push(self.source(width, operand, ty)?);
        }
        let d = self.destination(width, &d[0])?;
        let flag = self.registers.carry();
        self.emit_only(Op::Carry {
            op,
            d,
            from,
            flag,
            reads,
            writes: mods.contains(&"cc"),
        })
    }
}
