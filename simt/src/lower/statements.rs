//! Bodies of functions: blocks, declarations, labels and instructions.

use crate::ast::{Instruction, Space, Statement, Type, Variable};
use crate::code::{Named, Op};
use crate::error::{Location, Result};

use super::names::Binding;
use super::registers::Width;
use super::{Lowering, layout};

impl<'a> Lowering<'a> {
    /// Lowers the statements of an open block. Labels are visible in the whole block.
    pub fn body(&mut self, statements: &'a [Statement]) -> Result<()> {
        for (statement, next) in statements
            .iter()
            .zip(statements.iter().skip(1).map(Some).chain([None]))
        {
            if let Statement::Label(name) = statement {
                let binding = match next {
                    Some(Statement::Instruction(i)) if i.opcode == "branchtargets" => {
                        Binding::Targets(&i.operands)
                    }
                    _ => Binding::Label(self.new_label()),
                };
                if !self.names.declare(name, binding) {
                    return Err(self.wrong("a name that is declared once", name));
                }
            }
        }
        statements
            .iter()
            .try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &'a Statement) -> Result<()> {
        match statement {
            Statement::Label(name) => {
                if let Some(Binding::Label(label)) = self.names.find(name) {
                    self.set_label(label);
                }
            }
            Statement::Variable(variable) => self.variable(variable)?,
            Statement::Block(inner) => {
                self.names.enter_block();
                self.body(inner)?;
                self.names.leave_block();
            }
            Statement::Instruction(instruction) => {
                self.begin(instruction)?;
                self.instruction(instruction)?;
            }
        }
        self.check_growth()
    }

    /// Records the location of an instruction and its guard.
    fn begin(&mut self, instruction: &Instruction) -> Result<()> {
        let named = |(file, line): &(u32, u32)| Some((*self.files.get(file)?, *line));
        let places: Vec<(&str, u32)> = instruction.loc.iter().filter_map(named).collect();
        // For code in a header of the CUDA toolkit, the calling line is more useful.
        let own = places.iter().find(|(file, _)| !is_of_toolkit(file));
        let place = |&(file, line): &(&str, u32)| (file.to_owned(), line);
        let source = own.or(places.first()).map(place);
        let called = places.last().map(place);
        let is_other =
            |(file, _): &(String, u32)| source.as_ref().is_some_and(|(of, _)| of != file);
        let called = called.filter(is_other).map(Box::new);
        self.location = Location {
            line: instruction.line,
            source,
            called,
        };
        self.form = instruction.form();
        self.guard = None;
        if let Some((name, negated)) = &instruction.guard {
            self.guard = Some((self.pred_named(name)?, *negated));
        }
        Ok(())
    }

    /// Lowers a declaration in a body.
    pub fn variable(&mut self, variable: &'a Variable) -> Result<()> {
        self.begin_variable(variable);
        self.check_sizes([variable])?;
        let binding = match variable.space {
            Space::Reg => return self.register(variable),
            Space::Shared => match self.shared.offset(variable) {
                Some(offset) => Binding::Memory(Space::Shared, offset),
                None => return Ok(()),
            },
            Space::Local | Space::Param => self.new_local(variable),
            Space::Global | Space::Const | Space::Cluster | Space::Generic => {
                return Err(self.unsupported(": inside of a function"));
            }
        };
        self.declare(variable, binding)
    }

    /// Records the location of a declaration.
    pub fn begin_variable(&mut self, variable: &Variable) {
        self.location = Location {
            line: variable.line,
            ..Location::default()
        };
        self.form = format!(".{:?} {}", variable.space, variable.name).to_lowercase();
    }

    /// Declares a register or a range.
    fn register(&mut self, variable: &'a Variable) -> Result<()> {
        let first = self.new_registers(variable)?;
        match variable.range {
            None => self.declare(variable, first),
            Some(count) => {
                let new = self.names.declare_range(&variable.name, count, first);
                new.then_some(())
                    .ok_or_else(|| self.wrong("a name that is declared once", &variable.name))
            }
        }
    }

    /// Allocates the registers of a declaration and returns the first.
    pub fn new_registers(&mut self, variable: &Variable) -> Result<Binding<'a>> {
        let count = variable.range.unwrap_or(1);
        match variable.ty {
            Type::B128 => Err(self.unsupported(": registers of 128 bits")),
            _ if variable.vector > 1 => Err(self.unsupported(": registers that are vectors")),
            Type::Pred => Ok(Binding::Pred(self.registers.new_preds(count))),
            ty => {
                let first = self.registers.new_slots(Width::of(ty), count);
                self.registers.names.push(Named {
                    name: variable.name.clone(),
                    first,
                    row: variable.range,
                });
                Ok(Binding::Register(first, ty))
            }
        }
    }

    /// Allocates a variable in the thread's local memory.
    pub fn new_local(&mut self, variable: &Variable) -> Binding<'a> {
        Binding::Memory(Space::Local, layout::place(variable, &mut self.local_bytes))
    }

    /// Declares a name, which must be new in its block.
    pub fn declare(&mut self, variable: &'a Variable, binding: Binding<'a>) -> Result<()> {
        let new = self.names.declare(&variable.name, binding);
        new.then_some(())
            .ok_or_else(|| self.wrong("a name that is declared once", &variable.name))
    }

    /// Allocates a label whose position is not known yet.
    pub fn new_label(&mut self) -> u32 {
        self.labels.push(None);
        self.labels.len() as u32 - 1
    }

    /// Places a label before the next step.
    pub fn set_label(&mut self, label: u32) {
        self.labels[label as usize] = Some(self.code.len() as u32);
    }

    /// Replaces labels in branches by positions.
    pub fn resolve_labels(&mut self) {
        let end = self.code.len() as u32 - 1;
        let position = |label: &mut u32| *label = self.labels[*label as usize].unwrap_or(end);
        for step in &mut self.code {
            match &mut step.op {
                Op::Branch { to, .. } => position(to),
                Op::BranchIndex { to, .. } => to.iter_mut().for_each(position),
                _ => {}
            }
        }
    }
}

/// Whether a file belongs to the CUDA toolkit; nvcc names it from its own folder, `cuda/bin/../include`.
fn is_of_toolkit(file: &str) -> bool {
    file.replace('\\', "/").contains("/bin/../")
}
