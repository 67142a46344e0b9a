//! `mma` and `wmma.mma`.

use crate::ast::{Instruction, Operand, Type};
use crate::code::{Element, Mma, Op, Reg};
use crate::error::Result;

use super::Lowering;
use super::modifiers::mods;

/// Parses an element type: `bf16` …
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

/// M, N, K.
type Shape = (u32, u32, u32);

/// `m16n8k16` → (16, 8, 16).
pub(super) fn shape(name: &str) -> Option<Shape> {
    let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    let parse = |n: &str| n.parse().ok().filter(|n| *n <= 256);
    Some((parse(m)?, parse(n)?, parse(k)?))
}

/// Whether this crate has a matmul of this shape and these element types. m8n8k4, which is four matmuls at
/// once, is not supported.
fn is_there(wmma: bool, shape: Shape, (a, b): (Element, Element), c: Element) -> bool {
    use Element::{Bf16, F16, F32, S8, S32, Tf32, U8};
    let of_16_bits = matches!((a, b, c), (F16, F16, F16 | F32) | (Bf16, Bf16, F32));
    let of_8_bits = matches!((a, b, c), (S8 | U8, S8 | U8, S32)) && (a == b || !wmma);
    let of_tf32 = (a, b, c) == (Tf32, Tf32, F32);
    match (wmma, shape) {
        (false, (16, 8, 8)) => of_16_bits || of_tf32,
        (false, (16, 8, 16)) => of_16_bits || of_8_bits,
        (false, (16, 8, 4)) => of_tf32,
        (false, (8, 8, 16) | (16, 8, 32)) => of_8_bits,
        (true, (16, 16, 16) | (32, 8, 16) | (8, 32, 16)) => of_16_bits || of_8_bits,
        (true, (16, 16, 8)) => of_tf32,
        _ => false,
    }
}

/// Words per lane if the 32 lanes share the elements equally.
fn share(rows: u32, columns: u32, element: Element) -> usize {
    let bytes = match element {
        Element::S8 | Element::U8 => 1,
        Element::F16 | Element::Bf16 => 2,
        Element::Tf32 | Element::F32 | Element::S32 => 4,
    };
    (rows * columns * bytes / 128) as usize
}

/// Words per lane of a `wmma` matrix; a and b of f16 have twice as many as they need.
pub(super) fn of_wmma(matrix: char, (rows, columns): (u32, u32), element: Element) -> usize {
    match (matrix, element) {
        ('a' | 'b', Element::F16) => 8,
        _ => share(rows, columns, element),
    }
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

    /// `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 d, a, b, c`. The inputs are f16 unless more types are
    /// given.
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
        if !is_there(wmma, shape, (a, b), c) {
            return Err(self.unsupported(": its shape with these elements"));
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

    /// Checks the number of registers of each fragment. In `wmma`, a and b of f16 have twice as many as they
    /// need.
    fn check_fragments(&self, mma: &Mma) -> Result<()> {
        let (m, n, k) = mma.shape;
        let operand = |rows, columns, element| {
            if mma.wmma {
                of_wmma('a', (rows, columns), element)
            } else {
                share(rows, columns, element)
            }
        };
        let sums = share(m, n, mma.c);
        let expected = [sums, operand(m, k, mma.a), operand(k, n, mma.b), sums];
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

    /// Words of a source fragment.
    pub fn fragment(&mut self, operand: &Operand) -> Result<Vec<Reg>> {
        registers(operand)
            .iter()
            .map(|register| self.word(register, Type::B32))
            .collect()
    }

    /// Words of a destination fragment.
    pub fn fragment_destination(&mut self, operand: &Operand) -> Result<Vec<Reg>> {
        registers(operand)
            .iter()
            .map(|register| self.word_destination(register))
            .collect()
    }
}

/// The registers of `{a, b}`, or a single register.
fn registers(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(registers) => registers,
        single => std::slice::from_ref(single),
    }
}
