//! What the parts of an instruction say.

/// What has a carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CarryOp {
    Add,
    Sub,
    /// The low half of a product, and a sum.
    MadLow,
    /// The high half.
    MadHigh {
        signed: bool,
    },
}

/// Of predicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Logic {
    And,
    Or,
    Xor,
}

/// The lane that a shuffle reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What is asked of all lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
    /// Of `bar.red` only.
    Popc,
}

/// Threads to which a fence holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Scope {
    Block,
    Device,
    System,
}

/// The function of an atomic update: new = f(old, operand), and its type.
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
