//! How large a kernel may be: beyond that a text is refused, so that no text takes all memory.

use crate::ast::{Function, Space, Variable};
use crate::error::Result;

use super::{Lowering, layout};

/// Bytes of a variable, and of all variables of a space.
const LARGEST: u64 = 1 << 30;
/// Registers of one declaration.
const MOST_REGISTERS: u32 = 1 << 20;
/// Registers of a kernel, those of inlined functions among them.
const MOST_REGISTERS_IN_ALL: u32 = 1 << 22;
/// Instructions of a kernel, those of inlined functions among them.
const MOST_STEPS: usize = 1 << 20;
/// Calls in a function that is called in a function …
const MOST_CALLS: usize = 64;

impl Lowering<'_> {
    /// Whether all of these fit into a device, and their sizes into numbers.
    pub fn check_sizes<'v>(
        &mut self,
        variables: impl IntoIterator<Item = &'v Variable>,
    ) -> Result<()> {
        for variable in variables {
            let registers = variable.range.unwrap_or(1);
            if layout::size(variable) > LARGEST || registers > MOST_REGISTERS {
                self.begin_variable(variable);
                return Err(self.unsupported(": so much memory"));
            }
        }
        Ok(())
    }

    /// The same of the variables of the module together, space by space, and of the parameters.
    pub fn check_module(&mut self, entry: &Function) -> Result<()> {
        let module = self.module;
        self.check_sizes(module.variables.iter().chain(&entry.params))?;
        let spaces = [Space::Global, Space::Const, Space::Shared].map(|s| (s, &module.variables));
        for (space, variables) in spaces.into_iter().chain([(Space::Param, &entry.params)]) {
            let mut end = 0;
            for variable in variables.iter().filter(|v| v.space == space) {
                layout::place(variable, &mut end);
                if end > LARGEST {
                    self.begin_variable(variable);
                    return Err(self.unsupported(": so much memory"));
                }
            }
        }
        Ok(())
    }

    /// Whether the shared memory of all functions together is not too much; one variable's is judged where it
    /// is declared.
    pub fn check_shared(&self) -> Result<()> {
        if self.shared.bytes > LARGEST {
            Err(self.unsupported(": so much shared memory in all"))
        } else {
            Ok(())
        }
    }

    /// Whether what has been lowered so far is not too much.
    pub fn check_growth(&self) -> Result<()> {
        let registers = &self.registers;
        let registers = [registers.words, registers.doubles, registers.preds];
        let why = if registers.iter().any(|&n| n > MOST_REGISTERS_IN_ALL) {
            ": so many registers"
        } else if self.local_bytes > LARGEST {
            ": so much memory"
        } else if self.code.len() > MOST_STEPS {
            ": so many instructions"
        } else if self.calls.len() > MOST_CALLS {
            ": calls so deep"
        } else {
            return Ok(());
        };
        Err(self.unsupported(why))
    }
}
