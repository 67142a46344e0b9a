//! `wmma.load` and `wmma.store`.

use crate::ast::{Instruction, Operand, Type};
use crate::code::{Op, Reg, WmmaMemory};
use crate::error::Result;

use super::Lowering;
use super::matrix::{element, of_wmma, shape};
use super::modifiers::{mods, space_of};

impl Lowering<'_> {
    /// `wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 r, [a], stride`,
    /// `wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [a], r, stride`
    pub fn wmma_memory(&mut self, i: &Instruction) -> Result<()> {
        let [kind, matrix, "sync", "aligned", layout, dimensions, .., ty] = *mods(i) else {
            return Err(self.unsupported(""));
        };
        let (Some(shape), Some(element)) = (shape(dimensions), element(ty)) else {
            return Err(self.unsupported(": its shape or elements"));
        };
        let store = kind == "store";
        let matrix = matrix.chars().next().unwrap_or('d');
        let column_major = layout == "col";
        let (at, regs, stride) = self.wmma_operands(i, store)?;
        let (m, n, k) = shape;
        let size = match matrix {
            'a' => (m, k),
            'b' => (k, n),
            _ => (m, n),
        };
        let expected = of_wmma(matrix, size, element);
        if regs.len() != expected {
            let found = regs.len().to_string();
            return Err(self.wrong(&format!("a fragment of {expected} registers"), &found));
        }
        let at = self.address(space_of(i), at)?;
        let memory = WmmaMemory {
            matrix,
            shape,
            element,
            column_major,
            at,
            stride,
            regs,
            store,
        };
        self.emit_only(Op::WmmaMemory(Box::new(memory)))
    }

    /// Returns the address, the fragment and the stride.
    fn wmma_operands<'i>(
        &mut self,
        i: &'i Instruction,
        store: bool,
    ) -> Result<(&'i Operand, Vec<Reg>, Option<Reg>)> {
        let ([first, second], more) = self.operands_and_more::<2>(i)?;
        let stride = more
            .first()
            .map(|stride| self.word(stride, Type::U32))
            .transpose()?;
        if store {
            Ok((first, self.fragment(second)?, stride))
        } else {
            Ok((second, self.fragment_destination(first)?, stride))
        }
    }
}
