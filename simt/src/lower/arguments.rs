//! Arguments and results of inlined functions.

use crate::ast::{Operand, Space, Type, Variable};
use crate::code::{Address, Op, Slot};
use crate::error::Result;

use super::Lowering;
use super::names::Binding;
use super::operands::text;
use super::registers::Width;

impl<'a> Lowering<'a> {
    /// Binds each parameter of a function: to memory of the caller, or to a register with the argument's
    /// value.
    pub fn arguments(
        &mut self,
        params: &'a [Variable],
        given: &'a [Operand],
    ) -> Result<Vec<Binding<'a>>> {
        if params.len() != given.len() {
            return Err(self.count_error(params.len(), given.len()));
        }
        let arguments = params.iter().zip(given).map(|(param, operand)| {
            if let (Space::Param, Some(memory)) = (param.space, self.local(operand)) {
                return Ok(memory);
            }
            let value = self.value(operand, param.ty)?;
            let to = self.room(param)?;
            self.put(to, value, param.ty)?;
            Ok(to)
        });
        arguments.collect()
    }

    /// Binds each result of a function: to memory of the caller, or to a new register or memory.
    pub fn results(
        &mut self,
        results: &'a [Variable],
        given: &'a [Operand],
    ) -> Result<Vec<Binding<'a>>> {
        if results.len() != given.len() {
            return Err(self.count_error(results.len(), given.len()));
        }
        let results =
            results
                .iter()
                .zip(given)
                .map(|(result, operand)| match self.local(operand) {
                    Some(memory) if result.space == Space::Param => Ok(memory),
                    _ => self.room(result),
                });
        results.collect()
    }

    /// A new register or memory for a parameter.
    fn room(&mut self, variable: &'a Variable) -> Result<Binding<'a>> {
        match variable.space {
            Space::Reg => self.new_registers(variable),
            _ => Ok(self.new_local(variable)),
        }
    }

    /// The local memory that an operand names.
    fn local(&self, operand: &Operand) -> Option<Binding<'a>> {
        match operand {
            Operand::Name(name) => self
                .names
                .find(name)
                .filter(|b| matches!(b, Binding::Memory(Space::Local, _))),
            _ => None,
        }
    }

    /// The value of an argument: a register, a constant, or memory.
    pub fn value(&mut self, operand: &Operand, ty: Type) -> Result<Slot> {
        let width = Width::of(ty);
        match self.local(operand) {
            Some(Binding::Memory(space, offset)) => {
                let d = self.registers.new_slots(width, 1);
                self.emit_load(d, space, offset, ty);
                Ok(d)
            }
            _ => self.source(width, operand, ty),
        }
    }

    fn emit_load(&mut self, d: Slot, space: Space, offset: u64, ty: Type) {
        let from = Address {
            space,
            base: None,
            offset: offset as i64,
        };
        self.emit(Op::Load {
            d: vec![Some(d)],
            bytes: ty.bytes(),
            signed: false,
            from,
            strong: false,
        });
    }

    /// Writes a value to a register or to memory.
    pub fn put(&mut self, to: Binding, value: Slot, ty: Type) -> Result<()> {
        match to {
            Binding::Register(slot, _) => self.emit_move(slot, value),
            Binding::Memory(space, offset) => {
                let to = Address {
                    space,
                    base: None,
                    offset: offset as i64,
                };
                self.emit(Op::Store {
                    to,
                    from: vec![value],
                    bytes: ty.bytes(),
                    strong: false,
                    release: None,
                });
            }
            _ => return Err(self.unsupported(": predicates as arguments")),
        }
        Ok(())
    }

    /// Moves a result to the caller's operand, unless it is there already.
    pub fn give_back(&mut self, variable: &Variable, from: Binding, to: &Operand) -> Result<()> {
        let to = match (to, self.names.find(&text(to))) {
            (Operand::Name(name), None) if name == "_" => return Ok(()),
            (_, Some(binding @ (Binding::Register(..) | Binding::Memory(Space::Local, _)))) => {
                binding
            }
            _ => return Err(self.wrong("a register or a variable in .param", &text(to))),
        };
        match from {
            _ if from == to => Ok(()),
            Binding::Register(slot, _) => self.put(to, slot, variable.ty),
            Binding::Memory(space, offset) => {
                let slot = self.registers.new_slots(Width::of(variable.ty), 1);
                self.emit_load(slot, space, offset, variable.ty);
                self.put(to, slot, variable.ty)
            }
            _ => Err(self.unsupported(": predicates as results")),
        }
    }
}
