//! `ldmatrix` and `stmatrix`: 8×8 blocks of 16-bit elements between shared memory and registers.
//!
//! In memory, a block is eight rows of 16 bytes anywhere: lane 8·m + r has the address of row r of block m.
//! In registers, one per block, each lane has two elements of row lane/4, or of column lane/4 if transposed.

use crate::ast::Space;
use crate::code::{Address, Reg, Slot};

use super::super::access::{Kind, Lanes};
use super::super::block::Block;
use super::super::coalesce::{groups, ideal_wavefronts, wavefronts};

/// Size of a row in bytes.
const ROW: u32 = 16;

/// Rows by the lane that has their address, as four words each.
type Rows = [[u32; 32]; 4];

impl Block<'_> {
    /// Loads the blocks whose rows start at `from`.
    pub(super) fn load_matrix(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        d: &[Reg],
        (from, transposed): (&Address, bool),
    ) {
        let asked = active & owners(d.len());
        let (at, _) = self.resolve(w, pc, asked, from);
        self.count_row_loads(pc, asked, &at);
        let mut on = rows_at(w, pc, asked, &at);
        on.mask = self.fine_lanes(&on, ROW, Kind::Read);
        let groups = groups(&at, on.mask);
        on.groups = &groups;
        let rows = self.read_lanes::<4>(on, 4);
        let rows: Rows = rows.map(|word| word.map(|bits| bits as u32));
        for (block, &d) in d.iter().enumerate() {
            let value = std::array::from_fn(|lane| {
                if transposed {
                    pair(|half| {
                        let (row, column) = (2 * (lane % 4) + half, lane / 4);
                        rows[column / 2][8 * block + row] >> (16 * (column % 2))
                    })
                } else {
                    rows[lane % 4][8 * block + lane / 4]
                }
            });
            self.warps[w].set_word(d, active, value);
        }
    }

    /// Counts a load of rows from shared memory.
    pub(super) fn count_row_loads(&mut self, pc: u32, mask: u32, at: &[u64; 32]) {
        let counts = &mut self.counts[pc as usize];
        counts.shared_load_requests += 1;
        counts.shared_load_wavefronts += wavefronts(at, mask, ROW, false);
        counts.shared_load_ideal += ideal_wavefronts(mask, ROW);
    }

    /// Stores blocks to the rows that start at `to`.
    pub(super) fn store_matrix(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        from: &[Reg],
        (to, transposed): (&Address, bool),
    ) {
        for &r in from {
            self.check_read(w, pc, active, &[Slot::Word(r)]);
        }
        let asked = active & owners(from.len());
        let (at, _) = self.resolve(w, pc, asked, to);
        let counts = &mut self.counts[pc as usize];
        counts.shared_store_requests += 1;
        counts.shared_store_wavefronts += wavefronts(&at, asked, ROW, false);
        counts.shared_store_ideal += ideal_wavefronts(asked, ROW);
        let mut on = rows_at(w, pc, asked, &at);
        on.mask = self.fine_lanes(&on, ROW, Kind::Write);
        let groups = groups(&at, on.mask);
        on.groups = &groups;
        for k in 0..4 {
            let value = std::array::from_fn(|lane| {
                let (block, row) = (lane / 8, lane % 8);
                let Some(&r) = from.get(block) else { return 0 };
                let held = &self.warps[w].words[r as usize];
                u64::from(if transposed {
                    pair(|half| held[4 * (2 * k + half) + row / 2] >> (16 * (row % 2)))
                } else {
                    held[4 * row + k]
                })
            });
            let at = at.map(|at| at + 4 * k as u64);
            self.write_lanes(Lanes { at: &at, ..on }, 4, &value);
        }
    }
}

/// Lanes that have the addresses of the rows of `blocks` blocks.
fn owners(blocks: usize) -> u32 {
    (u64::from(u32::MAX) >> (32 - 8 * blocks)) as u32
}

/// An access by lanes at the start of rows.
fn rows_at(w: usize, pc: u32, mask: u32, at: &[u64; 32]) -> Lanes<'_> {
    Lanes {
        w,
        pc,
        mask,
        space: Space::Shared,
        at,
        groups: &[],
        strong: false,
    }
}

/// Packs two 16-bit elements, the low halves of `element`'s results, in a word.
fn pair(element: impl Fn(usize) -> u32) -> u32 {
    element(0) & 0xffff | element(1) << 16
}
