//! Branches and returns.

use crate::ast::{Instruction, Operand, Type};
use crate::code::Op;
use crate::error::Result;

use super::Lowering;
use super::names::Binding;
use super::operands::text;

impl<'a> Lowering<'a> {
    /// `bra target`. The reconvergence point is computed after all instructions are lowered.
    pub fn branch(&mut self, i: &Instruction) -> Result<()> {
        let [target] = self.operands::<1>(i)?;
        let to = self.target(target)?;
        self.emit(Op::Branch { to, meet: None });
        Ok(())
    }

    /// `brx.idx index, list`, with `list: .branchtargets a, b;` or the targets themselves: `{a, b}`.
    pub fn branch_index(&mut self, i: &'a Instruction) -> Result<()> {
        let [index, targets] = self.operands::<2>(i)?;
        let listed = match targets {
            Operand::Name(name) => self.names.find(name),
            _ => None,
        };
        let targets = match (targets, listed) {
            (Operand::Vector(targets) | Operand::List(targets), _) => targets,
            (_, Some(Binding::Targets(targets))) => targets,
            _ => return Err(self.wrong("a list of targets", &text(targets))),
        };
        let index = self.word(index, Type::U32)?;
        self.targets += targets.len();
        self.check_growth()?;
        let to = targets
            .iter()
            .map(|target| self.target(target))
            .collect::<Result<_>>()?;
        self.emit(Op::BranchIndex {
            index,
            to,
            meet: None,
        });
        Ok(())
    }

    /// `ret`: ends the kernel, or an inlined function.
    pub fn ret(&mut self) -> Result<()> {
        match self.returns.last() {
            None => self.emit(Op::Exit),
            Some(&to) => self.emit(Op::Branch { to, meet: None }),
        }
        Ok(())
    }

    /// Returns the number of a label.
    fn target(&self, operand: &Operand) -> Result<u32> {
        match self.binding(operand) {
            Some(Binding::Label(label)) => Ok(label),
            _ => Err(self.wrong("a label of this kernel", &text(operand))),
        }
    }
}
