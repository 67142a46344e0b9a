//! Where a mutation happens: an instruction, and the constants that its kernel keeps in registers.

use std::collections::HashMap;

use crate::ast::{Immediate, Instruction, Operand, Statement};

/// What writes no register, and whose first operand may be one that it reads.
const WITHOUT_RESULT: &[&str] = &["bar", "barrier", "bra", "call"];

/// Registers that hold one number as long as the kernel runs: `mov.u32 %r400, -1`. nvcc keeps the masks and
/// widths of shuffles there.
#[derive(Debug, Default)]
pub struct Constants(HashMap<String, Option<i128>>);

impl Constants {
    /// Of a body: what one unguarded `mov` writes and nothing else.
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
        // Of what is written twice nothing is known.
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

/// What an operator looks at.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// To be changed.
    pub instruction: &'a Instruction,
    /// Of its kernel.
    pub constants: &'a Constants,
}

impl Site<'_> {
    /// An operand that is an integer, as it stands or in a register.
    pub fn integer(&self, place: usize) -> Option<i128> {
        match self.instruction.operands.get(place)? {
            Operand::Immediate(Immediate::Int(x)) => Some(*x),
            Operand::Name(name) => self.constants.0.get(name).copied().flatten(),
            _ => None,
        }
    }

    /// Whether the opcode is followed by this.
    pub fn has(&self, modifier: &str) -> bool {
        self.instruction.mods.iter().any(|m| m == modifier)
    }

    /// The instruction with another integer in this place.
    pub fn with_integer(&self, place: usize, value: i128) -> Instruction {
        let mut now = self.instruction.clone();
        now.operands[place] = Operand::Immediate(Immediate::Int(value));
        now
    }
}
