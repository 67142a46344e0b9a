//! The mutation operators: each is a mistake that people make, as a rewriting of one instruction.

use super::{Site, arithmetic, compare, guard, memory, shuffle, sync};
use crate::ast::{Instruction, Statement};

/// What an operator makes of an instruction: a statement in its place, or nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The instruction is left out.
    Dropped,
    /// Another stands in its place.
    Becomes(Statement),
}

impl From<Instruction> for Change {
    fn from(instruction: Instruction) -> Self {
        Self::Becomes(Statement::Instruction(instruction))
    }
}

/// A way to go wrong.
#[derive(Debug, Clone, Copy)]
pub struct Operator {
    /// `flip-comparison`
    pub name: &'static str,
    /// What it does, in a line.
    pub what: &'static str,
    /// The changed instructions; none where it does not apply, or where the change would be none: a comparison
    /// turned into one that is true of the same values, a shuffle that stays in a narrower width anyway.
    pub changes: fn(&Site) -> Vec<Change>,
}

/// All, in the order in which mutants of an instruction are listed.
pub const OPERATORS: &[Operator] = &[
    Operator {
        name: "drop-barrier",
        what: "a barrier of the block or of the warp, a fence, or a wait for copies is left out",
        changes: sync::drop,
    },
    Operator {
        name: "wait-less",
        what: "a wait for copies leaves one group more in flight",
        changes: sync::wait_less,
    },
    Operator {
        name: "shrink-mask",
        what: "a member mask lacks its last lane",
        changes: sync::shrink_mask,
    },
    Operator {
        name: "shuffle-width",
        what: "a shuffle stays within as many lanes as it should cross",
        changes: shuffle::width,
    },
    Operator {
        name: "shuffle-lane",
        what: "a shuffle goes half as far, or reads the next lane",
        changes: shuffle::lane,
    },
    Operator {
        name: "shift-index",
        what: "an access is one element further",
        changes: memory::shift,
    },
    Operator {
        name: "drop-store",
        what: "a store or a copy is left out",
        changes: memory::drop_store,
    },
    Operator {
        name: "plain-update",
        what: "an atomic update becomes a load, an operation and a store",
        changes: memory::plain_update,
    },
    Operator {
        name: "flip-comparison",
        what: "a comparison becomes its opposite",
        changes: compare::flip,
    },
    Operator {
        name: "off-by-one",
        what: "a comparison of integers counts its bound in, or no longer",
        changes: compare::off_by_one,
    },
    Operator {
        name: "drop-guard",
        what: "what a predicate guards happens always",
        changes: guard::drop,
    },
    Operator {
        name: "negate-guard",
        what: "what a predicate guards happens when it must not",
        changes: guard::negate,
    },
    Operator {
        name: "drop-branch",
        what: "a conditional branch is never taken",
        changes: guard::drop_branch,
    },
    Operator {
        name: "wrong-operand",
        what: "two sources change places, or the first is taken twice",
        changes: arithmetic::operand,
    },
    Operator {
        name: "wrong-operation",
        what: "an operation becomes a neighbour of it: a sum a difference, a maximum a minimum",
        changes: arithmetic::operation,
    },
    Operator {
        name: "wrong-constant",
        what: "an integer is one more, a float twice as much",
        changes: arithmetic::constant,
    },
];
