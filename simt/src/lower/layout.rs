//! Memory layout of parameters, shared variables and the module's constants.

use std::collections::{HashMap, HashSet};

use crate::ast::{Function, Instruction, Module, Operand, Space, Statement, Variable};
use crate::code::{Param, Region};

/// Size of a variable in bytes; 0 for `x[]`.
pub(super) fn size(variable: &Variable) -> u64 {
    let element = u64::from(variable.ty.bytes()) * u64::from(variable.vector.max(1));
    variable
        .dims
        .iter()
        .fold(element, |bytes, n| bytes.saturating_mul(*n))
}

/// Alignment of a variable in bytes.
fn align(variable: &Variable) -> u64 {
    let vector = if variable.vector > 1 {
        variable.ty.bytes() * variable.vector
    } else {
        1
    };
    u64::from(variable.align.max(vector))
}

/// Rounds up to a multiple, saturating; sizes that large are rejected elsewhere.
fn aligned(offset: u64, align: u64) -> u64 {
    offset.checked_next_multiple_of(align).unwrap_or(u64::MAX)
}

/// Places a variable at the first aligned offset from `end` on, returns the offset, and moves `end` past it.
pub(super) fn place(variable: &Variable, end: &mut u64) -> u64 {
    let offset = aligned(*end, align(variable));
    *end = offset.saturating_add(size(variable));
    offset
}

/// Lays out the parameters of an entry; returns them and the total bytes.
pub(super) fn params(entry: &Function) -> (Vec<Param>, u64) {
    let mut end = 0;
    let param = |variable: &Variable| Param {
        name: variable.name.clone(),
        offset: place(variable, &mut end) as u32,
        bytes: size(variable) as u32,
        ty: (variable.dims.is_empty() && variable.vector <= 1).then_some(variable.ty),
    };
    let params = entry.params.iter().map(param).collect();
    (params, end)
}

/// Lays out the module's `.const` variables; returns their bytes and offsets.
pub(super) fn constants(module: &Module) -> (Vec<u8>, Vec<(&Variable, u64)>) {
    let mut bytes = Vec::new();
    let mut offsets = Vec::new();
    let mut end = 0;
    for variable in module.variables.iter().filter(|v| v.space == Space::Const) {
        let offset = place(variable, &mut end);
        bytes.resize(offset as usize, 0);
        bytes.extend_from_slice(&variable.init);
        bytes.resize(end as usize, 0);
        offsets.push((variable, offset));
    }
    (bytes, offsets)
}

/// Returns the source name of a variable. C++ compilers mangle it as `_ZZ…E`, the length of the name, and the
/// name.
fn source_name(name: &str) -> &str {
    let within = |(at, _): (usize, &str)| {
        let rest = &name[at + 1..];
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let length: usize = rest[..digits].parse().ok()?;
        let (name, behind) = rest[digits..].split_at_checked(length)?;
        (behind.is_empty() || behind.starts_with('_')).then_some(name)
    };
    let mangled = name.starts_with("_ZZ");
    let mut ends = name.rmatch_indices('E').filter(|_| mangled);
    ends.find_map(within).unwrap_or(name)
}

/// The shared memory of a kernel. Variables are identified by line and name, so a function inlined twice has
/// its variables once.
#[derive(Debug, Default)]
pub(super) struct Shared<'a> {
    /// Offset of each variable.
    pub offsets: HashMap<(u32, &'a str), u64>,
    /// Variables of known size.
    pub regions: Vec<Region>,
    /// Bytes before the memory whose size the launch gives.
    pub bytes: u64,
}

