//! Reads and writes of global memory, and its races.

use crate::report::Class;

use super::block::Block;
use super::global::{Found, byte_mask};
use super::shadow::Access;

impl Block<'_> {
    /// Bytes that are inside, aligned.
    pub fn read_global(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        at: u64,
        bytes: u32,
        strong: bool,
    ) -> u64 {
        let Found::Inside(i, offset) = self.grid.global.find(at, bytes) else {
            return 0;
        };
        if strong {
            self.warps[w].spins = true;
            let who = (self.number, w, lane);
            let known = &mut self.warps[w].known;
            self.grid.board.acquire(at, who, known, &mut self.acquired);
        }
        let range = &self.grid.global.ranges[i];
        let mut value = 0;
        let mut written = true;
        for part in (0..u64::from(bytes)).step_by(4) {
            let n = bytes.min(4);
            written &= range.is_written(offset + part, n);
            value |= u64::from(range.load(offset + part, n)) << (8 * part);
        }
        if !written {
            self.find(Class::Uninitialised, w, pc, lane, || {
                format!(
                    "read of {bytes} bytes at byte {offset} of {}, which were never written",
                    range.name
                )
            });
        }
        self.race_global(w, pc, lane, (i, offset, bytes), strong, None);
        value
    }

    /// The same, written.
    #[allow(clippy::too_many_arguments)]
    pub fn write_global(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        at: u64,
        bytes: u32,
        value: u64,
        strong: bool,
    ) {
        let Found::Inside(i, offset) = self.grid.global.find(at, bytes) else {
            return;
        };
        if strong {
            let known = &self.warps[w].known;
            self.grid.board.publish(at, self.number, known, lane);
        }
        self.race_global(w, pc, lane, (i, offset, bytes), strong, Some(value));
        let range = &self.grid.global.ranges[i];
        for part in (0..u64::from(bytes)).step_by(4) {
            range.store(offset + part, bytes.min(4), (value >> (8 * part)) as u32);
        }
    }

    /// Tells the shadow of global memory, and a conflict to the report.
    fn race_global(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        (i, offset, bytes): (usize, u64, u32),
        strong: bool,
        value: Option<u64>,
    ) {
        if !self.grid.options.races {
            return;
        }
        let stamp = self.stamp(w, lane);
        let range = &self.grid.global.ranges[i];
        let width = bytes.min(4);
        let mut found = None;
        for part in (0..u64::from(bytes)).step_by(4) {
            let at = offset + part;
            let access = Access {
                stamp,
                pc,
                bytes: byte_mask(at, width),
                strong,
                known: &self.warps[w].known,
                acquired: &self.acquired,
            };
            let conflict = range.access(at, &access, value.is_some());
            // Two lanes that write the same value with one instruction: whichever wins, it is the same.
            let same = |v: u64| {
                v >> (8 * part) & (u64::MAX >> (64 - 8 * width)) == u64::from(range.load(at, width))
            };
            let harmless = |wrote, other| wrote && other == pc && value.is_some_and(same);
            found = found.or(conflict
                .filter(|c| !harmless(c.wrote, c.pc))
                .map(|c| (c, at)));
        }
        let Some((conflict, at)) = found else { return };
        let at = format!("byte {at} of {}", range.name);
        self.report_race(w, pc, lane, value.is_some(), conflict, &at);
    }
}
