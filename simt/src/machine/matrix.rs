//! Products of small matrices by a warp, and the loads that bring their operands into place.

use half::{bf16, f16};

use crate::ast::Space;
use crate::code::{Element, Mma, Op, Reg, Slot, WmmaMemory};
use crate::report::Class;

use super::access::{Kind, Lanes};
use super::block::{Block, Next};
use super::coalesce::{groups, ideal_wavefronts, lanes, wavefronts};

impl Block<'_> {
    /// `ldmatrix`, `mma.sync`, `wmma.*`: all lanes of the warp together.
    pub fn matrix(&mut self, w: usize, pc: u32, active: u32) -> Next {
        if active != !0 {
            let lane = active.trailing_zeros() as usize;
            self.find(Class::WrongMask, w, pc, lane, || {
                format!(
                    "all 32 lanes have to execute it together, and {} do",
                    active.count_ones()
                )
            });
        }
        let kernel = self.grid.kernel;
        match &kernel.code[pc as usize].op {
            Op::LoadMatrix { d, transposed, .. } => self.load_matrix(w, pc, active, d, *transposed),
            Op::Mma(mma) => self.mma(w, pc, mma),
            Op::WmmaMemory(memory) => self.wmma_memory(w, pc, memory),
            _ => {}
        }
        Next::Step
    }

    /// Rows of 16 bytes: lane 8·m + r has the address of row r of matrix m. Each lane gets two elements of
    /// row lane/4 (transposed: of column lane/4).
    fn load_matrix(&mut self, w: usize, pc: u32, active: u32, d: &[Reg], transposed: bool) {
        let kernel = self.grid.kernel;
        let Op::LoadMatrix { from, .. } = &kernel.code[pc as usize].op else {
            return;
        };
        let n = d.len();
        let asked = active & (u64::from(u32::MAX) >> (32 - 8 * n)) as u32;
        let (at, _) = self.resolve(w, pc, asked, from);
        let counts = &mut self.counts[pc as usize];
        counts.shared_load_requests += 1;
        counts.shared_load_wavefronts += wavefronts(&at, asked, 16, false);
        counts.shared_load_ideal += ideal_wavefronts(asked, 16);
        let mut rows = [[0u32; 4]; 32];
        let mut on = Lanes {
            w,
            pc,
            mask: asked,
            space: Space::Shared,
            at: &at,
            groups: &[],
            strong: false,
        };
        on.mask = self.fine_lanes(&on, 16, Kind::Read);
        let groups = groups(&at, on.mask);
        on.groups = &groups;
        let words = self.read_lanes::<4>(on, 4);
        for lane in lanes(on.mask) {
            rows[lane] = words.map(|word| word[lane] as u32);
        }
        let half = |matrix: usize, row: usize, column: usize| {
            rows[8 * matrix + row][column / 2] >> (16 * (column % 2)) & 0xffff
        };
        for (matrix, &d) in d.iter().enumerate() {
            let pair = |lane: usize| {
                let (major, minor) = (lane / 4, 2 * (lane % 4));
                match transposed {
                    false => half(matrix, major, minor) | half(matrix, major, minor + 1) << 16,
                    true => half(matrix, minor, major) | half(matrix, minor + 1, major) << 16,
                }
            };
            self.warps[w].set_word(d, active, std::array::from_fn(pair));
        }
    }

    /// d = a·b + c. Products are summed in f64 and rounded once: hardware sums in f32, in an order of its own.
    fn mma(&mut self, w: usize, pc: u32, mma: &Mma) {
        for regs in [&mma.a_regs, &mma.b_regs, &mma.c_regs] {
            for &r in regs {
                self.check_read(w, pc, !0, &[Slot::Word(r)]);
            }
        }
        let (m, n, k) = (
            mma.shape.0 as usize,
            mma.shape.1 as usize,
            mma.shape.2 as usize,
        );
        self.counts[pc as usize].flops += 2 * (m * n * k) as u64;
        let words = |regs: &[Reg]| -> Vec<[u32; 32]> {
            regs.iter()
                .map(|&r| self.warps[w].words[r as usize])
                .collect()
        };
        let (a, b, c) = (words(&mma.a_regs), words(&mma.b_regs), words(&mma.c_regs));
        let layout = if mma.wmma { Layout::Wmma } else { Layout::Mma };
        let a = gather(&a, mma.a, m, k, |e, i| layout.a(e, i, k));
        let b = gather(&b, mma.b, k, n, |e, i| layout.b(e, i, n));
        let c = gather(&c, mma.c, m, n, |e, i| layout.c(e, i, n));
        let mut d = c;
        for row in 0..m {
            for column in 0..n {
                let products = (0..k).map(|x| a[row * k + x] * b[x * n + column]);
                d[row * n + column] += products.sum::<f64>();
            }
        }
        let packed = scatter(&d, mma.c, mma.d_regs.len(), |e, i| layout.c(e, i, n));
        for (&r, value) in mma.d_regs.iter().zip(packed) {
            self.warps[w].set_word(r, !0, value);
        }
    }

    /// `wmma.load` and `wmma.store`: the fragment's layout is this machine's own.
    fn wmma_memory(&mut self, w: usize, pc: u32, memory: &WmmaMemory) {
        let (m, n, k) = (
            memory.shape.0 as usize,
            memory.shape.1 as usize,
            memory.shape.2 as usize,
        );
        let (rows, columns) = match memory.matrix {
            'a' => (m, k),
            'b' => (k, n),
            _ => (m, n),
        };
        let inner = if memory.column_major { rows } else { columns };
        let stride = memory
            .stride
            .map_or(inner, |r| self.warps[w].words[r as usize][0] as usize);
        let (at, spaces) = self.resolve(w, pc, !0, &memory.at);
        let space = spaces.iter().next().map_or(Space::Global, |s| s.0);
        let size = bytes(memory.element);
        let address = |row: usize, column: usize| {
            let index = if memory.column_major {
                column.wrapping_mul(stride).wrapping_add(row)
            } else {
                row.wrapping_mul(stride).wrapping_add(column)
            };
            at[0].wrapping_add((index as u64).wrapping_mul(u64::from(size)))
        };
        let place = |e: usize, i: (usize, usize, usize)| Layout::Wmma.any(e, i, columns);
        let per = (4 / size) as usize;
        let mut fragment: Vec<[u32; 32]> = memory
            .regs
            .iter()
            .map(|&r| self.warps[w].words[r as usize])
            .collect();
        for (r, register) in fragment.iter_mut().enumerate() {
            for (lane, word) in register.iter_mut().enumerate() {
                for part in 0..per {
                    let (row, column) = place(per, (r, lane, part));
                    if row >= rows {
                        continue;
                    }
                    let at = address(row, column);
                    let shift = 32 / per as u32 * part as u32;
                    if memory.store {
                        let value = u64::from(*word >> shift);
                        let mask = u64::MAX >> (64 - 8 * size);
                        if self.is_fine(w, pc, lane, space, at, size, Kind::Write) {
                            self.write(w, pc, lane, space, at, size, value & mask, false);
                        }
                    } else if self.is_fine(w, pc, lane, space, at, size, Kind::Read) {
                        let value = self.read(w, pc, lane, space, at, size, false) as u32;
                        let mask = (u64::from(u32::MAX) >> (32 - 8 * size)) as u32;
                        *word = (*word & !(mask << shift)) | value << shift;
                    }
                }
            }
        }
        if !memory.store {
            for (&r, value) in memory.regs.iter().zip(fragment) {
                self.warps[w].set_word(r, !0, value);
            }
        }
    }
}