impl<'a> Shared<'a> {
    /// Lays out the shared variables of an entry and the functions it calls. `.extern` variables all start
    /// where the others end.
    pub fn of(module: &'a Module, entry: &'a Function) -> Self {
        let uses = Uses::of(module, entry);
        let of_module = module
            .variables
            .iter()
            .filter(|v| uses.names.contains(v.name.as_str()));
        let all = of_module
            .chain(uses.variables.iter().copied())
            .filter(|v| v.space == Space::Shared);
        let (dynamic, fixed): (Vec<_>, Vec<_>) = all.partition(|v| v.is_extern);
        let mut shared = Self::default();
        for variable in fixed {
            let offset = place(variable, &mut shared.bytes);
            shared
                .offsets
                .insert((variable.line, &variable.name), offset);
            shared.regions.push(Region {
                name: source_name(&variable.name).to_owned(),
                offset,
                bytes: size(variable),
            });
        }
        if !dynamic.is_empty() {
            let align = dynamic.iter().map(|v| align(v)).max().unwrap_or(1).max(16);
            shared.bytes = aligned(shared.bytes, align);
        }
        for variable in dynamic {
            shared
                .offsets
                .insert((variable.line, &variable.name), shared.bytes);
        }
        shared
    }

    /// Offset of a variable, if this kernel uses it.
    pub fn offset(&self, variable: &'a Variable) -> Option<u64> {
        self.offsets
            .get(&(variable.line, variable.name.as_str()))
            .copied()
    }
}

/// Names and variables in the bodies of an entry and the functions it calls.
#[derive(Default)]
struct Uses<'a> {
    names: HashSet<&'a str>,
    variables: Vec<&'a Variable>,
}

impl<'a> Uses<'a> {
    fn of(module: &'a Module, entry: &'a Function) -> Self {
        let mut uses = Self::default();
        let mut seen = HashSet::new();
        let mut next = vec![entry];
        while let Some(function) = next.pop() {
            if seen.insert(function.name.as_str()) {
                uses.statements(function.body.as_deref().unwrap_or_default());
                let called = |function: &&'a Function| uses.names.contains(function.name.as_str());
                next.extend(module.functions.iter().filter(called));
            }
        }
        uses
    }

    fn statements(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            match statement {
                Statement::Variable(variable) => self.variables.push(variable),
                Statement::Block(inner) => self.statements(inner),
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Label(_) => {}
            }
        }
    }

    fn instruction(&mut self, instruction: &'a Instruction) {
        instruction
            .operands
            .iter()
            .for_each(|operand| self.operand(operand));
    }

    fn operand(&mut self, operand: &'a Operand) {
        match operand {
            Operand::Name(name) | Operand::Offset(name, _) | Operand::Address(Some(name), _) => {
                self.names.insert(name);
            }
            Operand::Element(name, at) => {
                self.names.insert(name);
                at.iter().for_each(|o| self.operand(o));
            }
            Operand::Vector(of) | Operand::List(of) => of.iter().for_each(|o| self.operand(o)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::variable;
    use super::*;
    use crate::ast::Type;

    #[test]
    fn parameters_are_aligned() {
        let mut vector = variable(Space::Param, Type::F32, "c", &[]);
        vector.vector = 4;
        let params = vec![
            variable(Space::Param, Type::U32, "a", &[]),
            variable(Space::Param, Type::U64, "b", &[]),
            variable(Space::Param, Type::B8, "bytes", &[3]),
            vector,
        ];
        let mut entry = super::super::testing::entry(vec![]);
        entry.params = params;
        let (params, bytes) = super::params(&entry);
        let offsets: Vec<_> = params.iter().map(|p| (p.offset, p.bytes)).collect();
        assert_eq!(offsets, [(0, 4), (8, 8), (16, 3), (32, 16)]);
        assert_eq!(bytes, 48);
    }

    #[test]
    fn constants_are_laid_out_in_order() {
        let mut first = variable(Space::Const, Type::B8, "first", &[3]);
        first.init = vec![1, 2];
        let second = variable(Space::Const, Type::U32, "second", &[2]);
        let module = Module {
            variables: vec![first, second],
            ..Module::default()
        };
        let (bytes, offsets) = constants(&module);
        assert_eq!(bytes, [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            offsets
                .iter()
                .map(|(_, offset)| *offset)
                .collect::<Vec<_>>(),
            [0, 4]
        );
    }
}
