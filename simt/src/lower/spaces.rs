//! Generic addresses: `cvta`.

use crate::alu::Alu;
use crate::ast::{Instruction, Space, Type};
use crate::code::{CONST_WINDOW, LOCAL_WINDOW, Op, PARAM_WINDOW, SHARED_WINDOW, Slot};
use crate::error::Result;

use super::Lowering;
use super::lanewise;
use super::modifiers::{has, space};
use super::registers::Width;

/// Base of a space's window; `None` for global, whose addresses are generic already.
pub(super) fn window(space: Space) -> Option<u64> {
    match space {
        Space::Shared | Space::Cluster => Some(SHARED_WINDOW),
        Space::Local => Some(LOCAL_WINDOW),
        Space::Const => Some(CONST_WINDOW),
        Space::Param => Some(PARAM_WINDOW),
        Space::Global | Space::Generic | Space::Reg => None,
    }
}

impl Lowering<'_> {
    /// `cvta.shared.u64 d, a` adds the window's base; `cvta.to.shared.u64 d, a` subtracts it.
    pub fn cvta(&mut self, i: &Instruction) -> Result<()> {
        let [d, a] = self.operands::<2>(i)?;
        let ty = self.last_type(i)?;
        let Some(mut space) = i.mods.iter().find_map(|m| space(m)) else {
            return Err(self.unsupported(": this machine has no such space"));
        };
        if Width::of(ty) == Width::Word {
            return match space {
                Space::Shared | Space::Cluster => self.mov_bits(d, a, ty),
                _ => Err(self.unsupported(": addresses of 32 bits are of shared memory only")),
            };
        }
        if space == Space::Param && self.calls.len() > 1 {
            space = Space::Local; // Parameters of an inlined function are in local memory.
        }
        match window(space) {
            Some(start) if has(i, "to") => self.move_address(d, a, start.wrapping_neg()),
            Some(start) => self.move_address(d, a, start),
            None => self.mov_bits(d, a, Type::B64),
        }
    }

    fn move_address(
        &mut self,
        d: &crate::ast::Operand,
        a: &crate::ast::Operand,
        by: u64,
    ) -> Result<()> {
        let a = self.source(Width::Double, a, Type::U64)?;
        let by = Slot::Double(self.registers.double(by));
        let d = self.destination(Width::Double, d)?;
        self.emit(Op::Alu {
            alu: Alu::DD(lanewise::add),
            d,
            from: vec![a, by],
            flops: 0,
        });
        Ok(())
    }
}
