//! Matmul instructions and their fragments.

use super::{Address, Reg};

/// Element type of a matrix.
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

/// A matmul by a warp: d = a·b + c.
#[derive(Debug, Clone)]
pub struct Mma {
    /// M, N, K.
    pub shape: (u32, u32, u32),
    /// Element type of a.
    pub a: Element,
    /// Element type of b.
    pub b: Element,
    /// Element type of c and d.
    pub c: Element,
    /// Registers of fragment d.
    pub d_regs: Vec<Reg>,
    /// Registers of fragment a.
    pub a_regs: Vec<Reg>,
    /// Registers of fragment b.
    pub b_regs: Vec<Reg>,
    /// Registers of fragment c.
    pub c_regs: Vec<Reg>,
    /// Whether the fragments have the layout of `wmma`, which only `wmma.load` and `wmma.store` know.
    pub wmma: bool,
}

/// A load or store of a `wmma` fragment.
#[derive(Debug, Clone)]
pub struct WmmaMemory {
    /// `a`, `b`, `c` or `d`.
    pub matrix: char,
    /// M, N, K.
    pub shape: (u32, u32, u32),
    /// Element type.
    pub element: Element,
    /// `.col`: the elements of a column are adjacent.
    pub column_major: bool,
    /// Address of the first element.
    pub at: Address,
    /// Elements from the start of a row (or column) to the start of the next.
    pub stride: Option<Reg>,
    /// Registers of the fragment.
    pub regs: Vec<Reg>,
    /// Whether it is a store.
    pub store: bool,
}
