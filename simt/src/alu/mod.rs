//! Instructions as functions of the values of 32 lanes.

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
mod fused;
mod integer;
mod lane;
mod minmax;
mod narrow;
mod product;
mod rounding;
mod set;
#[cfg(test)]
mod testing;
mod testp;

pub use self::lane::{high, high16, low, low16, pack16, pack64};

use self::forms::Mods;
use crate::ast::Type;

/// The values of a 32-bit register in the lanes of a warp.
pub type W = [u32; 32];
/// The values of a 64-bit register in the lanes of a warp.
pub type D = [u64; 32];

/// A function of words and doubles. It computes all 32 lanes, and the machine keeps the active ones, so no
/// input may panic.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, clippy::upper_case_acronyms)]
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

/// A comparison, with one bit per lane.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub enum Compare {
    W(fn(&W, &W) -> u32),
    D(fn(&D, &D) -> u32),
}

/// A function and what lowering needs to know about it.
#[derive(Debug, Clone, Copy)]
pub struct Selected {
    /// The function.
    pub alu: Alu,
    /// Type of constant operands: a float of this type, or an integer.
    pub ty: Type,
    /// Floating-point operations per lane.
    pub flops: u32,
}

impl Selected {
    fn new(alu: Alu, ty: Type, flops: u32) -> Self {
        Self { alu, ty, flops }
    }
}

/// Returns the function of an opcode and its modifiers, including the type: `("fma", ["rn", "f32"])`. `None`
/// if there is no such function or this crate does not support it.
pub fn select(opcode: &str, mods: &[&str]) -> Option<Selected> {
    let mods = &mut Mods::new(mods);
    let selected = match opcode {
        "cvt" => convert::select(mods),
        "set" => set::select(mods),
        "dp4a" | "dp2a" => dot::select(opcode, mods),
        // `prmt` has its mode after the type.
        "prmt" if mods.take("b32") => fields::select(opcode, mods, Type::B32),
        _ if mods.take("s16x2") => integer::select_pairs(opcode, mods, true),
        _ if mods.take("u16x2") => integer::select_pairs(opcode, mods, false),
        _ => by_type(opcode, mods),
    }?;
    mods.done().then_some(selected)
}

/// Returns the function of an opcode whose only type is its last modifier.
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

/// Returns the comparison of `setp` and `set`: `("lt", Type::F32, false)`. The last argument says whether
/// subnormals count as zero (`.ftz`).
pub fn compare(operator: &str, ty: Type, ftz: bool) -> Option<Compare> {
    compare::select(operator, ty, ftz)
}

