//! Mutations of memory accesses.

use super::{Change, Site};
use crate::ast::{Instruction, Operand, Space, Statement, Type, Variable};

/// Bytes of an access: a whole vector, the row of a matrix, or a copy.
fn bytes(site: &Site) -> Option<i64> {
    match site.instruction.opcode.as_str() {
        // A row of an 8×8 matrix of 16-bit elements.
        "ldmatrix" | "stmatrix" => return Some(16),
        "cp" if site.has("async") => return site.integer(2).and_then(|n| n.try_into().ok()),
        "ld" | "st" | "atom" | "red" if !site.has("param") => {}
        _ => return None,
    }
    let element = Type::parse(site.instruction.mods.last()?)?.bytes();
    let elements = match (site.has("v2"), site.has("v4")) {
        (true, _) => 2,
        (_, true) => 4,
        _ => 1,
    };
    Some(i64::from(element * elements))
}

/// Moves an address by one element: `[%rd1]` → `[%rd1+4]`.
///
/// A vector moves by its own size, because a smaller step would be misaligned and too easy to find.
pub fn shift(site: &Site) -> Vec<Change> {
    let i = site.instruction;
    let Some(bytes) = bytes(site) else {
        return vec![];
    };
    let shifted = |(index, operand): (usize, &Operand)| {
        let Operand::Address(base, offset) = operand else {
            return None;
        };
        let mut now = i.clone();
        now.operands[index] = Operand::Address(base.clone(), offset + bytes);
        Some(now.into())
    };
    i.operands.iter().enumerate().filter_map(shifted).collect()
}

/// Deletes a store, an atomic update without a result, or the start of a copy.
pub fn drop_store(site: &Site) -> Vec<Change> {
    let opcode = site.instruction.opcode.as_str();
    let copies = opcode == "cp" && bytes(site).is_some();
    let stores = matches!(opcode, "st" | "red" | "stmatrix") && !site.has("param");
    if stores || copies {
        vec![Change::Dropped]
    } else {
        vec![]
    }
}

/// `atom.shared.add.u32 d, [a], b` → `{ ld.shared.u32 d, [a]; add.u32 t, d, b; st.shared.u32 [a], t }`
pub fn plain_update(site: &Site) -> Vec<Change> {
    let i = site.instruction;
    let [destination @ Operand::Name(_), address, value] = &i.operands[..] else {
        return vec![];
    };
    let operation = ["add", "min", "max", "and", "or", "xor"];
    let operation = operation.iter().find(|o| site.has(o));
    let space = ["shared", "global"];
    let space = space.iter().find(|s| site.has(s));
    let ty = i.mods.last().and_then(|m| Some((m, Type::parse(m)?)));
    let ("atom", Some(operation), Some(space), Some((name, ty))) =
        (i.opcode.as_str(), operation, space, ty)
    else {
        return vec![];
    };
    let sum = Operand::Name("%mutated".into());
    let step = |opcode: &str, mods: &[&str], operands: &[&Operand]| {
        Statement::Instruction(Instruction {
            opcode: opcode.into(),
            mods: mods.iter().map(|m| (*m).into()).collect(),
            operands: operands.iter().map(|&o| o.clone()).collect(),
            ..i.clone()
        })
    };
    vec![Change::Becomes(Statement::Block(vec![
        Statement::Variable(register("%mutated", ty, i.line)),
        step("ld", &[space, name], &[destination, address]),
        step(operation, &[name], &[&sum, destination, value]),
        step("st", &[space, name], &[address, &sum]),
    ]))]
}

/// `.reg .u32 %mutated;`
fn register(name: &str, ty: Type, line: u32) -> Variable {
    Variable {
        space: Space::Reg,
        ty,
        vector: 1,
        name: name.into(),
        range: None,
        dims: vec![],
        align: ty.bytes(),
        init: vec![],
        is_extern: false,
        line,
    }
}
