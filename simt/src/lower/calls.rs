//! Calls: the body of the function replaces the call, with new registers.
//!
//! A `.param` variable is in the thread's local memory. A function's parameter is the same memory as the
//! variable passed for it, so arrays need no copy.

use crate::ast::{Function, Instruction, Operand, Statement};
use crate::code::Op;
use crate::error::Result;

use super::Lowering;
use super::names::Binding;

/// The parts of `call (returns), name, (arguments)`.
pub(super) struct Call<'a> {
    pub returns: &'a [Operand],
    pub name: &'a str,
    pub arguments: &'a [Operand],
}

/// Splits the operands of a call; `None` if anything follows the arguments, as in an indirect call.
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

    /// Inlines the body of a function. Under a guard, lanes that do not call it branch around it.
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
        let (location, form) = (self.location.clone(), self.form.clone());
        let params = self.arguments(&function.params, call.arguments)?;
        let results = self.results(&function.returns, call.returns)?;
        self.inline_body(function, body, params, &results)?;
        (self.location, self.form, self.guard) = (location, form, None);
        for ((variable, binding), to) in function.returns.iter().zip(results).zip(call.returns) {
            self.give_back(variable, binding, to)?;
        }
        self.set_label(end);
        Ok(())
    }

    /// Lowers the body, which sees only the parameters, the results and the module. `ret` branches to its
    /// end.
    fn inline_body(
        &mut self,
        function: &'a Function,
        body: &'a [Statement],
        params: Vec<Binding<'a>>,
        results: &[Binding<'a>],
    ) -> Result<()> {
        let behind = self.new_label();
        self.returns.push(behind);
        self.calls.push(&function.name);
        self.check_growth()?;
        self.names.enter_function();
        let variables = function.params.iter().chain(&function.returns);
        for (variable, binding) in variables.zip(params.iter().chain(results)) {
            self.declare(variable, *binding)?;
        }
        self.names.enter_block();
        self.body(body)?;
        self.names.leave_function();
        self.calls.pop();
        self.returns.pop();
        self.set_label(behind);
        Ok(())
    }
}