/// Where an element of a matrix lies among registers and lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Of `mma.sync`, as the PTX manual draws it.
    Mma,
    /// Of `wmma`: eight elements a lane, row by row; only this machine has to know.
    Wmma,
}

impl Layout {
    /// Row and column of part `i` of register `r` in lane `l` of a, with `per` elements a register.
    fn a(self, per: usize, (r, l, i): (usize, usize, usize), k: usize) -> (usize, usize) {
        match self {
            Self::Mma => (l / 4 + 8 * (r & 1), l % 4 * per + i + 4 * per * (r >> 1)),
            Self::Wmma => self.any(per, (r, l, i), k),
        }
    }

    /// The same of b.
    fn b(self, per: usize, (r, l, i): (usize, usize, usize), n: usize) -> (usize, usize) {
        match self {
            Self::Mma => (l % 4 * per + i + 4 * per * r, l / 4),
            Self::Wmma => self.any(per, (r, l, i), n),
        }
    }

    /// The same of c and d.
    fn c(self, per: usize, (r, l, i): (usize, usize, usize), n: usize) -> (usize, usize) {
        match self {
            Self::Mma if per == 1 => (l / 4 + 8 * (r >> 1), l % 4 * 2 + (r & 1)),
            Self::Mma => (l / 4 + 8 * r, l % 4 * 2 + i),
            Self::Wmma => self.any(per, (r, l, i), n),
        }
    }

    /// Elements one after the other: eight in each lane. A row beyond the matrix is a repetition.
    fn any(self, per: usize, (r, l, i): (usize, usize, usize), columns: usize) -> (usize, usize) {
        let in_lane = r * per + i;
        if in_lane >= 8 {
            return (usize::MAX, 0);
        }
        let index = 8 * l + in_lane;
        (index / columns, index % columns)
    }
}

/// The matrix (rows, columns) that registers hold.
fn gather(
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
fn scatter(
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

fn bytes(element: Element) -> u32 {
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
