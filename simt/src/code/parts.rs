//! Parts of an instruction.

/// An operation with a carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CarryOp {
    Add,
    Sub,
    /// The low half of a product, plus an addend.
    MadLow,
    /// The high half of a product, plus an addend.
    MadHigh {
        signed: bool,
    },
}

/// A logic operation of predicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Logic {
    And,
    Or,
    Xor,
}

/// How a shuffle finds its source lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// A question to all lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
    /// For `bar.red` only.
    Popc,
}

/// The threads that a fence applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Scope {
    Block,
    Device,
    System,
}

/// An atomic update new = f(old, operand), with its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Atomic {
    Add(crate::ast::Type),
    Min(crate::ast::Type),
    Max(crate::ast::Type),
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Inc,
    Dec,
}
