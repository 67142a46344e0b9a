//! Declared types of registers, compared with the type that an instruction gives to each operand.

use crate::ast::{Instruction, Operand, Type};
use crate::error::Result;

use super::Lowering;
use super::names::Binding;
use super::registers::Width;

use Type::{B8, B16, B32, B64, Bf16, Bf16x2, F16, F16x2, F32, F64, S32, U32, U64};

/// Kinds of types: untyped bits, integers and floating-point numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bits,
    Integer,
    Float,
}

fn kind(ty: Type) -> Kind {
    match ty {
        Type::Pred | B8 | B16 | B32 | B64 | Type::B128 => Kind::Bits,
        F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64 => Kind::Float,
        _ => Kind::Integer,
    }
}

/// Instructions whose operands all have the type of the last modifier.
const UNIFORM: [&str; 36] = [
    "abs", "add", "addc", "and", "brev", "cnot", "copysign", "cos", "div", "ex2", "fma", "fns",
    "lg2", "lop3", "mad", "mad24", "madc", "max", "min", "mov", "mul", "mul24", "neg", "not", "or",
    "prmt", "rcp", "rem", "rsqrt", "sad", "sin", "sqrt", "sub", "subc", "tanh", "xor",
];

/// The type of each operand; `None` for one whose register is not checked.
fn operand_types(i: &Instruction) -> Vec<Option<Type>> {
    let types: Vec<Type> = i.mods.iter().filter_map(|m| Type::parse(m)).collect();
    let is_last = i.mods.last().is_some_and(|m| Type::parse(m).is_some());
    let last = types.last().filter(|ty| is_last && **ty != Type::Pred);
    let Some(&last) = last else {
        return vec![];
    };
    let first = types.first().copied();
    let (ty, count) = (Some(last), Some(U32));
    let is_wide = i.mods.iter().any(|m| m == "wide");
    match i.opcode.as_str() {
        "mul" | "mad" if is_wide => vec![wide(last), ty, ty, wide(last)],
        "shfl" | "redux" => vec![ty, ty],
        "selp" => vec![ty, ty, ty],
        // Two types are those of an accumulator and of a factor.
        opcode if UNIFORM.contains(&opcode) && types.len() == 1 => vec![ty; i.operands.len()],
        "ld" | "ldu" => vec![ty],
        "st" | "testp" => vec![None, ty],
        "setp" => vec![None, ty, ty],
        "set" | "cvt" if types.len() == 2 => vec![first, ty, ty],
        "slct" if types.len() == 2 => vec![first, first, first, ty],
        "shl" | "shr" => vec![ty, ty, count],
        "shf" => vec![ty, ty, ty, count],
        "bfe" => vec![ty, ty, count, count],
        "bfi" => vec![ty, ty, ty, count, count],
        "popc" | "clz" | "bfind" => vec![count, ty],
        "dp4a" | "dp2a" => vec![count; 4],
        "atom" => vec![ty, None, ty, ty],
        "red" => vec![None, ty],
        _ => vec![],
    }
}

/// The type of the whole product of two values.
fn wide(ty: Type) -> Option<Type> {
    Some(match ty.bytes() {
        2 => S32,
        4 => U64,
        _ => return None,
    })
}

/// Where a register stands.
#[derive(Clone, Copy)]
struct Position {
    /// Whether it may be wider than the type: in `ld`, `st` and `cvt`.
    wider: bool,
    /// Whether it is an element of a vector.
    in_vector: bool,
}

/// Whether a register declared as `declared` may be an operand of type `ty`.
fn fits(ty: Type, declared: Type, position: Position) -> bool {
    let (of, is_same_size) = (kind(declared), declared.bytes() == ty.bytes());
    let is_wider = position.wider && declared.bytes() > ty.bytes();
    if !is_same_size && !is_wider {
        return false;
    }
    match kind(ty) {
        Kind::Bits => true,
        // ptxas takes a pair of halves for an integer.
        Kind::Integer => of != Kind::Float || declared == F16x2,
        // In a vector of floats, ptxas takes integers of the same size.
        Kind::Float => {
            let is_integer = position.in_vector && is_same_size && of == Kind::Integer;
            of == Kind::Bits || declared == ty || is_integer
        }
    }
}

/// The types that a register of an operand may have, for errors.
fn allowed(ty: Type) -> String {
    let bits = 8 * ty.bytes();
    match kind(ty) {
        Kind::Bits => format!("a register of {bits} bits"),
        Kind::Integer if ty.bytes() == 1 => "a register of .b16, .u16 or .s16".into(),
        Kind::Integer => format!("a register of .b{bits}, .u{bits} or .s{bits}"),
        Kind::Float if matches!(ty, Bf16 | Bf16x2) => format!("a register of .b{bits}"),
        Kind::Float => format!("a register of .b{bits} or .{}", name(ty)),
    }
}

/// `F16x2` → `f16x2`
fn name(ty: Type) -> String {
    format!("{ty:?}").to_lowercase()
}

impl Lowering<'_> {
    /// Compares the declared types of an instruction's registers with the types of its operands, as ptxas does.
    pub fn check_types(&self, i: &Instruction) -> Result<()> {
        let alone = Position {
            wider: matches!(i.opcode.as_str(), "ld" | "ldu" | "st" | "cvt"),
            in_vector: false,
        };
        let element = Position {
            in_vector: true,
            ..alone
        };
        for (operand, ty) in i.operands.iter().zip(operand_types(i)) {
            match (operand, ty) {
                (_, None) => {}
                // The parts of a packed value.
                (Operand::Vector(_), _) if i.opcode == "mov" => {}
                (Operand::Vector(elements), Some(ty)) => elements
                    .iter()
                    .try_for_each(|operand| self.check_type(operand, ty, element))?,
                (Operand::Pair(d, _), Some(ty)) => self.check_type(d, ty, alone)?,
                (operand, Some(ty)) => self.check_type(operand, ty, alone)?,
            }
        }
        Ok(())
    }

    fn check_type(&self, operand: &Operand, ty: Type, position: Position) -> Result<()> {
        let Some(Binding::Register(slot, declared)) = self.binding(operand) else {
            return Ok(());
        };
        // A register of the wrong size is an error of the operand, with the bits of both.
        let is_wrong_size = if position.wider {
            declared.bytes() < ty.bytes()
        } else {
            Width::of_slot(slot) != Width::of(ty)
        };
        if is_wrong_size || fits(ty, declared, position) {
            return Ok(());
        }
        let (allowed, form, found) = (allowed(ty), &self.form, name(declared));
        let expected = format!("{allowed} as this operand of `{form}` (this one is .{found})");
        Err(self.wrong(&expected, &super::operands::text(operand)))
    }
}
