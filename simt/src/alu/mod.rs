//! What an instruction computes: a function of the values of 32 lanes.

use crate::ast::Type;

/// The values of a warp's lanes in a register of 32 bits.
pub type W = [u32; 32];
/// The values of a warp's lanes in a register of 64 bits.
pub type D = [u64; 32];

/// A function of registers of words and doubles. Each computes all 32 lanes; the machine keeps those that are
/// active, so no input may panic.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub enum Alu {
    W(fn(&W) -> W),
    WW(fn(&W, &W) -> W),
    WWW(fn(&W, &W, &W) -> W),
    WWWW(fn(&W, &W, &W, &W) -> W),
    D(fn(&D) -> D),
    DD(fn(&D, &D) -> D),
    DDD(fn(&D, &D, &D) -> D),
    /// `cvt.u64.u32`.
    WtoD(fn(&W) -> D),
    /// `mul.wide.u32`.
    WWtoD(fn(&W, &W) -> D),
    /// `mad.wide.u32`.
    WWDtoD(fn(&W, &W, &D) -> D),
    /// `cvt.u32.u64`, `popc.b64`.
    DtoW(fn(&D) -> W),
    /// `shl.b64`.
    DWtoD(fn(&D, &W) -> D),
    /// `bfe.u64`.
    DWWtoD(fn(&D, &W, &W) -> D),
    /// `bfi.b64`.
    DDWWtoD(fn(&D, &D, &W, &W) -> D),
}

/// A comparison: a bit a lane.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub enum Compare {
    W(fn(&W, &W) -> u32),
    D(fn(&D, &D) -> u32),
}

/// A function with what lowering has to know of it.
#[derive(Debug, Clone, Copy)]
pub struct Selected {
    /// The function.
    pub alu: Alu,
    /// How a constant among the operands is read: as a float of this type, or as an integer.
    pub ty: Type,
    /// Floating-point operations a lane.
    pub flops: u32,
}

/// The function of an opcode and its modifiers, its type among them: `("fma", ["rn", "f32"])`. `None` for what
/// is no such function, or one that is not supported.
pub fn select(_opcode: &str, _mods: &[&str]) -> Option<Selected> {
    None
}

/// The comparison of `setp` and `set`: `("lt", Type::F32, false)`. The last says whether subnormals count as
/// zero (`.ftz`).
pub fn compare(_operator: &str, _ty: Type, _ftz: bool) -> Option<Compare> {
    None
}
