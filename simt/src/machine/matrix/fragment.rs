//! Where the elements of matrices lie in registers, and their formats.

use half::{bf16, f16};

use crate::code::Element;

/// Where an element of a matrix lies among registers and lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Of `mma.sync`, as the PTX manual draws it.
    Mma,
    /// Of `wmma`: eight elements a lane, row by row; only this machine has to know.
    Wmma,
}

impl Layout {
    /// Row and column of part `i` of register `r` in lane `l` of a, with `per` elements a register.
    pub(super) fn a(
        self,
        per: usize,
        (r, l, i): (usize, usize, usize),
        k: usize,
    ) -> (usize, usize) {
        match self {
            Self::Mma => (l / 4 + 8 * (r & 1), l % 4 * per + i + 4 * per * (r >> 1)),
            Self::Wmma => self.any(per, (r, l, i), k),
        }
    }

    /// The same of b.
    pub(super) fn b(
        self,
        per: usize,
        (r, l, i): (usize, usize, usize),
        n: usize,
    ) -> (usize, usize) {
        match self {
            Self::Mma => (l % 4 * per + i + 4 * per * r, l / 4),
            Self::Wmma => self.any(per, (r, l, i), n),
        }
    }

    /// The same of c and d.
    pub(super) fn c(
        self,
        per: usize,
        (r, l, i): (usize, usize, usize),
        n: usize,
    ) -> (usize, usize) {
        match self {
            Self::Mma if per == 1 => (l / 4 + 8 * (r >> 1), l % 4 * 2 + (r & 1)),
            Self::Mma => (l / 4 + 8 * r, l % 4 * 2 + i),
            Self::Wmma => self.any(per, (r, l, i), n),
        }
    }

    /// Elements one after the other: eight in each lane. A row beyond the matrix is a repetition.
    pub(super) fn any(
        self,
        per: usize,
        (r, l, i): (usize, usize, usize),
        columns: usize,
    ) -> (usize, usize) {
        let in_lane = r * per + i;
        if in_lane >= 8 {
            return (usize::MAX, 0);
        }
        let index = 8 * l + in_lane;
        (index / columns, index % columns)
    }
}

/// The matrix (rows, columns) that registers hold.
pub(super) fn gather(
    regs: &[[u32; 32]],
    element: Element,
    rows: usize,
    columns: usize,
    place: impl Fn(usize, (usize, usize, usize)) -> (usize, usize),
) -> Vec<f64> {
    let per = (4 / bytes(element)) as usize;
    let mut matrix = vec![0.; rows * columns];
    for (r, register) in regs.iter().enumerate() {
        for (lane, &word) in register.iter().enumerate() {
            for i in 0..per {
                let (row, column) = place(per, (r, lane, i));
                if row < rows && column < columns {
                    matrix[row * columns + column] = value(element, word >> (32 / per * i));
                }
            }
        }
    }
    matrix
}

/// The registers that hold a matrix.
pub(super) fn scatter(
    matrix: &[f64],
    element: Element,
    regs: usize,
    place: impl Fn(usize, (usize, usize, usize)) -> (usize, usize),
) -> Vec<[u32; 32]> {
    let per = (4 / bytes(element)) as usize;
    let mut packed = vec![[0; 32]; regs];
    // The number of columns, from where the second row begins.
    let columns = matrix.len() / 16;
    for (r, register) in packed.iter_mut().enumerate() {
        for (lane, word) in register.iter_mut().enumerate() {
            for i in 0..per {
                let (row, column) = place(per, (r, lane, i));
                if let Some(&x) = row
                    .checked_mul(columns)
                    .and_then(|at| matrix.get(at + column))
                {
                    *word |= bits(element, x) << (32 / per * i);
                }
            }
        }
    }
    packed
}

pub(super) fn bytes(element: Element) -> u32 {
    match element {
        Element::F16 | Element::Bf16 => 2,
        Element::Tf32 | Element::F32 | Element::S32 => 4,
        Element::S8 | Element::U8 => 1,
    }
}

fn value(element: Element, word: u32) -> f64 {
    match element {
        Element::F16 => f16::from_bits(word as u16).to_f64(),
        Element::Bf16 => bf16::from_bits(word as u16).to_f64(),
        // The tensor cores read 10 bits of the fraction.
        Element::Tf32 => f64::from(f32::from_bits(word & 0xffff_e000)),
        Element::F32 => f64::from(f32::from_bits(word)),
        Element::S8 => f64::from(word as i8),
        Element::U8 => f64::from(word as u8),
        Element::S32 => f64::from(word as i32),
    }
}

fn bits(element: Element, x: f64) -> u32 {
    match element {
        Element::F16 => u32::from(f16::from_f64(x).to_bits()),
        Element::Bf16 => u32::from(bf16::from_f64(x).to_bits()),
        Element::Tf32 | Element::F32 => (x as f32).to_bits(),
        Element::S8 | Element::U8 | Element::S32 => x as i64 as u32,
    }
}
