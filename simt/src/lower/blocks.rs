//! `ldmatrix` and `stmatrix`: 8×8 blocks between shared memory and registers.

use crate::ast::Instruction;
use crate::code::Op;
use crate::error::Result;

use super::Lowering;
use super::modifiers::{has, mods, space_of};

impl Lowering<'_> {
    /// `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {a, b, c, d}, [from]`
    pub fn load_matrix(&mut self, i: &Instruction) -> Result<()> {
        let blocks = self.blocks(i)?;
        let [d, from] = self.operands::<2>(i)?;
        let d = self.fragment_destination(d)?;
        if d.len() != blocks {
            return Err(self.count_error(blocks, d.len()));
        }
        let from = self.address(space_of(i), from)?;
        self.emit_only(Op::LoadMatrix {
            d,
            transposed: has(i, "trans"),
            from,
        })
    }

    /// `stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [to], {a, b, c, d}`
    pub fn store_matrix(&mut self, i: &Instruction) -> Result<()> {
        let blocks = self.blocks(i)?;
        let [to, from] = self.operands::<2>(i)?;
        let from = self.fragment(from)?;
        if from.len() != blocks {
            return Err(self.count_error(blocks, from.len()));
        }
        let to = self.address(space_of(i), to)?;
        self.emit_only(Op::StoreMatrix {
            to,
            from,
            transposed: has(i, "trans"),
        })
    }

    /// Number of blocks, from the modifiers.
    fn blocks(&self, i: &Instruction) -> Result<usize> {
        match mods(i).as_slice() {
            ["sync", "aligned", "m8n8", "x1", .., "b16"] => Ok(1),
            ["sync", "aligned", "m8n8", "x2", .., "b16"] => Ok(2),
            ["sync", "aligned", "m8n8", "x4", .., "b16"] => Ok(4),
            _ => Err(self.unsupported("")),
        }
    }
}
