//! Bulk copies: `cp.async.bulk` between global and shared memory.
//!
//! A copy to shared memory has its bytes in flight from where it is started until a thread asks its mbarrier a second
//! time. From then on only those who have seen that phase complete may read them: a copy writes as if it were a warp
//! of its own, one for each mbarrier, whose number comes after those of the block's warps.

use std::ops::Range;

use crate::ast::Space;
use crate::code::{Address, Reg, Slot};
use crate::report::{Class, Thread};

use super::access::{Kind, Lanes};
use super::block::Block;
use super::coalesce::{Group, lanes};
use super::known::{Knowledge, Known, Peers};
use super::own::little_endian;
use super::race::Access;

/// Bytes that addresses and sizes are multiples of.
const UNIT: u32 = 16;

/// Copies of a block, to or from its shared memory, that are in flight, at most: who starts more does not end.
const MOST_COPIES: usize = 1 << 10;

/// Bytes that cost as much of the limit as an instruction: those that the lanes of a warp load at once.
const CHARGED: u32 = 128;
/// Maximum bytes of a block's shared memory. A copy that is larger is found to be wrong there.
const MAX_SHARED: u32 = 227 << 10;

/// A copy to shared memory.
pub struct Load {
    to: usize,
    bytes: Vec<u8>,
    /// The first byte of its mbarrier.
    barrier: u64,
    thread: Thread,
    pc: u32,
    /// Whether a thread has asked the mbarrier since.
    asked: bool,
}

/// A copy to global memory.
pub struct Store {
    lane: usize,
    to: u64,
    bytes: Vec<u8>,
    /// Which group; `None` until it is committed.
    group: Option<u32>,
    source: Source,
    /// Whether the source has been read.
    read: bool,
}

/// Bytes that a copy in flight reads.
#[derive(Clone, PartialEq)]
pub struct Source {
    bytes: Range<usize>,
    thread: Thread,
    pc: u32,
}

