//! Reads, writes and races of shared memory.

use crate::alu::D;
use crate::ast::Space;
use crate::report::Class;

use super::access::{Lanes, merge};
use super::block::Block;
use super::coalesce::{Group, lanes};
use super::findings::unwritten;
use super::known::Known;
use super::race::{Access, Spread};
use super::shadow::{Conflict, Conflicts};
use super::shared::State;
use super::warp::Copy;

/// An access for the shadow: by a block, to memory of a block.
pub fn access<'a>((block, home): (u32, u32), on: &Lanes, known: &'a Known) -> Access<'a> {
    Access {
        block,
        warp: on.w as u8,
        pc: on.pc,
        strong: on.strong,
        narrow: false,
        known,
        home,
    }
}

impl Block<'_> {
    /// Describes an access of global memory for the shadow, if races are checked.
    pub fn access(&self, on: &Lanes) -> Option<Access<'_>> {
        let (blocks, known) = ((self.number, self.number), &self.warps[on.w].known);
        let access = || Access {
            narrow: self.grid.kernel.code[on.pc as usize].is_narrow,
            ..access(blocks, on, known)
        };
        self.grid.options.races.then(access)
    }

    /// Reads elements that are in bounds and aligned.
    pub fn read_shared<const N: usize>(&mut self, on: Lanes, bytes: u32) -> [D; N] {
        for (lane, at, state) in self.shared.memory.unready(on.at, on.groups, (bytes, N)) {
            match state {
                State::InFlight => self.in_flight(&on, lane, at, "read"),
                _ => {
                    let at = self.shared_byte(at as u64);
                    self.find(Class::Uninitialised, on.w, on.pc, lane, || {
                        unwritten(bytes, &format!("at {at}"))
                    });
                }
            }
        }
        if !on.strong {
            self.races_of_reads(on, (bytes, N));
            return self.shared.memory.read(on.at, on.groups, bytes);
        }
        self.warps[on.w].spins = true;
        let mut values = [[0; 32]; N];
        for lane in lanes(on.mask) {
            let who = (self.number, on.w, lane);
            let known = &mut self.warps[on.w].known;
            let board = &self.shared.board;
            board.acquire(on.at[lane], who, known);
            let mask = 1 << lane;
            let groups = &[Group::one(lane)];
            self.races_of_reads(Lanes { mask, groups, ..on }, (bytes, N));
            merge(
                &mut values,
                &self.shared.memory.read(on.at, groups, bytes),
                mask,
            );
        }
        values
    }

    pub fn races_of_reads(&mut self, on: Lanes, size: (u32, usize)) {
        if !self.grid.options.races {
            return;
        }
        let blocks = (self.number, self.number_of(self.home));
        let access = access(blocks, &on, &self.warps[on.w].known);
        let conflicts = self.shared.read_races(&access, on.at, on.groups, size);
        self.report_shared(&on, false, conflicts);
    }

    /// Writes elements that are in bounds and aligned.
    pub fn write_shared(&mut self, on: Lanes, bytes: u32, value: &D) {
        for (lane, at, state) in self.shared.memory.unready(on.at, on.groups, (bytes, 1)) {
            if state == State::InFlight {
                self.in_flight(&on, lane, at, "write");
            }
        }
        if !self.shared.sources.is_empty() {
            self.check_sources(&on, bytes);
        }
        let known = &self.warps[on.w].known;
        if on.strong {
            for lane in lanes(on.mask) {
                let board = &self.shared.board;
                board.publish(on.at[lane], self.number, known, lane);
            }
        }
        let blocks = (self.number, self.number_of(self.home));
        let access = access(blocks, &on, known);
        let access = self.grid.options.races.then_some(&access);
        let conflicts = self.shared.write(access, on.at, on.groups, bytes, value);
        self.report_shared(&on, true, conflicts);
    }

    pub fn report_shared(&mut self, on: &Lanes, wrote: bool, conflicts: Conflicts) {
        for (lane, at, conflict) in conflicts {
            let at = self.shared_byte(at);
            self.report_race(on, lane, wrote, conflict, &at);
        }
    }

    /// One lane starts a copy to `bytes` bytes at `at`; the shadow records a write.
    pub fn start_copy(&mut self, w: usize, pc: u32, lane: usize, at: usize, bytes: u32) {
        let group = Group::one(lane);
        for word in (at as u64..).step_by(4).take(bytes as usize / 4) {
            let at = [word; 32];
            let on = Lanes::one(w, pc, Space::Shared, &at, &group, false);
            if self.shared.memory.state(word as usize, 4) == State::InFlight {
                self.in_flight(&on, lane, word as usize, "copy");
            }
            // The value is not known yet; the shadow needs the write because it may happen from now on.
            let old = self.shared.memory.load(word as usize, 4);
            self.write_shared(on, 4, &[!old; 32]);
            self.shared.memory.store(word as usize, 4, old);
        }
        self.shared.memory.states[at..at + bytes as usize].fill(State::InFlight);
    }

    /// Reports an access to bytes of a copy in flight.
    fn in_flight(&mut self, on: &Lanes, lane: usize, at: usize, verb: &str) {
        if self.bulk_in_flight(on, lane, at, verb) {
            return;
        }
        let here = |c: &&Copy| (c.to..c.to + c.bytes.len()).contains(&at);
        let copies =
            (self.warps.iter()).find_map(|warp| Some((warp.index, warp.copies.iter().find(here)?)));
        let Some((other, copy)) = copies else { return };
        let thread = self.thread(other, copy.lane);
        let location = self.grid.kernel.code[copy.pc as usize].location.words();
        let at = self.shared_byte(at as u64);
        self.find(Class::Race, on.w, on.pc, lane, || {
            format!(
                "{verb} at {at}, to which the asynchronous copy by {thread} in {location} is still in flight: \
                 the thread did not wait for its group"
            )
        });
    }

    /// Reports two unordered accesses.
    pub fn report_race(
        &mut self,
        on: &Lanes,
        lane: usize,
        wrote: bool,
        conflict: Conflict,
        at: &str,
    ) {
        let Conflict {
            other,
            pc: other_pc,
            wrote: other_wrote,
            spread,
            is_exact,
        } = conflict;
        let here = if wrote { "writes" } else { "reads" };
        let there = if other_wrote { "written" } else { "read" };
        let thread = self.thread_of(other);
        // The numbers beyond the warps' are those of bulk copies.
        let by_copy = other.warp as usize >= self.warps.len();
        let location = self.grid.kernel.code[other_pc as usize].location.words();
        let is_narrow = |pc: u32| self.grid.kernel.code[pc as usize].is_narrow;
        let is_of_warp =
            other.block == self.number && other.warp as usize == on.w && spread != Spread::Blocks;
        let is_same = is_of_warp && other.lane as usize == lane;
        let who = match spread {
            _ if by_copy => "a bulk copy".into(),
            Spread::One => thread.to_string(),
            // The last one may be the thread that the finding is about.
            Spread::Lanes if is_same => "other lanes of its warp".into(),
            Spread::Warps if !is_exact => format!("several warps, warp {} among them,", other.warp),
            Spread::Lanes => format!("lanes of one warp, {thread} among them,"),
            Spread::Warps => format!("several warps, {thread} among them,"),
            Spread::Blocks => "threads of several blocks".into(),
        };
        let lacking = if by_copy {
            "its thread, or one that it synchronised with, did not wait at the copy's mbarrier"
        } else if other.block != self.number && self.is_peer(other.block) {
            "no barrier of the cluster orders them, and no fence with an atomic"
        } else if other.block != self.number && (is_narrow(on.pc) || is_narrow(other_pc)) {
            "the scope `.cta` reaches no other block; `.gpu` does"
        } else if other.block != self.number || spread == Spread::Blocks {
            "blocks run in any order: one wrote outside its own part, or fences and atomics have to connect them"
        } else if is_of_warp && other_pc == on.pc {
            "the lanes of one instruction have no order"
        } else if is_of_warp {
            "no `bar.sync` orders them (`bar.warp.sync` is enough for bytes that one warp alone uses), and they are not both atomic"
        } else {
            "no barrier orders them, and they are not both atomic"
        };
        // No barrier orders the lanes of one instruction, so that this race is as good a report as any.
        let within_warp = is_of_warp && other_pc != on.pc;
        self.find_race((on.w, lane), on.pc, within_warp, || {
            format!("{here} {at}, which is {there} by {who} in {location}: {lacking}")
        });
    }
}
