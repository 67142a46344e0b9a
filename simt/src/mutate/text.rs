//! Formats statements as PTX, to show a mutant's original and changed instruction.

use std::fmt::Write;

use crate::ast::{Immediate, Instruction, Operand, Statement};

/// `@%p ld.global.f32 %f1, [%rd1+4]`; a block becomes its instructions on one line.
pub fn statement(statement: &Statement) -> String {
    match statement {
        Statement::Label(name) => format!("{name}:"),
        Statement::Variable(_) => String::new(),
        Statement::Instruction(i) => instruction(i),
        Statement::Block(inner) => {
            let texts = inner.iter().map(self::statement);
            let texts: Vec<String> = texts.filter(|t| !t.is_empty()).collect();
            format!("{{ {} }}", texts.join("; "))
        }
    }
}

/// `@%p ld.global.f32 %f1, [%rd1+4]`
pub fn instruction(i: &Instruction) -> String {
    let mut text = match &i.guard {
        Some((p, negated)) => format!("@{}{p} ", if *negated { "!" } else { "" }),
        None => String::new(),
    };
    text.push_str(&i.form());
    let operands: Vec<String> = i.operands.iter().map(operand).collect();
    if !operands.is_empty() {
        // Writing into a string cannot fail.
        let _ = write!(text, " {}", operands.join(", "));
    }
    text
}

fn operand(o: &Operand) -> String {
    let all = |list: &[Operand]| list.iter().map(operand).collect::<Vec<_>>().join(", ");
    match o {
        Operand::Name(name) => name.clone(),
        Operand::Not(name) => format!("!{name}"),
        Operand::Offset(name, offset) => format!("{name}{offset:+}"),
        Operand::Immediate(value) => immediate(*value),
        Operand::Address(Some(base), 0) => format!("[{base}]"),
        Operand::Address(Some(base), offset) => format!("[{base}{offset:+}]"),
        Operand::Address(None, offset) => format!("[{offset}]"),
        Operand::Element(base, at) => format!("[{base}, {{{}}}]", all(at)),
        Operand::Vector(list) => format!("{{{}}}", all(list)),
        Operand::Pair(a, b) => format!("{}|{}", operand(a), operand(b)),
        Operand::List(list) => format!("({})", all(list)),
    }
}

fn immediate(value: Immediate) -> String {
    match value {
        Immediate::Int(x) => x.to_string(),
        Immediate::F32(bits) => format!("0f{bits:08X}"),
        Immediate::F64(bits) => format!("0d{bits:016X}"),
    }
}
