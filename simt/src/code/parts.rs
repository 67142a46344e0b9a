//! Parts of an instruction.

use super::{Reg, Slot};

/// Operations with a carry.
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

/// Operations on an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mbarrier {
    /// `init`.
    Init {
        /// Arrivals of a phase.
        count: Reg,
    },
    /// `inval`.
    Invalidate,
    /// `arrive`, `arrive_drop`.
    Arrive {
        /// Where the phase goes, if it is wanted.
        d: Option<Slot>,
        /// How many arrivals; one if nothing is said.
        count: Option<Reg>,
        /// `.expect_tx`: bytes that the phase waits for besides.
        bytes: Option<Reg>,
        /// Whether it may complete the phase; not with `.noComplete`.
        completes: bool,
        /// Whether later phases need one arrival less.
        drops: bool,
        /// The scope of the release; none with `.relaxed`.
        release: Option<Scope>,
    },
    /// `expect_tx`.
    Expect {
        /// Bytes that the phase waits for besides.
        bytes: Reg,
    },
    /// `complete_tx`.
    Complete {
        /// Bytes that are there.
        bytes: Reg,
    },
    /// `test_wait`, `try_wait`.
    Wait {
        /// Whether the phase is complete.
        d: Reg,
        /// State that an arrival returned, or a word with the parity of the phase.
        phase: Slot,
        /// Whether what the arrivals ordered comes before what follows; not with `.relaxed`.
        acquires: bool,
    },
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
