//! What an instruction computes: a function of the values of 32 lanes.

mod approx;
mod arithmetic;
mod bits;
mod compare;
mod convert;
mod dot;
mod exact;
mod fields;
mod float;
mod forms;
mod integer;
mod lane;
mod minmax;
mod narrow;
mod product;
mod rounding;
mod set;
#[cfg(test)]
mod testing;

#[allow(unused_imports)] // For whoever lowers `mov` of vectors.
pub use self::lane::{high, high16, low, low16, pack16, pack64};

use self::forms::Mods;
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

impl Selected {
    fn new(alu: Alu, ty: Type, flops: u32) -> Self {
        Self { alu, ty, flops }
    }
}

/// The function of an opcode and its modifiers, its type among them: `("fma", ["rn", "f32"])`. `None` for what
/// is no such function, or one that is not supported.
pub fn select(opcode: &str, mods: &[&str]) -> Option<Selected> {
    let mods = &mut Mods::new(mods);
    let selected = match opcode {
        "cvt" => convert::select(mods),
        "set" => set::select(mods),
        "dp4a" | "dp2a" => dot::select(opcode, mods),
        // Its mode follows the type.
        "prmt" if mods.take("b32") => fields::select(opcode, mods, Type::B32),
        _ if mods.take("s16x2") => integer::select_pairs(opcode, mods, true),
        _ if mods.take("u16x2") => integer::select_pairs(opcode, mods, false),
        _ => by_type(opcode, mods),
    }?;
    mods.done().then_some(selected)
}

/// Of an opcode with one type, which is its last modifier.
fn by_type(opcode: &str, mods: &mut Mods) -> Option<Selected> {
    use Type::*;
    let ty = mods.ty()?;
    let is_float = matches!(ty, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64);
    match opcode {
        "bfe" | "bfi" | "bmsk" | "szext" => fields::select(opcode, mods, ty),
        "mul" | "mad" | "mul24" | "mad24" if !is_float => product::select(opcode, mods, ty),
        "add" | "sub" | "min" | "max" | "div" | "rem" | "sad" | "abs" | "neg" if !is_float => {
            integer::select(opcode, mods, ty)
        }
        "min" | "max" | "abs" | "neg" | "copysign" => minmax::select(opcode, mods, ty),
        "div" if mods.take("full") => approx::full(mods, ty),
        "div" | "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh"
            if mods.take("approx") =>
        {
            approx::select(opcode, mods, ty)
        }
        "add" | "sub" | "mul" | "fma" | "mad" | "div" | "rcp" | "sqrt" => {
            arithmetic::select(opcode, mods, ty)
        }
        _ => bits::select(opcode, mods, ty),
    }
}

/// The comparison of `setp` and `set`: `("lt", Type::F32, false)`. The last says whether subnormals count as
/// zero (`.ftz`).
pub fn compare(operator: &str, ty: Type, ftz: bool) -> Option<Compare> {
    compare::select(operator, ty, ftz)
}
