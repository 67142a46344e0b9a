//! Reads, writes and races of global memory.

use std::borrow::Cow;

use crate::alu::D;
use crate::report::Class;

use super::access::{Lanes, merge};
use super::block::Block;
use super::coalesce::{Group, groups, lanes, those};
use super::findings::unwritten;
use super::global::{Found, Global, Wrong};

impl Block<'_> {
    /// Reads elements that are in bounds and aligned.
    pub fn read_global<const N: usize>(&mut self, on: Lanes, bytes: u32) -> [D; N] {
        if !on.strong {
            return self.read_buffers(on, bytes);
        }
        // A value that a lane reads counts for it and the lanes after it.
        self.warps[on.w].spins = true;
        let mut values = [[0; 32]; N];
        for lane in lanes(on.mask) {
            let who = (self.number, on.w, lane);
            let known = &mut self.warps[on.w].known;
            let board = &self.grid.board;
            board.acquire(on.at[lane], who, known);
            let mask = 1 << lane;
            let groups = &[Group::one(lane)];
            let one = self.read_buffers(Lanes { mask, groups, ..on }, bytes);
            merge(&mut values, &one, mask);
        }
        values
    }

    /// Reads buffer by buffer.
    fn read_buffers<const N: usize>(&mut self, on: Lanes, bytes: u32) -> [D; N] {
        let mut values = [[0; 32]; N];
        let mut left = on.mask;
        while let Some((i, here, at)) = self.buffer(on.at, left) {
            left &= !here;
            self.note(&on, i, (here, &at), bytes * N as u32, false);
            let access = self.access(&on);
            let range = &self.grid.global.ranges[i];
            let groups = of_buffer(&on, here);
            let (read, wrong) = range.read::<N>(access.as_ref(), &at, &groups, bytes);
            merge(&mut values, &read, here);
            if !wrong.unwritten.is_empty() || !wrong.conflicts.is_empty() {
                self.report_wrong(&on, i, bytes, wrong);
            }
        }
        values
    }

    /// Writes elements that are in bounds and aligned.
    pub fn write_global(&mut self, on: Lanes, bytes: u32, value: &D) {
        if on.strong {
            let known = &self.warps[on.w].known;
            for lane in lanes(on.mask) {
                let board = &self.grid.board;
                board.publish(on.at[lane], self.number, known, lane);
            }
        }
        let mut left = on.mask;
        while let Some((i, here, at)) = self.buffer(on.at, left) {
            left &= !here;
            self.note(&on, i, (here, &at), bytes, true);
            let access = self.access(&on);
            let range = &self.grid.global.ranges[i];
            let groups = of_buffer(&on, here);
            let conflicts = range.write(access.as_ref(), &at, &groups, bytes, value);
            for (lane, at, conflict) in conflicts {
                let at = format!("byte {at} of {}", range.name);
                self.report_race(&on, lane, true, conflict, &at);
            }
        }
    }

    /// Returns the buffer of the first of these lanes, the lanes in the same buffer, and their offsets.
    fn buffer(&self, at: &D, left: u32) -> Option<(usize, u32, D)> {
        if left == 0 {
            return None;
        }
        let first = at[left.trailing_zeros() as usize];
        let Found::Inside(i, _) = self.grid.global.find(first, 0) else {
            return None;
        };
        let bytes = self.grid.global.ranges[i].bytes;
        let offsets = at.map(|at| at.wrapping_sub(Global::address(i)));
        let here = left & those(&offsets, |offset| offset < bytes);
        (here != 0).then_some((i, here, offsets))
    }

    fn report_wrong(&mut self, on: &Lanes, i: usize, bytes: u32, wrong: Wrong) {
        let name = &self.grid.global.ranges[i].name;
        for (lane, at) in wrong.unwritten {
            self.find(Class::Uninitialised, on.w, on.pc, lane, || {
                unwritten(bytes, &format!("at byte {at} of {name}"))
            });
        }
        for (lane, at, conflict) in wrong.conflicts {
            let at = format!("byte {at} of {name}");
            self.report_race(on, lane, false, conflict, &at);
        }
    }
}

/// The groups of the lanes that access one buffer.
fn of_buffer<'a>(on: &Lanes<'a>, here: u32) -> Cow<'a, [Group]> {
    if here == on.mask {
        on.groups.into()
    } else {
        groups(on.at, here).into()
    }
}
