//! `add`, `sub`, `mul`, `fma`, `div`, `rcp`, `sqrt` of floating-point numbers.

use half::{bf16, f16};

use super::float::{Divides, Float, finish, operand};
use super::forms::{Mods, each_bool, each_clamp, each_mode};
use super::fused;
use super::lane::{Lane, Register, lanes, pairs};
use super::rounding::{Clamp, Mode};
use super::{Alu, Selected};
use crate::ast::Type;

/// An [`Alu`] of f32 or f64 with any rounding mode; `$FTZ` and `$C` are for f32 only.
macro_rules! wide {
    ($form:expr, |$($a:ident),+; $M:ident| $f:expr) => {
        match $form.ty {
            Type::F64 => Some(each_mode!($form.mode, $M => lanes!(f64, |$($a),+| finish::<f64>($f, false, Clamp::None)))),
            Type::F32 => Some(each_mode!($form.mode, $M => each_bool!($form.ftz, FTZ => match $form.clamp {
                Clamp::Unit => wide!(FTZ, Clamp::Unit, |$($a),+| $f),
                _ => wide!(FTZ, Clamp::None, |$($a),+| $f),
            }))),
            _ => None,
        }
    };
    ($FTZ:ident, $clamp:expr, |$($a:ident),+| $f:expr) => {
        lanes!(f32, |$($a),+| {
            $(let $a = operand::<f32>($a, $FTZ);)+
            finish::<f32>($f, $FTZ, $clamp)
        })
    };
}

/// An [`Alu`] of a 16-bit type or a pair of them, rounded to nearest.
macro_rules! narrow {
    ($form:expr, |$($a:ident),+; $M:ident| $f:expr) => {
        if $form.mode != Mode::Nearest {
            None
        } else {
            const $M: Mode = Mode::Nearest;
            match $form.ty {
                Type::F16 => Some(narrow!(lanes, f16, $form, |$($a),+| $f)),
                Type::Bf16 => Some(narrow!(lanes, bf16, $form, |$($a),+| $f)),
                Type::F16x2 => Some(narrow!(pairs, f16, $form, |$($a),+| $f)),
                Type::Bf16x2 => Some(narrow!(pairs, bf16, $form, |$($a),+| $f)),
                _ => None,
            }
        }
    };
    ($lanes:ident, $T:ty, $form:expr, |$($a:ident),+| $f:expr) => {
        each_bool!($form.ftz, FTZ => each_clamp!($form.clamp, C => $lanes!($T, |$($a),+| {
            $(let $a = operand::<$T>($a, FTZ);)+
            finish::<$T>($f, FTZ, C)
        })))
    };
}

/// An [`Alu`] of any floating-point type.
macro_rules! any {
    ($form:expr, |$($a:ident),+; $M:ident| $f:expr) => {
        wide!($form, |$($a),+; $M| $f).or_else(|| narrow!($form, |$($a),+; $M| $f))
    };
}

/// The modifiers of an instruction.
struct Form {
    ty: Type,
    mode: Mode,
    ftz: bool,
    clamp: Clamp,
}

impl Form {
    /// Reads the modifiers before the type; `None` if the type has no such form.
    fn read(mods: &mut Mods, ty: Type, default: Option<Mode>) -> Option<Self> {
        let form = Self {
            ty,
            mode: mods.mode().or(default)?,
            ftz: mods.take("ftz"),
            clamp: mods.clamp(),
        };
        let plain = !form.ftz && form.clamp == Clamp::None;
        let allowed = match ty {
            Type::F32 => form.clamp != Clamp::Positive,
            Type::F64 => plain,
            Type::Bf16 | Type::Bf16x2 => !form.ftz && form.clamp != Clamp::Unit,
            _ => true,
        };
        allowed.then_some(form)
    }
}

/// Returns the function of an opcode of this file; its type is read already.
pub(super) fn select(opcode: &str, mods: &mut Mods, ty: Type) -> Option<Selected> {
    let default = matches!(opcode, "add" | "sub" | "mul").then_some(Mode::Nearest);
    let form = Form::read(mods, ty, default)?;
    let alu = match opcode {
        "add" => sum(&form),
        "sub" => difference(&form),
        "mul" => product(&form),
        "fma" => fused(&form),
        // `mad` rounded twice on the first GPUs; since then it is `fma`.
        "mad" => matches!(ty, Type::F32 | Type::F64).then(|| fused(&form))?,
        _ if form.clamp != Clamp::None => None,
        "div" => quotient(&form),
        "rcp" => reciprocal(&form),
        "sqrt" => root(&form),
        _ => None,
    }?;
    let operations = if matches!(opcode, "fma" | "mad") {
        2
    } else {
        1
    };
    let elements = if matches!(ty, Type::F16x2 | Type::Bf16x2) {
        2
    } else {
        1
    };
    Some(Selected::new(alu, ty, operations * elements))
}

fn sum(form: &Form) -> Option<Alu> {
    any!(form, |a, b; M| a.add(b, M))
}

fn difference(form: &Form) -> Option<Alu> {
    any!(form, |a, b; M| a.add(b.negate(), M))
}

fn product(form: &Form) -> Option<Alu> {
    any!(form, |a, b; M| a.mul(b, M))
}

fn fused(form: &Form) -> Option<Alu> {
    let is_plain = form.mode == Mode::Nearest && !form.ftz && form.clamp == Clamp::None;
    match form.ty {
        Type::F32 if is_plain => return Some(fused::SINGLE),
        Type::F64 if is_plain => return Some(fused::DOUBLE),
        _ => {}
    }
    any!(form, |a, b, c; M| a.fma(b, c, M))
}

fn quotient(form: &Form) -> Option<Alu> {
    wide!(form, |a, b; M| a.div(b, M))
}

fn reciprocal(form: &Form) -> Option<Alu> {
    wide!(form, |a; M| one(a).div(a, M))
}

fn root(form: &Form) -> Option<Alu> {
    wide!(form, |a; M| Divides::sqrt(a, M))
}

/// Returns 1 in the type of the argument.
#[inline(always)]
fn one<T: Float>(_like: T) -> T {
    T::ONE
}

#[cfg(test)]
mod tests;
