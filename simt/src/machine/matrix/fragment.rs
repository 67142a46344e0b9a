//! Fragment layouts, and the element types of matrices.

use half::{bf16, f16};

use crate::code::Element;

/// The register and lane of a matrix element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// The layout of `mma.sync`, as in the PTX manual.
    Mma,
    /// The layout of `wmma`: row by row, equally many elements per lane. Hardware leaves it undefined.
    Wmma,
}

impl Layout {
    /// Row and column of part `i` of register `r` in lane `l`; the matrix is (rows, columns), with `per`
    /// elements per register.
    pub(super) fn a(
        self,
        per: usize,
        (r, l, i): (usize, usize, usize),
        size: (usize, usize),
    ) -> (usize, usize) {
        match self {
            Self::Mma if size.0 == 8 => (l / 4, l % 4 * per + i + 4 * per * r),
            Self::Mma => (l / 4 + 8 * (r & 1), l % 4 * per + i + 4 * per * (r >> 1)),
            Self::Wmma => any(per, (r, l, i), size),
        }
    }

    /// The same for b.
    pub(super) fn b(
        self,
        per: usize,
        (r, l, i): (usize, usize, usize),
        size: (usize, usize),
    ) -> (usize, usize) {
        match self {
            Self::Mma => (l % 4 * per + i + 4 * per * r, l / 4),
            Self::Wmma => any(per, (r, l, i), size),
        }
    }

    /// The same for c and d.
    pub(super) fn c(
        self,
        per: usize,
        (r, l, i): (usize, usize, usize),
        size: (usize, usize),
    ) -> (usize, usize) {
        match self {
            Self::Mma if per == 1 => (l / 4 + 8 * (r >> 1), l % 4 * 2 + (r & 1)),
            Self::Mma => (l / 4 + 8 * r, l % 4 * 2 + i),
            Self::Wmma => any(per, (r, l, i), size),
        }
    }
}

/// Elements in order, equally many per lane. Registers beyond the elements are unused: for a and b in f16,
/// `wmma` has twice as many as needed.
pub(super) fn any(
    per: usize,
    (r, l, i): (usize, usize, usize),
    (rows, columns): (usize, usize),
) -> (usize, usize) {
    let (in_lane, each) = (r * per + i, rows * columns / 32);
    if in_lane >= each {
        return (usize::MAX, 0);
    }
    let index = each * l + in_lane;
    (index / columns, index % columns)
}

/// Collects a (rows, columns) matrix from registers.
pub(super) fn gather(
    regs: &[[u32; 32]],
    element: Element,
    (rows, columns): (usize, usize),
    place: impl Fn(usize, (usize, usize, usize), (usize, usize)) -> (usize, usize),
) -> Vec<f64> {
    let per = (4 / bytes(element)) as usize;
    let mut matrix = vec![0.; rows * columns];
    for (r, register) in regs.iter().enumerate() {
        for (lane, &word) in register.iter().enumerate() {
            for i in 0..per {
                let (row, column) = place(per, (r, lane, i), (rows, columns));
                if row < rows && column < columns {
                    matrix[row * columns + column] = value(element, word >> (32 / per * i));
                }
            }
        }
    }
    matrix
}

/// Distributes a (rows, columns) matrix over registers.
pub(super) fn scatter(
    matrix: &[f64],
    element: Element,
    regs: usize,
    (rows, columns): (usize, usize),
    place: impl Fn(usize, (usize, usize, usize), (usize, usize)) -> (usize, usize),
) -> Vec<[u32; 32]> {
    let per = (4 / bytes(element)) as usize;
    let mut packed = vec![[0; 32]; regs];
    for (r, register) in packed.iter_mut().enumerate() {
        for (lane, word) in register.iter_mut().enumerate() {
            for i in 0..per {
                let (row, column) = place(per, (r, lane, i), (rows, columns));
                if row < rows && column < columns {
                    let x = matrix[row * columns + column];
                    *word |= bits(element, x) << (32 / per * i);
                }
            }
        }
    }
    packed
}

/// M, N and K of an instruction.
pub(super) fn sizes((m, n, k): (u32, u32, u32)) -> (usize, usize, usize) {
    (m as usize, n as usize, k as usize)
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
        // Tensor cores read 10 bits of a TF32 fraction.
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
