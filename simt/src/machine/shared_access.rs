//! Reads and writes of shared memory, and its races.

use crate::report::{Class, Thread};

use super::block::Block;
use super::global::byte_mask;
use super::shadow::{Access, Conflict};
use super::shared::State;
use super::warp::Copy;

impl Block<'_> {
    /// Bytes that are inside, aligned.
    pub fn read_shared(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        at: usize,
        bytes: u32,
        strong: bool,
    ) -> u64 {
        match self.shared.state(at, bytes) {
            State::Written => {}
            State::Empty => self.find(Class::Uninitialised, w, pc, lane, || {
                format!(
                    "read of {bytes} bytes at byte {at} of shared memory, which were never written"
                )
            }),
            State::InFlight => self.in_flight(w, pc, lane, at, "read"),
        }
        if strong {
            self.warps[w].spins = true;
            self.acquire_shared(w, lane, at);
        }
        self.race_shared(w, pc, lane, at, bytes, strong, None);
        self.shared.load(at, bytes)
    }

    /// The same, written.
    #[allow(clippy::too_many_arguments)]
    pub fn write_shared(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        at: usize,
        bytes: u32,
        value: u64,
        strong: bool,
    ) {
        if self.shared.state(at, bytes) == State::InFlight {
            self.in_flight(w, pc, lane, at, "write");
        }
        if strong {
            let known = &self.warps[w].known;
            self.board.publish(at as u64, self.number, known, lane);
        }
        self.race_shared(w, pc, lane, at, bytes, strong, Some(value));
        self.shared.store(at, bytes, value);
    }

    /// A strong read knows what was published at its address.
    fn acquire_shared(&mut self, w: usize, lane: usize, at: usize) {
        let known = &mut self.warps[w].known;
        let who = (self.number, w, lane);
        self.board
            .acquire(at as u64, who, known, &mut self.acquired);
    }

    /// An access to bytes that a copy has not yet brought.
    pub fn in_flight(&mut self, w: usize, pc: u32, lane: usize, at: usize, verb: &str) {
        let here = |c: &&Copy| (c.to..c.to + c.bytes.len()).contains(&at);
        let copies =
            (self.warps.iter()).find_map(|warp| Some((warp.index, warp.copies.iter().find(here)?)));
        let Some((other, copy)) = copies else { return };
        let thread = self.thread(other, copy.lane);
        let place = self.grid.kernel.code[copy.pc as usize].place.clone();
        self.find(Class::Race, w, pc, lane, || {
            format!(
                "{verb} at byte {at} of shared memory, to which the asynchronous copy by {thread} in \
                 {place} is still on its way: it did not wait for its group"
            )
        });
    }

    /// Tells the shadow of shared memory, and a conflict to the report.
    #[allow(clippy::too_many_arguments)]
    pub fn race_shared(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        at: usize,
        bytes: u32,
        strong: bool,
        value: Option<u64>,
    ) {
        if !self.grid.options.races {
            return;
        }
        let stamp = self.stamp(w, lane);
        let mut conflict = None;
        for word in (at / 4 * 4..at + bytes as usize).step_by(4) {
            let first = word.max(at);
            let last = (word + 4).min(at + bytes as usize);
            let access = Access {
                stamp,
                pc,
                bytes: byte_mask(first as u64, (last - first) as u32),
                strong,
                known: &self.warps[w].known,
                acquired: &self.acquired,
            };
            conflict = conflict.or(self.shared.access(first, &access, value.is_some()));
        }
        let Some(conflict) = conflict else { return };
        // Two lanes that write the same value with one instruction: whichever wins, it is the same.
        let same = |v| self.shared.load(at, bytes) == v;
        if conflict.wrote && conflict.pc == pc && value.is_some_and(same) {
            return;
        }
        self.report_race(
            w,
            pc,
            lane,
            value.is_some(),
            conflict,
            &format!("byte {at} of shared memory"),
        );
    }

    /// Two accesses between which there is no order.
    pub fn report_race(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        wrote: bool,
        conflict: Conflict,
        at: &str,
    ) {
        let Conflict {
            other,
            pc: other_pc,
            wrote: other_wrote,
        } = conflict;
        let verb = |wrote| if wrote { "write" } else { "read" };
        let (x, y) = (self.grid.shape.grid[0], self.grid.shape.grid[1]);
        let block = [other.block % x, other.block / x % y, other.block / (x * y)];
        let thread = Thread {
            block,
            ..self.thread(other.warp as usize, other.lane as usize)
        };
        let place = self.grid.kernel.code[other_pc as usize].place.clone();
        self.find(Class::Race, w, pc, lane, || {
            format!(
                "{} at {at} and {} by {thread} in {place}: nothing puts them in order",
                verb(wrote),
                verb(other_wrote)
            )
        });
    }
}
