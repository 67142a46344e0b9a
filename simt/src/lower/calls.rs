//! Calls: the body of the function stands in place of the call, with registers of its own.
//!
//! A `.param` variable lies in the thread's local memory; a parameter of the function is the same memory as
//! the variable that is given for it, so that arrays need no copy.

use crate::ast::{Function, Instruction, Operand, Space, Statement, Type, Variable};
use crate::code::{Address, Op, Reg, Slot};
use crate::error::Result;

use super::Lowering;
use super::names::Binding;
use super::operands::text;
use super::registers::Width;

/// The parts of `call (returns), name, (arguments)`.
struct Call<'a> {
    returns: &'a [Operand],
    name: &'a str,
    arguments: &'a [Operand],
}

/// `None` if something stands behind the arguments, as for an indirect call.
fn parts(operands: &[Operand]) -> Option<Call<'_>> {
    match operands {
        [Operand::Name(name)] => Some(Call {
            returns: &[],
            name,
            arguments: &[],
        }),
        [Operand::Name(name), Operand::List(arguments)] => Some(Call {
            returns: &[],
            name,
            arguments,
        }),
        [Operand::List(returns), Operand::Name(name)] => Some(Call {
            returns,
            name,
            arguments: &[],
        }),
        [
            Operand::List(returns),
            Operand::Name(name),
            Operand::List(arguments),
        ] => Some(Call {
            returns,
            name,
            arguments,
        }),
        _ => None,
    }
}

impl<'a> Lowering<'a> {
    /// `call (d), name, (a, b)`
    pub fn call(&mut self, i: &'a Instruction) -> Result<()> {
        let Some(call) = parts(&i.operands) else {
            return Err(self.unsupported(": indirect calls"));
        };
        let function = self.functions.get(call.name).copied();
        match (
            call.name,
            function.and_then(|f| Some((f, f.body.as_deref()?))),
        ) {
            ("vprintf", None) => self.print(&call),
            ("__assertfail", None) => self.assert_fail(&call),
            (name, _) if self.calls.contains(&name) => {
                Err(self.unsupported(": functions that call themselves"))
            }
            (_, Some((function, body))) => self.inline(&call, function, body),
            (name, None) if self.names.find(name).is_some() => {
                Err(self.unsupported(": indirect calls"))
            }
            (name, None) if function.is_some() => {
                Err(self.unsupported(&format!(": `{name}` has no body")))
            }
            (name, None) => Err(self.wrong("a function", name)),
        }
    }

    /// Puts the body of a function here. Under a guard, the lanes that do not call it go around.
    fn inline(
        &mut self,
        call: &Call<'a>,
        function: &'a Function,
        body: &'a [Statement],
    ) -> Result<()> {
        let end = self.new_label();
        if let Some((p, negated)) = self.guard {
            self.guard = Some((p, !negated));
            self.emit(Op::Branch {
                to: end,
                meet: None,
            });
            self.guard = None;
        }
        let (place, form) = (self.place.clone(), self.form.clone());
        let params = self.arguments(&function.params, call.arguments)?;
        let results = self.results(&function.returns, call.returns)?;
        let behind = self.new_label();
        self.names.enter_function();
        for (variable, binding) in function.params.iter().zip(params) {
            self.declare(variable, binding)?;
        }
        for (variable, binding) in function.returns.iter().zip(&results) {
            self.declare(variable, *binding)?;
        }
        self.calls.push(&function.name);
        self.returns.push(behind);
        self.names.enter_block();
        self.body(body)?;
        self.returns.pop();
        self.calls.pop();
        self.names.leave_function();
        (self.place, self.form, self.guard) = (place, form, None);
        self.set_label(behind);
        for ((variable, binding), to) in function.returns.iter().zip(results).zip(call.returns) {
            self.give_back(variable, binding, to)?;
        }
        self.set_label(end);
        Ok(())
    }

    /// What each parameter of a function is: memory of the caller, or a register with the argument's value.
    fn arguments(
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

    /// What each result of a function is: memory of the caller, or new.
    fn results(
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

    /// A register or memory for a parameter.
    fn room(&mut self, variable: &'a Variable) -> Result<Binding<'a>> {
        match variable.space {
            Space::Reg => self.new_registers(variable),
            _ => Ok(self.new_local(variable)),
        }
    }

    /// The local memory that a name means.
    fn local(&self, operand: &Operand) -> Option<Binding<'a>> {
        match operand {
            Operand::Name(name) => self
                .names
                .find(name)
                .filter(|b| matches!(b, Binding::Memory(Space::Local, _))),
            _ => None,
        }
    }

    /// The value of an argument: of a register, a constant, or memory.
    fn value(&mut self, operand: &Operand, ty: Type) -> Result<Slot> {
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
    fn put(&mut self, to: Binding, value: Slot, ty: Type) -> Result<()> {
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
                });
            }
            _ => return Err(self.unsupported(": predicates as arguments")),
        }
        Ok(())
    }

    /// Moves a result to where the caller wants it, if it is not there.
    fn give_back(&mut self, variable: &Variable, from: Binding, to: &Operand) -> Result<()> {
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

    /// `call (d), vprintf, (format, values)`
    fn print(&mut self, call: &Call<'a>) -> Result<()> {
        let [format, values] = call.arguments else {
            return Err(self.count_error(2, call.arguments.len()));
        };
        let format = self.value(format, Type::U64)?;
        let values = self.value(values, Type::U64)?;
        let d = match call.returns {
            [] => None,
            _ => Some(self.registers.new_word()),
        };
        self.emit(Op::Print { d, format, values });
        match (d, call.returns) {
            (Some(d), [to]) => self.give_word_back(d, to),
            _ => Ok(()),
        }
    }

    fn give_word_back(&mut self, d: Reg, to: &Operand) -> Result<()> {
        match self.binding(to) {
            Some(Binding::Memory(space, offset)) => {
                self.put(Binding::Memory(space, offset), Slot::Word(d), Type::B32)
            }
            _ => {
                let to = self.word_destination(to)?;
                self.emit_move(Slot::Word(to), Slot::Word(d));
                Ok(())
            }
        }
    }

    /// `call __assertfail, (message, file, line, function, size)`
    fn assert_fail(&mut self, call: &Call<'a>) -> Result<()> {
        let [message, file, line, function, ..] = call.arguments else {
            return Err(self.count_error(5, call.arguments.len()));
        };
        let from = vec![
            self.value(message, Type::U64)?,
            self.value(file, Type::U64)?,
            self.value(line, Type::U32)?,
            self.value(function, Type::U64)?,
        ];
        self.emit(Op::AssertFail { from });
        Ok(())
    }
}
