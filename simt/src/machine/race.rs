//! Races: two accesses to the same bytes, at least one of them a write, that nothing puts in order.
//!
//! What puts accesses in order is counted by a clock of the block: it ticks at each barrier, each
//! `bar.warp.sync` and each fence. An access carries the time at which its lane last synchronised; a lane
//! knows of another up to a time, and what the other did earlier than that is before it ("FastTrack:
//! efficient and precise dynamic race detection", Flanagan and Freund 2009). Between blocks order comes from
//! atomics: a block that reads what another wrote behind a fence knows what that one knew at its fence.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Who accesses, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the block in the grid.
    pub block: u32,
    /// Of the block.
    pub warp: u32,
    /// Of the warp.
    pub lane: u32,
    /// The block's clock when the lane last synchronised.
    pub time: u32,
}

/// The last access to a word, packed: what a shadow cell holds. Zero is no access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record(pub u64);

const TIME_BITS: u32 = 24;
const BLOCK_BITS: u32 = 22;

impl Record {
    /// Bytes of the word (a bit each), whether by an atomic or another strong access.
    pub fn new(stamp: Stamp, bytes: u8, strong: bool) -> Self {
        let block = u64::from(stamp.block) & ((1 << BLOCK_BITS) - 1);
        let time = u64::from(stamp.time) & ((1 << TIME_BITS) - 1);
        let who = (u64::from(stamp.warp) << 5) | u64::from(stamp.lane);
        let packed = (((block << TIME_BITS) | time) << 10) | who;
        Self((packed << 5) | (u64::from(bytes) << 1) | u64::from(strong))
    }

    /// `None` for no access.
    pub fn stamp(self) -> Option<Stamp> {
        if self.0 == 0 {
            return None;
        }
        let packed = (self.0 & !(WARPS | LANES | BLOCKS)) >> 5;
        Some(Stamp {
            lane: (packed & 31) as u32,
            warp: ((packed >> 5) & 31) as u32,
            time: ((packed >> 10) & ((1 << TIME_BITS) - 1)) as u32,
            block: ((packed >> (10 + TIME_BITS)) & ((1 << BLOCK_BITS) - 1)) as u32,
        })
    }

    /// A bit for each byte of the word.
    pub fn bytes(self) -> u8 {
        ((self.0 >> 1) & 0xf) as u8
    }

    /// Whether it was an atomic or another strong access.
    pub fn is_strong(self) -> bool {
        self.0 & 1 != 0
    }

    /// The same, and other lanes of its warp besides, between which there is no order.
    pub fn and_lanes(self) -> Self {
        Self(self.0 | LANES)
    }

    /// The same, and other warps besides, between which there is no order.
    pub fn and_warps(self) -> Self {
        Self(self.0 | WARPS)
    }

    /// Whether other lanes of its warp accessed it besides.
    pub fn has_lanes(self) -> bool {
        self.0 & LANES != 0
    }

    /// Whether other warps accessed it besides.
    pub fn has_warps(self) -> bool {
        self.0 & WARPS != 0
    }

    /// The same, and other blocks besides, between which there is no order.
    pub fn and_blocks(self) -> Self {
        Self(self.0 | BLOCKS)
    }

    /// Whether other blocks accessed it besides.
    pub fn has_blocks(self) -> bool {
        self.0 & BLOCKS != 0
    }
}

/// The top bits; the fields need 61.
const WARPS: u64 = 1 << 63;
const LANES: u64 = 1 << 62;
const BLOCKS: u64 = 1 << 61;

/// What a warp knows.
#[derive(Debug, Clone)]
pub struct Known {
    /// All lanes of this warp know all others of it up to here.
    together: u32,
    /// What lane i knows of lane j, where lanes synchronised in parts.
    lanes: Option<Box<[[u32; 32]; 32]>>,
    /// Of the other warps of the block.
    pub warps: Vec<u32>,
    /// What of it others may see through an atomic: what was known at the last fence.
    pub fenced: Option<Arc<Vec<u32>>>,
    /// When each lane last synchronised.
    pub now: [u32; 32],
}

impl Known {
    /// Of one of this many warps, at the start.
    pub fn new(warps: usize) -> Self {
        Self {
            together: 1,
            lanes: None,
            warps: vec![1; warps],
            fenced: None,
            now: [1; 32],
        }
    }

    /// Whether lane `lane` knows what lane `other` of the same warp did at `time`.
    fn knows_lane(&self, lane: u32, other: u32, time: u32) -> bool {
        lane == other
            || time < self.together
            || (self.lanes.as_ref()).is_some_and(|l| time < l[lane as usize][other as usize])
    }

    /// The lanes of `mask` synchronise.
    pub fn sync_lanes(&mut self, mask: u32, live: u32, clock: &mut u32) {
        *clock += 1;
        for lane in super::coalesce::lanes(mask) {
            self.now[lane] = *clock;
        }
        if mask & live == live {
            self.together = *clock;
            return;
        }
        let known = self.lanes.get_or_insert_with(|| Box::new([[0; 32]; 32]));
        let mut all = [0; 32];
        for i in super::coalesce::lanes(mask) {
            for (all, row) in all.iter_mut().zip(&known[i]) {
                *all = (*all).max(*row);
            }
        }
        for j in super::coalesce::lanes(mask) {
            all[j] = *clock;
        }
        for i in super::coalesce::lanes(mask) {
            known[i] = all;
        }
    }

