//! Mutation operators: common mistakes, as rewrites of one instruction.

use super::{Site, arithmetic, compare, guard, memory, shuffle, sync};
use crate::ast::{Instruction, Statement};

/// A rewrite of an instruction.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The instruction is deleted.
    Dropped,
    /// A statement replaces the instruction.
    Becomes(Statement),
}

impl From<Instruction> for Change {
    fn from(instruction: Instruction) -> Self {
        Self::Becomes(Statement::Instruction(instruction))
    }
}

/// A mutation operator.
#[derive(Debug, Clone, Copy)]
pub struct Operator {
    /// `flip-comparison`
    pub name: &'static str,
    /// Description in one line.
    pub what: &'static str,
    /// Returns the changed instructions. Empty if the operator does not apply or has no effect, as for a
    /// comparison that stays true for the same values, or a shuffle that stays within a narrower width.
    pub changes: fn(&Site) -> Vec<Change>,
}

/// All operators, in the order of an instruction's mutants.
pub const OPERATORS: &[Operator] = &[
    Operator {
        name: "drop-barrier",
        what: "a barrier of the block or of the warp, a fence, or a wait for copies is left out",
        changes: sync::drop,
    },
    Operator {
        name: "wait-less",
        what: "a wait for copies leaves one more group in flight",
        changes: sync::wait_less,
    },
    Operator {
        name: "shrink-mask",
        what: "a member mask lacks its last lane",
        changes: sync::shrink_mask,
    },
    Operator {
        name: "shuffle-width",
        what: "a shuffle stays within segments that it should cross",
        changes: shuffle::width,
    },
    Operator {
        name: "shuffle-lane",
        what: "a shuffle goes half as far, or reads the next lane",
        changes: shuffle::lane,
    },
    Operator {
        name: "shift-index",
        what: "an access moves by one element",
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
        what: "an integer comparison includes or excludes its bound",
        changes: compare::off_by_one,
    },
    Operator {
        name: "drop-guard",
        what: "a guarded instruction always runs",
        changes: guard::drop,
    },
    Operator {
        name: "negate-guard",
        what: "a guarded instruction runs when its guard is false",
        changes: guard::negate,
    },
    Operator {
        name: "drop-branch",
        what: "a conditional branch is never taken",
        changes: guard::drop_branch,
    },
    Operator {
        name: "wrong-operand",
        what: "two sources are swapped, or the first is used twice",
        changes: arithmetic::operand,
    },
    Operator {
        name: "wrong-operation",
        what: "a similar operation: a difference for a sum, a minimum for a maximum",
        changes: arithmetic::operation,
    },
    Operator {
        name: "wrong-constant",
        what: "an integer is incremented, a float doubled",
        changes: arithmetic::constant,
    },
];
