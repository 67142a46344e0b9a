//! Name resolution: declarations of the enclosing blocks, the innermost first.

use std::collections::HashMap;

use crate::ast::{Operand, Space, Type};
use crate::code::{Reg, Slot};

/// The meaning of a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Binding<'a> {
    /// A predicate.
    Pred(Reg),
    /// A register of words or doubles, with its declared type.
    Register(Slot, Type),
    /// A variable: its space and its offset in bytes.
    Memory(Space, u64),
    /// A module variable in global memory, whose address the launch sets.
    Global(&'a str),
    /// A label, by its number.
    Label(u32),
    /// A list of labels.
    Targets(&'a [Operand]),
}

impl Binding<'_> {
    /// The register `n` places further in a range: from `%f0` to `%f3`.
    fn plus(self, n: Reg) -> Self {
        match self {
            Binding::Pred(p) => Binding::Pred(p + n),
            Binding::Register(Slot::Word(r), ty) => Binding::Register(Slot::Word(r + n), ty),
            Binding::Register(Slot::Double(r), ty) => Binding::Register(Slot::Double(r + n), ty),
            other => other,
        }
    }
}

/// The names that a block declares.
#[derive(Debug, Default)]
struct Scope<'a> {
    names: HashMap<&'a str, Binding<'a>>,
    /// `%f<9>`: the prefix, the number of registers and the first register.
    ranges: HashMap<&'a str, (u32, Binding<'a>)>,
}

impl<'a> Scope<'a> {
    fn find(&self, name: &str) -> Option<Binding<'a>> {
        self.names
            .get(name)
            .copied()
            .or_else(|| self.find_in_ranges(name))
    }

    /// Finds a register in a range. `%f12` is number 12 of `%f<…>` or number 2 of `%f1<…>`, so every split
    /// between digits is tried.
    fn find_in_ranges(&self, name: &str) -> Option<Binding<'a>> {
        if self.ranges.is_empty() {
            return None;
        }
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        (prefix.len()..name.len()).find_map(|at| {
            let (prefix, digits) = name.split_at(at);
            let (count, first) = self.ranges.get(prefix)?;
            let leading_zero = digits.len() > 1 && digits.starts_with('0');
            let n: u32 = digits.parse().ok()?;
            (n < *count && !leading_zero).then(|| first.plus(n))
        })
    }
}

/// The names of the module and of the functions being lowered. A function sees its own blocks and the module,
/// but nothing of its caller.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    module: Scope<'a>,
    functions: Vec<Vec<Scope<'a>>>,
}

impl<'a> Names<'a> {
    /// Opens the scope of a function.
    pub fn enter_function(&mut self) {
        self.functions.push(vec![Scope::default()]);
    }

    /// Closes the scope of a function.
    pub fn leave_function(&mut self) {
        self.functions.pop();
    }

    /// Opens the scope of a block.
    pub fn enter_block(&mut self) {
        if let Some(blocks) = self.functions.last_mut() {
            blocks.push(Scope::default());
        }
    }

    /// Closes the scope of a block.
    pub fn leave_block(&mut self) {
        if let Some(blocks) = self.functions.last_mut() {
            blocks.pop();
        }
    }

    /// Declares a name in the innermost block; returns false if the block has it already.
    pub fn declare(&mut self, name: &'a str, binding: Binding<'a>) -> bool {
        self.innermost().names.insert(name, binding).is_none()
    }

    /// Declares `name0` to `name(count - 1)` as consecutive registers.
    pub fn declare_range(&mut self, name: &'a str, count: u32, first: Binding<'a>) -> bool {
        self.innermost()
            .ranges
            .insert(name, (count, first))
            .is_none()
    }

    /// Returns what a name means here.
    pub fn find(&self, name: &str) -> Option<Binding<'a>> {
        let blocks = self.functions.last().into_iter().flatten().rev();
        blocks
            .chain([&self.module])
            .find_map(|scope| scope.find(name))
    }

    fn innermost(&mut self) -> &mut Scope<'a> {
        match self
            .functions
            .last_mut()
            .and_then(|blocks| blocks.last_mut())
        {
            Some(scope) => scope,
            None => &mut self.module,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(n: Reg) -> Binding<'static> {
        Binding::Register(Slot::Word(n), Type::B32)
    }

    #[test]
    fn the_innermost_declaration_counts() {
        let mut names = Names::default();
        assert!(names.declare("x", Binding::Global("x")));
        names.enter_function();
        assert!(names.declare("a", word(1)));
        names.enter_block();
        assert!(names.declare("a", word(2)));
        assert!(!names.declare("a", word(3)), "twice in a block");
        names.leave_block();
        assert_eq!(names.find("a"), Some(word(1)));
        assert_eq!(names.find("x"), Some(Binding::Global("x")));
        names.enter_function();
        assert_eq!(
            names.find("a"),
            None,
            "a function sees nothing of its caller"
        );
    }

    #[test]
    fn a_range_is_consecutive_registers() {
        let mut names = Names::default();
        names.enter_function();
        names.declare_range("%r", 12, word(100));
        names.declare_range("%r1x", 2, word(200));
        assert_eq!(names.find("%r0"), Some(word(100)));
        assert_eq!(names.find("%r11"), Some(word(111)));
        assert_eq!(names.find("%r12"), None);
        assert_eq!(names.find("%r01"), None);
        assert_eq!(names.find("%r1x1"), Some(word(201)));
        assert_eq!(names.find("%r"), None);
    }

    #[test]
    fn a_range_whose_name_ends_with_a_digit() {
        let mut names = Names::default();
        names.enter_function();
        names.declare_range("%x2", 20, word(0));
        assert_eq!(names.find("%x213"), Some(word(13)));
    }
}