    /// All lanes of these warps synchronise, and know what those did who came and went on: each a warp, and
    /// the time when it came.
    pub fn barrier(
        all: &mut [&mut Known],
        members: &[usize],
        came: &[(usize, u32)],
        clock: &mut u32,
    ) {
        *clock += 1;
        let warps = all[0].warps.len();
        let mut known = vec![0; warps];
        let mut fenced: Option<Vec<u32>> = None;
        for warp in all.iter() {
            for (k, w) in known.iter_mut().zip(&warp.warps) {
                *k = (*k).max(*w);
            }
            if let Some(f) = &warp.fenced {
                let fenced = fenced.get_or_insert_with(|| vec![0; warps]);
                for (k, w) in fenced.iter_mut().zip(f.iter()) {
                    *k = (*k).max(*w);
                }
            }
        }
        for &(warp, time) in came {
            known[warp] = known[warp].max(time);
        }
        for &member in members {
            known[member] = *clock;
        }
        let fenced = fenced.map(Arc::new);
        for warp in all.iter_mut() {
            warp.together = *clock;
            warp.now = [*clock; 32];
            warp.warps.clone_from(&known);
            warp.fenced.clone_from(&fenced);
        }
    }

    /// A fence by the lanes of `mask` of warp `warp`: what it knows may be published.
    pub fn fence(&mut self, warp: usize, mask: u32, clock: &mut u32) {
        *clock += 1;
        for lane in super::coalesce::lanes(mask) {
            self.now[lane] = *clock;
        }
        let mut known = self.warps.clone();
        known[warp] = *clock;
        self.fenced = Some(Arc::new(known));
    }
}

/// What a block knows of others: up to which time of each of their warps.
pub type Acquired = HashMap<u32, Arc<Vec<u32>>>;

/// Whether an access of `mine` comes after `other`'s.
pub fn in_order(mine: Stamp, other: Stamp, known: &Known, acquired: &Acquired) -> bool {
    let known_until = |warps: &[u32]| {
        warps
            .get(other.warp as usize)
            .is_some_and(|&t| other.time < t)
    };
    if mine.block != other.block {
        return acquired.get(&other.block).is_some_and(|w| known_until(w));
    }
    if mine.warp != other.warp {
        return known_until(&known.warps);
    }
    known.knows_lane(mine.lane, other.lane, other.time)
}

/// What was published through an address, by which block.
type Published = HashMap<u64, Vec<(u32, Arc<Vec<u32>>)>>;

/// What was published through the addresses of global memory.
#[derive(Debug, Default)]
pub struct Board(Mutex<Published>);

impl Board {
    /// A block writes to `address` by an atomic or a strong store, after a fence.
    pub fn publish(&self, address: u64, block: u32, known: &Arc<Vec<u32>>) {
        if let Ok(mut board) = self.0.lock() {
            let entries = board.entry(address).or_default();
            match entries.iter_mut().find(|(b, _)| *b == block) {
                Some((_, entry)) => *entry = known.clone(),
                None => entries.push((block, known.clone())),
            }
        }
    }

    /// A block reads `address` by an atomic or a strong load: it knows what was published there.
    pub fn acquire(&self, address: u64, acquired: &mut Acquired) {
        if let Ok(board) = self.0.lock() {
            for (block, known) in board.get(&address).into_iter().flatten() {
                acquired.insert(*block, known.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_what_it_is_made_of() {
        let stamp = Stamp {
            block: 70_000,
            warp: 31,
            lane: 17,
            time: 123_456,
        };
        let record = Record::new(stamp, 0b0110, true);
        assert_eq!(record.stamp(), Some(stamp));
        assert_eq!((record.bytes(), record.is_strong()), (0b0110, true));
        assert!(!record.has_lanes() && !record.has_warps());
        let many = record.and_lanes().and_warps();
        assert_eq!((many.stamp(), many.has_lanes()), (Some(stamp), true));
        assert!(many.has_warps());
        assert_eq!(Record::default().stamp(), None);
    }

    #[test]
    fn lanes_know_those_they_met() {
        let mut known = Known::new(1);
        let mut clock = 1;
        let stamp = |lane, known: &Known| Stamp {
            block: 0,
            warp: 0,
            lane,
            time: known.now[lane as usize],
        };
        let before = stamp(1, &known);
        let none = Acquired::new();
        assert!(!in_order(stamp(0, &known), before, &known, &none));
        known.sync_lanes(0b0110, !0, &mut clock);
        assert!(!in_order(stamp(0, &known), before, &known, &none));
        assert!(in_order(stamp(2, &known), before, &known, &none));
        assert!(!in_order(stamp(2, &known), stamp(1, &known), &known, &none));
        known.sync_lanes(!0, !0, &mut clock);
        assert!(in_order(stamp(0, &known), before, &known, &none));
    }
}
