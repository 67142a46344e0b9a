//! Size limits of a kernel, which keep a text from using up the host's memory.

use crate::ast::{Function, Space, Variable};
use crate::error::Result;

use super::{Lowering, layout};

/// Maximum bytes of a variable, and of all variables of a space.
const LARGEST: u64 = 1 << 30;
/// Maximum bytes of all variables of a space in the module: a launch makes several copies of them.
const LARGEST_OF_MODULE: u64 = 1 << 28;
/// Maximum registers of a declaration.
const MOST_REGISTERS: u32 = 1 << 20;
/// Maximum registers of a kernel, including inlined functions.
const MOST_REGISTERS_IN_ALL: u32 = 1 << 22;
/// Maximum instructions of a kernel, including inlined functions.
const MOST_STEPS: usize = 1 << 20;
/// Maximum targets of all `brx.idx` of a kernel.
const MOST_TARGETS: usize = 1 << 20;
/// Maximum depth of nested calls.
const MOST_CALLS: usize = 64;

impl Lowering<'_> {
    /// Checks that each variable fits a device and its size can be computed.
    pub fn check_sizes<'v>(
        &mut self,
        variables: impl IntoIterator<Item = &'v Variable>,
    ) -> Result<()> {
        for variable in variables {
            let registers = variable.range.unwrap_or(1);
            if layout::size(variable) > LARGEST || registers > MOST_REGISTERS {
                self.begin_variable(variable);
                return Err(self.unsupported(": too much memory"));
            }
        }
        Ok(())
    }

    /// Checks the same for the module's variables together, space by space, and for the parameters.
    pub fn check_module(&mut self, entry: &Function) -> Result<()> {
        let module = self.module;
        self.check_sizes(module.variables.iter().chain(&entry.params))?;
        let spaces = [Space::Global, Space::Const, Space::Shared].map(|s| (s, &module.variables));
        for (space, variables) in spaces.into_iter().chain([(Space::Param, &entry.params)]) {
            let mut end = 0;
            for variable in variables.iter().filter(|v| v.space == space) {
                layout::place(variable, &mut end);
                if end > LARGEST_OF_MODULE {
                    self.begin_variable(variable);
                    return Err(self.unsupported(": too much memory"));
                }
            }
        }
        Ok(())
    }

    /// Checks the shared memory of all functions together. Single variables are checked at their declaration.
    pub fn check_shared(&self) -> Result<()> {
        if self.shared.bytes > LARGEST {
            Err(self.unsupported(": too much shared memory"))
        } else {
            Ok(())
        }
    }

    /// Checks the size of the code and registers so far.
    pub fn check_growth(&self) -> Result<()> {
        let registers = &self.registers;
        let registers = [registers.words, registers.doubles, registers.preds];
        let why = if registers.iter().any(|&n| n > MOST_REGISTERS_IN_ALL) {
            ": too many registers"
        } else if self.local_bytes > LARGEST {
            ": too much memory"
        } else if self.code.len() > MOST_STEPS {
            ": too many instructions"
        } else if self.targets > MOST_TARGETS {
            ": too many targets"
        } else if self.calls.len() > MOST_CALLS {
            ": calls nested too deeply"
        } else {
            return Ok(());
        };
        Err(self.unsupported(why))
    }
}
