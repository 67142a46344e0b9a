//! `wmma.load` and `wmma.store`.

use crate::ast::Space;
use crate::code::WmmaMemory;

use super::super::access::{Kind, Lanes};
use super::super::block::Block;
use super::fragment::{any, bytes, sizes};
use super::requests::requests;

impl Block<'_> {
    /// Executes `wmma.load` and `wmma.store`, with this machine's own fragment layout.
    pub(super) fn wmma_memory(&mut self, w: usize, pc: u32, memory: &WmmaMemory) {
        let (m, n, k) = sizes(memory.shape);
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
        let place = |e: usize, i: (usize, usize, usize)| any(e, i, (rows, columns));
        let per = (4 / size) as usize;
        let mut fragment: Vec<[u32; 32]> = memory
            .regs
            .iter()
            .map(|&r| self.warps[w].words[r as usize])
            .collect();
        let mut all_fine = true;
        for (r, register) in fragment.iter_mut().enumerate() {
            for (lane, word) in register.iter_mut().enumerate() {
                for part in 0..per {
                    let (row, column) = place(per, (r, lane, part));
                    if row >= rows {
                        continue;
                    }
                    let at = address(row, column);
                    let shift = 32 / per as u32 * part as u32;
                    let kind = if memory.store {
                        Kind::Write
                    } else {
                        Kind::Read
                    };
                    if !self.is_fine(w, pc, lane, space, at, size, kind) {
                        all_fine = false;
                        continue;
                    }
                    if memory.store {
                        let value = u64::from(*word >> shift);
                        let mask = u64::MAX >> (64 - 8 * size);
                        self.write(w, pc, lane, space, at, size, value & mask, false);
                    } else {
                        let value = self.read(w, pc, lane, space, at, size, false) as u32;
                        let mask = (u64::from(u32::MAX) >> (32 - 8 * size)) as u32;
                        *word = (*word & !(mask << shift)) | value << shift;
                    }
                }
            }
        }
        for request in requests(memory).iter().filter(|_| all_fine) {
            let at = request.at.map(|(line, place)| {
                let index = line.wrapping_mul(stride).wrapping_add(place) as u64;
                at[0].wrapping_add(index.wrapping_mul(u64::from(size)))
            });
            if request.of_rows {
                self.count_row_loads(pc, request.mask, &at);
            } else {
                let on = Lanes {
                    w,
                    pc,
                    mask: request.mask,
                    space,
                    at: &at,
                    groups: &[],
                    strong: false,
                };
                self.count(&on, request.bytes, !memory.store);
            }
        }
        if !memory.store {
            for (&r, value) in memory.regs.iter().zip(fragment) {
                self.warps[w].set_word(r, !0, value);
            }
        }
    }
}
