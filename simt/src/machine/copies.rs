//! Asynchronous copies from global to shared memory.

use crate::ast::Space;
use crate::code::{Address, Reg, Slot};
use crate::report::Class;

use super::access::Kind;
use super::block::Block;
use super::coalesce::{groups, ideal_sectors, ideal_wavefronts, lanes, sectors, wavefronts};
use super::own::little_endian;
use super::shared::State;
use super::warp::Copy;

/// Maximum copies in flight per warp, to bound memory in an endless loop.
const MOST_COPIES: usize = 1 << 16;

impl Block<'_> {
    /// `cp.async`.
    pub fn copy_async(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        (to, from): (&Address, &Address),
        bytes: u32,
        size: Option<Reg>,
    ) {
        let (to, _) = self.resolve(w, pc, active, to);
        let (from, _) = self.resolve(w, pc, active, from);
        let sizes = size.map(|r| self.source_sizes(w, pc, active, r, bytes));
        let counts = &mut self.counts[pc as usize];
        counts.shared_store_requests += 1;
        counts.shared_store_wavefronts += wavefronts(&to, active, bytes, false);
        counts.shared_store_ideal += ideal_wavefronts(active, bytes);
        let reads = sizes.map_or(active, |s| {
            lanes(active)
                .filter(|&l| s[l] > 0)
                .fold(0, |m, l| m | 1 << l)
        });
        if reads != 0 {
            counts.global_load_requests += 1;
            counts.global_load_sectors += sectors(&from, reads, bytes);
            counts.global_load_ideal += ideal_sectors(groups(&from, reads).len(), bytes);
        }
        for lane in lanes(active) {
            let size = sizes.map_or(bytes, |s| s[lane].min(bytes));
            let aligned = self.is_fine(w, pc, lane, Space::Shared, to[lane], bytes, Kind::Write);
            let source = from[lane];
            if !aligned || size > 0 && !self.is_fine_copy(w, pc, lane, source, (size, bytes)) {
                continue;
            }
            if self.warps[w].copies.len() >= MOST_COPIES {
                self.find(Class::Endless, w, pc, lane, || {
                    format!("{MOST_COPIES} copies of its warp are in flight, and it waits for none")
                });
                self.stop();
                return;
            }
            let mut copied = vec![0; bytes as usize];
            let unit = if size.is_multiple_of(4) { 4 } else { 1 };
            for (i, chunk) in copied[..size as usize].chunks_mut(unit).enumerate() {
                let at = source + (i * unit) as u64;
                let value = self.read(w, pc, lane, Space::Global, at, unit as u32, false);
                chunk.copy_from_slice(&value.to_le_bytes()[..unit]);
            }
            let at = to[lane] as usize;
            // The copy may land at any time from now on; this machine performs it at the wait.
            self.start_copy(w, pc, lane, at, bytes);
            self.warps[w].copies.push(Copy {
                lane,
                to: at,
                bytes: copied,
                group: None,
                pc,
            });
        }
    }

    /// Returns each lane's source size in bytes. A size beyond the copy's is undefined behaviour and
    /// reported.
    fn source_sizes(&mut self, w: usize, pc: u32, active: u32, r: Reg, bytes: u32) -> [u32; 32] {
        self.check_read(w, pc, active, &[Slot::Word(r)]);
        let sizes = self.warps[w].words[r as usize];
        for lane in lanes(active).filter(|&l| sizes[l] > bytes) {
            self.find(Class::OutOfBounds, w, pc, lane, || {
                let size = sizes[lane];
                format!("copy of {bytes} bytes from a source of {size}, which is undefined")
            });
        }
        sizes
    }

    /// Checks the source of a copy: aligned to the copy's size, and in bounds as far as it is read.
    fn is_fine_copy(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        at: u64,
        (size, bytes): (u32, u32),
    ) -> bool {
        if !at.is_multiple_of(u64::from(bytes)) {
            return self.is_fine(w, pc, lane, Space::Global, at, bytes, Kind::Read);
        }
        (0..size)
            .all(|i| self.is_fine(w, pc, lane, Space::Global, at + u64::from(i), 1, Kind::Read))
    }

    /// `cp.async.commit_group`.
    pub fn copy_commit(&mut self, w: usize, active: u32) {
        let warp = &mut self.warps[w];
        for copy in &mut warp.copies {
            if active >> copy.lane & 1 != 0 && copy.group.is_none() {
                copy.group = Some(warp.groups[copy.lane]);
            }
        }
        for lane in lanes(active) {
            warp.groups[lane] += 1;
        }
    }

    /// `cp.async.wait_group n`: waits for all but the last n groups; `None` waits for all copies.
    pub fn copy_wait(&mut self, w: usize, active: u32, pending: Option<u32>) {
        let warp = &mut self.warps[w];
        let groups = warp.groups;
        let done = |copy: &Copy| {
            active >> copy.lane & 1 != 0
                && match (copy.group, pending) {
                    (_, None) => true,
                    (Some(group), Some(n)) => group + n < groups[copy.lane],
                    (None, Some(_)) => false,
                }
        };
        let (ready, waiting): (Vec<Copy>, Vec<Copy>) =
            std::mem::take(&mut warp.copies).into_iter().partition(done);
        warp.copies = waiting;
        for copy in ready {
            self.shared.memory.states[copy.to..copy.to + copy.bytes.len()].fill(State::Written);
            for (i, chunk) in copy.bytes.chunks(4).enumerate() {
                let value = little_endian(chunk);
                let at = (copy.to + 4 * i) as u64;
                self.write(w, copy.pc, copy.lane, Space::Shared, at, 4, value, false);
            }
        }
    }
}
