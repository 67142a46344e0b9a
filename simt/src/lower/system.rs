//! System functions of the device, which no text defines.

use crate::ast::{Operand, Type};
use crate::code::{Op, Reg, Slot};
use crate::error::Result;

use super::Lowering;
use super::calls::Call;
use super::names::Binding;

impl<'a> Lowering<'a> {
    /// `call (d), vprintf, (format, values)`
    pub fn print(&mut self, call: &Call<'a>) -> Result<()> {
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
    pub fn assert_fail(&mut self, call: &Call<'a>) -> Result<()> {
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