impl Block<'_> {
    /// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes`.
    pub fn bulk_load(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        (to, from): (&Address, &Address),
        bytes: Reg,
        barrier: &Address,
    ) {
        self.check_read(w, pc, active, &[Slot::Word(bytes)]);
        let sizes = self.warps[w].words[bytes as usize];
        let (to, to_spaces) = self.resolve(w, pc, active, to);
        let (from, _) = self.resolve(w, pc, active, from);
        let (barriers, barrier_spaces) = self.resolve(w, pc, active, barrier);
        for lane in lanes(active) {
            let (to_space, space) = (to_spaces.of(lane), barrier_spaces.of(lane));
            let Some((rank, barrier)) = self.barrier_at(w, pc, lane, space, barriers[lane]) else {
                continue;
            };
            let (to, from, bytes) = (to[lane], from[lane], sizes[lane]);
            self.charge(bytes);
            let is_fine = self.is_whole(w, pc, lane, bytes)
                && self.is_fine_row(w, pc, lane, (to_space, to), bytes, Kind::Write)
                && self.is_fine_row(w, pc, lane, (Space::Global, from), bytes, Kind::Read);
            if !is_fine {
                continue;
            }
            if !self.can_start(w, pc, lane, to, rank) {
                continue;
            }
            let copied = self.row(w, pc, lane, (Space::Global, from), bytes);
            self.at_home_of(rank, |block| {
                let (at, group) = ([super::cluster::offset_of(to); 32], Group::one(lane));
                if block.home != block.rank {
                    block.visit(&Lanes::one(w, pc, Space::Shared, &at, &group, true));
                }
            });
            self.start_load(w, pc, lane, (to, rank), barrier, copied);
        }
    }

    /// `st.async.shared::cluster.mbarrier::complete_tx::bytes`: a copy from registers.
    pub fn store_async(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        to: &Address,
        (from, bytes): (&[Slot], u32),
        barrier: &Address,
    ) {
        self.check_read(w, pc, active, from);
        let values: Vec<_> = from.iter().map(|slot| self.warps[w].wide(*slot)).collect();
        let (to, spaces) = self.resolve(w, pc, active, to);
        let (barriers, barrier_spaces) = self.resolve(w, pc, active, barrier);
        let whole = bytes * from.len() as u32;
        for (space, mask) in spaces.iter() {
            let on = Lanes {
                w,
                pc,
                mask,
                space,
                at: &to,
                groups: &[],
                strong: false,
            };
            self.count(&on, whole, false);
        }
        for lane in lanes(active) {
            let to = to[lane];
            let space = barrier_spaces.of(lane);
            let Some((rank, barrier)) = self.barrier_at(w, pc, lane, space, barriers[lane]) else {
                continue;
            };
            let is_fine = self.is_fine(w, pc, lane, spaces.of(lane), to, whole, Kind::Write);
            if !is_fine || !self.can_start(w, pc, lane, to, rank) {
                continue;
            }
            let of_element = |value: &[u64; 32]| value[lane].to_le_bytes();
            let elements = values.iter().map(of_element);
            let stored = elements.flat_map(|e| e.into_iter().take(bytes as usize));
            // Who waits for the bytes knows that the store is done: it needs no other barrier before it exits.
            if self.at_home_of(rank, |block| block.shared.has_exited) {
                self.find(Class::Race, w, pc, lane, || {
                    "stores to the shared memory of a block that has exited".into()
                });
                continue;
            }
            self.start_load(w, pc, lane, (to, rank), barrier, stored.collect());
        }
    }

    /// Whether a copy to `to` can complete on an mbarrier of the block of this rank, and there is room for it.
    fn can_start(&mut self, w: usize, pc: u32, lane: usize, to: u64, rank: usize) -> bool {
        if super::cluster::rank_of(to).unwrap_or(self.rank) != rank {
            self.find(Class::OutOfBounds, w, pc, lane, || {
                "the mbarrier is in another block's shared memory than the destination".into()
            });
            return false;
        }
        let in_flight = self.at_home_of(rank, |block| block.shared.loads.len());
        !self.are_too_many(w, pc, lane, in_flight)
    }

    fn start_load(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        (to, rank): (u64, usize),
        barrier: u64,
        bytes: Vec<u8>,
    ) {
        let to = super::cluster::offset_of(to) as usize;
        let thread = self.thread(w, lane);
        self.at_home_of(rank, |block| {
            block.start_copy(w, pc, lane, to, bytes.len() as u32);
            block.shared.loads.push(Load {
                to,
                bytes,
                barrier,
                thread,
                pc,
                asked: false,
            });
        });
    }

    /// Copies that the mbarrier at `at` waits for come to their end if it was asked before.
    pub fn finish_loads(&mut self, at: u64) {
        let mut loads = std::mem::take(&mut self.shared.loads);
        let is_done =
            |load: &mut Load| load.barrier == at && std::mem::replace(&mut load.asked, true);
        let done: Vec<Load> = loads.extract_if(.., is_done).collect();
        self.shared.loads = loads;
        for load in done {
            self.finish_load(load);
        }
    }

    fn finish_load(&mut self, load: Load) {
        let Some(barrier) = self.shared.mbarriers.get(&load.barrier) else {
            return;
        };
        let number = self.warps.len() + barrier.number;
        let home = self.number_of(self.home);
        self.shared.landed += 1;
        let time = self.shared.landed;
        let mut known = Known::new(0);
        known.now = [time; 32];
        let access = Access {
            block: home,
            warp: number.min(255) as u8,
            pc: load.pc,
            strong: false,
            narrow: false,
            known: &known,
            home,
        };
        let access = self.grid.options.races.then_some(&access);
        for (i, chunk) in load.bytes.chunks(4).enumerate() {
            let at = [(load.to + 4 * i) as u64; 32];
            let value = [little_endian(chunk); 32];
            // Whatever it is in no order with has been found when it was started.
            self.shared.write(access, &at, &[Group::one(0)], 4, &value);
        }
        let knowledge = Knowledge::of_warp(number.min(255), time);
        if let Some(barrier) = self.shared.mbarriers.get_mut(&load.barrier) {
            let bytes = load.bytes.len() as u32;
            barrier.bytes_are_there(bytes, Peers::from([(home, knowledge)]));
        }
    }

    /// Whether an access is to bytes that a bulk copy has not yet brought: then it is a finding.
    pub fn bulk_in_flight(&mut self, on: &Lanes, lane: usize, at: usize, verb: &str) -> bool {
        let here = |load: &&Load| (load.to..load.to + load.bytes.len()).contains(&at);
        let Some(load) = self.shared.loads.iter().find(here) else {
            return false;
        };
        let (thread, pc) = (load.thread, load.pc);
        let location = self.grid.kernel.code[pc as usize].location.words();
        let at = self.shared_byte(at as u64);
        self.find(Class::Race, on.w, on.pc, lane, || {
            format!(
                "{verb} at {at}, to which the bulk copy by {thread} in {location} is still in flight: nobody has waited at \
                 its mbarrier"
            )
        });
        true
    }

    /// `cp.async.bulk.global.shared::cta.bulk_group`.
    pub fn bulk_store(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        (to, from): (&Address, &Address),
        bytes: Reg,
    ) {
        self.check_read(w, pc, active, &[Slot::Word(bytes)]);
        let sizes = self.warps[w].words[bytes as usize];
        let (to, _) = self.resolve(w, pc, active, to);
        let (from, _) = self.resolve(w, pc, active, from);
        for lane in lanes(active) {
            let (to, from, bytes) = (to[lane], from[lane], sizes[lane]);
            self.charge(bytes);
            let is_fine = self.is_whole(w, pc, lane, bytes)
                && self.is_fine_row(w, pc, lane, (Space::Shared, from), bytes, Kind::Read)
                && self.is_fine_row(w, pc, lane, (Space::Global, to), bytes, Kind::Write);
            if !is_fine {
                continue;
            }
            let in_flight = self.warps[w].stores.len();
            if self.are_too_many(w, pc, lane, in_flight) {
                return;
            }
            let copied = self.row(w, pc, lane, (Space::Shared, from), bytes);
            let from = from as usize;
            let source = Source {
                bytes: from..from + bytes as usize,
                thread: self.thread(w, lane),
                pc,
            };
            self.shared.sources.push(source.clone());
            self.warps[w].stores.push(Store {
                lane,
                to,
                bytes: copied,
                group: None,
                source,
                read: false,
            });
        }
    }

    /// `cp.async.bulk.commit_group`.
    pub fn bulk_commit(&mut self, w: usize, active: u32) {
        let warp = &mut self.warps[w];
        for store in &mut warp.stores {
            if active >> store.lane & 1 != 0 && store.group.is_none() {
                store.group = Some(warp.store_groups[store.lane]);
            }
        }
        for lane in lanes(active) {
            warp.store_groups[lane] += 1;
        }
    }

    /// `cp.async.bulk.wait_group n`: all but the last n groups have been written, or at least read.
    pub fn bulk_wait(&mut self, w: usize, active: u32, pending: u32, read: bool) {
        let groups = self.warps[w].store_groups;
        let is_waited = |store: &Store| {
            active >> store.lane & 1 != 0
                && (store.group).is_some_and(|group| group + pending < groups[store.lane])
        };
        let mut stores = std::mem::take(&mut self.warps[w].stores);
        for store in stores.iter_mut().filter(|s| is_waited(s) && !s.read) {
            store.read = true;
            self.free_source(&store.source);
        }
        let done: Vec<Store> = stores
            .extract_if(.., |store| !read && is_waited(store))
            .collect();
        self.warps[w].stores = stores;
        done.into_iter()
            .for_each(|store| self.finish_store(w, store));
    }

    /// Lanes return: what they copy is written; its source must have been read before.
    pub fn finish_stores(&mut self, w: usize, mask: u32) {
        let stores = &mut self.warps[w].stores;
        let is_theirs = |store: &mut Store| mask >> store.lane & 1 != 0;
        let done: Vec<Store> = stores.extract_if(.., is_theirs).collect();
        for store in done {
            if !store.read {
                self.free_source(&store.source);
                self.find(Class::Race, w, store.source.pc, store.lane, || {
                    "the thread returns without waiting until the copy has read shared memory, which is gone with its \
                     block"
                        .into()
                });
            }
            self.finish_store(w, store);
        }
    }

    fn finish_store(&mut self, w: usize, store: Store) {
        for (i, chunk) in store.bytes.chunks(4).enumerate() {
            let at = store.to + 4 * i as u64;
            let (pc, value) = (store.source.pc, little_endian(chunk));
            self.write(w, pc, store.lane, Space::Global, at, 4, value, false);
        }
    }

    fn free_source(&mut self, source: &Source) {
        let sources = &mut self.shared.sources;
        if let Some(i) = sources.iter().position(|s| s == source) {
            sources.swap_remove(i);
        }
    }

    /// Writes to bytes that a copy may still read are findings.
    pub fn check_sources(&mut self, on: &Lanes, bytes: u32) {
        for lane in lanes(on.mask) {
            let at = on.at[lane] as usize;
            let meets = |s: &&Source| at < s.bytes.end && s.bytes.start < at + bytes as usize;
            let Some(Source { thread, pc, .. }) = self.shared.sources.iter().find(meets) else {
                continue;
            };
            let (thread, pc) = (*thread, *pc);
            let location = self.grid.kernel.code[pc as usize].location.words();
            let at = self.shared_byte(at as u64);
            self.find(Class::Race, on.w, on.pc, lane, || {
                format!(
                    "writes {at}, which the bulk copy by {thread} in {location} may still read: the thread did not wait \
                     for its group"
                )
            });
        }
    }

    /// Takes what a copy costs from the limit: a loop over large copies would take hours otherwise.
    fn charge(&mut self, bytes: u32) {
        let cost = bytes.min(MAX_SHARED) / CHARGED;
        self.fuel = self.fuel.saturating_sub(cost.into());
    }

    /// Whether no more copies can be in flight: then the block ends.
    fn are_too_many(&mut self, w: usize, pc: u32, lane: usize, in_flight: usize) -> bool {
        let too_many = in_flight >= MOST_COPIES;
        if too_many {
            self.find(Class::Endless, w, pc, lane, || {
                format!("{MOST_COPIES} bulk copies are in flight, and nobody waits for them")
            });
            self.stop();
        }
        too_many
    }

    /// Whether a copy is of whole units.
    fn is_whole(&mut self, w: usize, pc: u32, lane: usize, bytes: u32) -> bool {
        let is_whole = bytes.is_multiple_of(UNIT);
        if !is_whole {
            self.find(Class::Misaligned, w, pc, lane, || {
                format!("copy of {bytes} bytes, which is not a multiple of {UNIT}")
            });
        }
        is_whole
    }

    /// Whether all units of a row are inside and aligned.
    fn is_fine_row(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        (space, at): (Space, u64),
        bytes: u32,
        kind: Kind,
    ) -> bool {
        let mut units = (0..bytes).step_by(UNIT as usize);
        units.all(|i| self.is_fine(w, pc, lane, space, at + u64::from(i), UNIT, kind))
    }

    /// The bytes of a row.
    fn row(
        &mut self,
        w: usize,
        pc: u32,
        lane: usize,
        (space, at): (Space, u64),
        bytes: u32,
    ) -> Vec<u8> {
        let parts = (0..bytes).step_by(4);
        let part = |i: u32| self.read(w, pc, lane, space, at + u64::from(i), 4, false) as u32;
        parts.map(part).flat_map(u32::to_le_bytes).collect()
    }
}
