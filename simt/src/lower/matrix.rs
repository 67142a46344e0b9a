//! Products of matrices.

use crate::ast::{Instruction, Operand, Type};
use crate::code::{Element, Mma, Op, Reg};
use crate::error::Result;

use super::Lowering;
use super::modifiers::mods;

/// `bf16` …
pub(super) fn element(name: &str) -> Option<Element> {
    Some(match name {
        "f16" => Element::F16,
        "bf16" => Element::Bf16,
        "tf32" => Element::Tf32,
        "f32" => Element::F32,
        "s8" => Element::S8,
        "u8" => Element::U8,
        "s32" => Element::S32,
        _ => return None,
    })
}

/// `m16n8k16` → (16, 8, 16).
pub(super) fn shape(name: &str) -> Option<(u32, u32, u32)> {
    let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    let parse = |n: &str| n.parse().ok().filter(|n| *n <= 256);
    Some((parse(m)?, parse(n)?, parse(k)?))
}

/// Words of a lane, if each of the 32 has an equal share of the elements.
fn share(rows: u32, columns: u32, element: Element) -> usize {
    let bytes = match element {
        Element::S8 | Element::U8 => 1,
        Element::F16 | Element::Bf16 => 2,
        Element::Tf32 | Element::F32 | Element::S32 => 4,
    };
    (rows * columns * bytes / 128) as usize
}

impl Lowering<'_> {
    /// `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d, a, b, c`
    pub fn mma(&mut self, i: &Instruction) -> Result<()> {
        match mods(i).as_slice() {
            ["sync", "aligned", shape, "row", "col", d, a, b, c] => {
                self.product(i, shape, [d, a, b, c], false)
            }
            ["sync", "aligned", _, _, _, _, _, _, _] => {
                Err(self.unsupported(": other layouts than .row.col"))
            }
            _ => Err(self.unsupported("")),
        }
    }

    /// `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 d, a, b, c`: of f16 unless more types are named.
    pub fn wmma(&mut self, i: &Instruction) -> Result<()> {
        match mods(i).as_slice() {
            ["mma", "sync", "aligned", _, _, shape, d, c] => {
                self.product(i, shape, [d, "f16", "f16", c], true)
            }
            ["mma", "sync", "aligned", _, _, shape, d, a, b, c] => {
                self.product(i, shape, [d, a, b, c], true)
            }
            _ => Err(self.unsupported("")),
        }
    }

    fn product(&mut self, i: &Instruction, name: &str, types: [&str; 4], wmma: bool) -> Result<()> {
        let [Some(d), Some(a), Some(b), Some(c)] = types.map(element) else {
            return Err(self.unsupported(": its elements"));
        };
        let Some(shape) = shape(name) else {
            return Err(self.unsupported(": its shape"));
        };
        if d != c {
            return Err(self.unsupported(": sums of another type than the result"));
        }
        let operands = self.operands::<4>(i)?;
        let a_regs = self.fragment(&operands[1])?;
        let b_regs = self.fragment(&operands[2])?;
        let c_regs = self.fragment(&operands[3])?;
        let d_regs = self.fragment_destination(&operands[0])?;
        let mma = Mma {
            shape,
            a,
            b,
            c,
            d_regs,
            a_regs,
            b_regs,
            c_regs,
            wmma,
        };
        self.check_fragments(&mma)?;
        self.emit_only(Op::Mma(Box::new(mma)))
    }

    /// Whether the fragments have as many registers as the shape needs. Those of `wmma`, and of m8n8k4, which is
    /// four products at once, hold elements more than once.
    fn check_fragments(&self, mma: &Mma) -> Result<()> {
        let (m, n, k) = mma.shape;
        if mma.wmma || mma.shape == (8, 8, 4) {
            return Ok(());
        }
        let expected = [
            share(m, n, mma.c),
            share(m, k, mma.a),
            share(k, n, mma.b),
            share(m, n, mma.c),
        ];
        let found = [&mma.d_regs, &mma.a_regs, &mma.b_regs, &mma.c_regs].map(Vec::len);
        if expected == found {
            Ok(())
        } else {
            Err(self.wrong(
                &format!("fragments of {expected:?} registers"),
                &format!("{found:?}"),
            ))
        }
    }

    /// The words of a fragment that is read.
    pub fn fragment(&mut self, operand: &Operand) -> Result<Vec<Reg>> {
        registers(operand)
            .iter()
            .map(|register| self.word(register, Type::B32))
            .collect()
    }

    /// The words of a fragment that is written.
    pub fn fragment_destination(&mut self, operand: &Operand) -> Result<Vec<Reg>> {
        registers(operand)
            .iter()
            .map(|register| self.word_destination(register))
            .collect()
    }
}

/// `{a, b}`, or a register alone.
fn registers(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(registers) => registers,
        single => std::slice::from_ref(single),
    }
}
