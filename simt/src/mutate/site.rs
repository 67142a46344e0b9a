//! The site of a mutation: an instruction, and the constants in its kernel's registers.

use std::collections::HashMap;

use crate::ast::{Immediate, Instruction, Operand, Statement};

/// Opcodes that write no register; their first operand may be one that they read.
const WITHOUT_RESULT: &[&str] = &["bar", "barrier", "bra", "call"];

/// Registers that hold one number for the whole kernel: `mov.u32 %r400, -1`. nvcc keeps masks and widths of
/// shuffles in such registers.
#[derive(Debug, Default)]
pub struct Constants(HashMap<String, Option<i128>>);

impl Constants {
    /// Collects the registers of a body that a single unguarded `mov` writes.
    pub fn of(body: &[Statement]) -> Self {
        let mut constants = Self::default();
        constants.read(body);
        constants
    }

    fn read(&mut self, body: &[Statement]) {
        for statement in body {
            match statement {
                Statement::Block(inner) => self.read(inner),
                Statement::Instruction(i) => self.write(i),
                _ => {}
            }
        }
    }

    fn write(&mut self, i: &Instruction) {
        if WITHOUT_RESULT.contains(&i.opcode.as_str()) {
            return;
        }
        let value = match &i.operands[..] {
            [_, Operand::Immediate(Immediate::Int(x))]
                if i.opcode == "mov" && i.guard.is_none() =>
            {
                Some(*x)
            }
            _ => None,
        };
        // A register with two writes is not constant.
        for name in i.operands.first().into_iter().flat_map(names) {
            let known = self.0.entry(name.to_owned());
            known.and_modify(|x| *x = None).or_insert(value);
        }
    }
}

/// Registers of a destination.
fn names(operand: &Operand) -> Vec<&str> {
    match operand {
        Operand::Name(name) => vec![name],
        Operand::Vector(list) => list.iter().flat_map(names).collect(),
        Operand::Pair(a, b) => [a, b].into_iter().flat_map(|o| names(o)).collect(),
        _ => vec![],
    }
}

/// An instruction with its context.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// The instruction to change.
    pub instruction: &'a Instruction,
    /// Constants of the kernel.
    pub constants: &'a Constants,
}

impl Site<'_> {
    /// The value of an integer operand, given directly or in a register.
    pub fn integer(&self, index: usize) -> Option<i128> {
        match self.instruction.operands.get(index)? {
            Operand::Immediate(Immediate::Int(x)) => Some(*x),
            Operand::Name(name) => self.constants.0.get(name).copied().flatten(),
            _ => None,
        }
    }

    /// Whether the opcode has this modifier.
    pub fn has(&self, modifier: &str) -> bool {
        self.instruction.mods.iter().any(|m| m == modifier)
    }

    /// Replaces an operand by an integer.
    pub fn with_integer(&self, index: usize, value: i128) -> Instruction {
        let mut now = self.instruction.clone();
        now.operands[index] = Operand::Immediate(Immediate::Int(value));
        now
    }
}
