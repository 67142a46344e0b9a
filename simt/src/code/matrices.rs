//! Products of matrices, and what they are made of.

use super::{Address, Reg};

/// Elements of a matrix product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    S8,
    U8,
    S32,
}

/// A product of a warp.
#[derive(Debug, Clone)]
pub struct Mma {
    /// M, N, K.
    pub shape: (u32, u32, u32),
    /// Of a and b.
    pub a: Element,
    /// Of a and b.
    pub b: Element,
    /// Of c and d.
    pub c: Element,
    /// Registers of each fragment.
    pub d_regs: Vec<Reg>,
    /// Registers of each fragment.
    pub a_regs: Vec<Reg>,
    /// Registers of each fragment.
    pub b_regs: Vec<Reg>,
    /// Registers of each fragment.
    pub c_regs: Vec<Reg>,
    /// Whether the fragments are `wmma`'s, whose layout only `wmma.load` and `wmma.store` know.
    pub wmma: bool,
}

/// A fragment of `wmma` in memory.
#[derive(Debug, Clone)]
pub struct WmmaMemory {
    /// `a`, `b`, `c` or `d`.
    pub matrix: char,
    /// M, N, K.
    pub shape: (u32, u32, u32),
    /// Of the elements.
    pub element: Element,
    /// `.col`: columns lie side by side.
    pub column_major: bool,
    /// Of the first element.
    pub at: Address,
    /// Elements from a row (or column) to the next.
    pub stride: Option<Reg>,
    /// The fragment.
    pub regs: Vec<Reg>,
    /// Whether it is a store.
    pub store: bool,
}