/// Returns the property of `testp`: `("finite", Type::F32)`.
pub fn test(name: &str, ty: Type) -> Option<Compare> {
    testp::select(name, ty)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All arithmetic of the workbook's kernels.
    const OF_KERNELS: &str = "
        abs.f32 add.f32 add.s16 add.s32 add.s64 add.u32 add.u64 and.b16 and.b32 and.b64 bfe.u32 bfi.b32
        copysign.f32 cvt.rn.bf16x2.f32 cvt.rn.f32.s32 cvt.rn.f32.u32 cvt.rni.s32.f32 cvt.s64.s32
        cvt.sat.f32.f32 cvt.u16.u32 cvt.u32.u16 cvt.u32.u64 cvt.u64.u16 cvt.u64.u32 div.rn.f32 div.s32
        div.u32 div.u64 dp2a.hi.u32.u32 dp2a.lo.u32.u32 dp4a.s32.s32 ex2.approx.f32 ex2.approx.ftz.f32
        fma.rm.f32 fma.rn.f32 mad.lo.s32 mad.lo.u32 mad.wide.u32 max.f32 max.s32 max.u32 max.u64 min.f32
        min.s32 min.u32 mov.b32 mov.b64 mov.f32 mov.u16 mov.u32 mov.u64 mul.f32 mul.lo.s16 mul.lo.s32
        mul.lo.s64 mul.lo.u32 mul.wide.s32 mul.wide.u16 mul.wide.u32 neg.f32 neg.s32 not.b32 not.b64 or.b32
        or.b64 prmt.b32 rcp.rn.f32 rem.u32 shf.r.wrap.b32 shl.b16 shl.b32 shl.b64 shr.s32 shr.s64 shr.u32
        shr.u64 sqrt.rn.f32 sub.f32 sub.s16 sub.s32 sub.u32 xor.b32 xor.b64
    ";

    /// Common arithmetic of other kernels.
    const OF_OTHERS: &str = "
        fma.rn.f16x2 fma.rn.bf16x2 fma.rz.f32 fma.rn.f64 add.f16x2 mul.f64 mul.hi.s64 cvt.f32.f16
        cvt.rn.f16x2.f32 cvt.rzi.f32.f32 cvt.rn.f64.s64 cvt.rn.f32.f64 cvt.rni.f32.f32 cvt.rmi.f32.f32
        cvt.rzi.s64.f64 max.f16x2 div.rn.f64 sqrt.rn.f64 bfi.b64 bfind.shiftamt.u32 sin.approx.f32
        lg2.approx.f32 set.eq.f16x2.f16x2
    ";

    /// One form of each opcode, with most modifiers.
    const RARE: &str = "
        add.rm.ftz.sat.f32 sub.rp.f64 fma.rn.relu.bf16 fma.rn.sat.f16x2 mul.rz.f64 mad.rn.f32
        div.full.ftz.f32 div.approx.f32 rcp.approx.ftz.f32 rcp.approx.ftz.f64 rsqrt.approx.f64
        sqrt.approx.ftz.f32 cos.approx.ftz.f32 tanh.approx.bf16x2 ex2.approx.ftz.bf16x2
        min.ftz.NaN.xorsign.abs.f32 max.NaN.bf16x2 mad.wide.s32 mad.hi.sat.s32 mul24.lo.u32 sad.s64
        add.sat.s32 add.s16x2 max.relu.s16x2 lop3.b32 prmt.b32.f4e shf.l.clamp.b32 bmsk.wrap.b32
        szext.clamp.s32 cvt.rna.tf32.f32 cvt.rn.relu.f16x2.f32 cvt.sat.u8.s32 dp2a.hi.s32.u32
    ";

    /// The comparisons of the workbook's kernels.
    const COMPARISONS: &str = "
        eq.b32 eq.f32 eq.s16 eq.s32 eq.s64 eq.u32 eq.u64 ge.f32 ge.s32 ge.u32 ge.u64 gt.f32 gt.s32 gt.u32
        gt.u64 le.f32 le.s32 le.u32 le.u64 lt.f32 lt.s32 lt.u32 lt.u64 ltu.f32 nan.f32 ne.s32 ne.s64 ne.u32
        ne.u64
    ";

    /// Selects a form as text: `fma.rn.f32`.
    fn selected(form: &str) -> Option<Selected> {
        let (opcode, mods) = form.split_once('.')?;
        select(opcode, &mods.split('.').collect::<Vec<_>>())
    }

    #[test]
    fn supported_forms() {
        for form in [OF_KERNELS, OF_OTHERS, RARE]
            .iter()
            .flat_map(|forms| forms.split_whitespace())
        {
            assert!(selected(form).is_some(), "{form}");
        }
        for form in COMPARISONS.split_whitespace() {
            let (operator, ty) = form.split_once('.').unwrap();
            assert!(
                compare(operator, Type::parse(ty).unwrap(), false).is_some(),
                "{form}"
            );
        }
    }

    #[test]
    fn unsupported_forms() {
        let forms = "fma.f32 add.ftz.f64 add.sat.f64 add.rn.s32 mul.s32 neg.u32 shl.s32 ex2.f32 cvt.s32.f32
            cvt.f16.f32 add.rm.f16 mad.rn.f16 tanh.approx.f64 min.lo.s32 mov.pred lop3.b64 hello.f32 add.u8
            popc.u32 dp4a.s32.f32 cvt.rn.f16x2.f64 add.bf16.f32 sqrt.rn.sat.f32";
        for form in forms.split_whitespace() {
            assert!(selected(form).is_none(), "{form}");
        }
        assert!(select("add", &[]).is_none());
    }

    #[test]
    fn operations_and_constants() {
        let of = |form| selected(form).map(|s| (s.ty, s.flops)).unwrap();
        assert_eq!(of("fma.rn.f32"), (Type::F32, 2));
        assert_eq!(of("fma.rn.bf16x2"), (Type::Bf16x2, 4));
        assert_eq!(of("mul.f16x2"), (Type::F16x2, 2));
        assert_eq!(of("rcp.rn.f64"), (Type::F64, 1));
        assert_eq!(of("ex2.approx.ftz.f32"), (Type::F32, 1));
        assert_eq!(of("max.f32"), (Type::F32, 0));
        assert_eq!(of("mov.f32"), (Type::F32, 0));
        assert_eq!(of("cvt.rn.bf16x2.f32"), (Type::F32, 0));
        assert_eq!(of("mul.wide.s32"), (Type::S32, 0));
        assert_eq!(of("add.u16x2"), (Type::B32, 0));
    }
}
