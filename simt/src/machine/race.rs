//! Races: two accesses to the same bytes, at least one of them a write, that nothing puts in order.
//!
//! What puts accesses in order is counted by a clock of the block: it ticks at each barrier, each
//! `bar.warp.sync` and each fence. An access carries the time at which its lane last synchronised; a lane
//! knows of another up to a time, and what the other did earlier than that is before it ("FastTrack:
//! efficient and precise dynamic race detection", Flanagan and Freund 2009). What lanes know stands in
//! `known`, who accessed a cell of memory last in `shadow`.
//!
//! What the lanes of a warp do by one instruction has all in common but the lane: that is an [`Epoch`], and
//! whether it is before another warp's instruction is asked once for all lanes where it can be.

use super::coalesce::lanes;
use super::known::{Acquired, Known};

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

/// How many threads a record stands for, besides the one that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    One,
    /// Lanes of its warp.
    Lanes,
    /// Warps of its block.
    Warps,
    /// Other blocks.
    Blocks,
}

/// What accesses by the lanes of a warp have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    /// Number of the block in the grid.
    pub block: u32,
    /// As of a stamp.
    pub time: u32,
    /// The instruction.
    pub pc: u32,
    /// Of the block.
    pub warp: u8,
    /// Whether it is an atomic or another strong access: two of those are no race.
    pub strong: bool,
    /// For how many it stands.
    pub spread: Spread,
}

impl Epoch {
    /// Of one lane.
    pub fn stamp(&self, lane: usize) -> Stamp {
        Stamp {
            block: self.block,
            warp: self.warp.into(),
            lane: lane as u32,
            time: self.time,
        }
    }
}

/// An instruction of a warp that accesses memory.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Number of the block in the grid.
    pub block: u32,
    /// Of the block.
    pub warp: u8,
    /// The instruction.
    pub pc: u32,
    /// By an atomic or another strong operation.
    pub strong: bool,
    /// What the warp knows.
    pub known: &'a Known,
    /// What the block knows of others.
    pub acquired: &'a Acquired,
    /// Number of the block whose shared memory is accessed; of global memory the accessing block's.
    pub home: u32,
}

impl Access<'_> {
    /// One lane's.
    pub fn epoch(&self, lane: usize, spread: Spread) -> Epoch {
        Epoch {
            block: self.block,
            time: self.known.now[lane],
            pc: self.pc,
            warp: self.warp,
            strong: self.strong,
            spread,
        }
    }

    /// How what an epoch stands for lies to this access, as far as that is the same for all lanes.
    pub fn order(&self, epoch: &Epoch) -> Order {
        if epoch.strong && self.strong {
            return Order::Before;
        }
        if epoch.block != self.block {
            return if self.acquired.is_empty() && self.known.peers.is_empty() {
                Order::Unordered
            } else {
                Order::Ask
            };
        }
        let known = self.known;
        let before = |warp: usize| known.warps.get(warp).is_some_and(|&t| epoch.time < t);
        let together = known.knows_all_lanes(epoch.time);
        match epoch.spread {
            Spread::Warps if known.has_parts() && !together => Order::Ask,
            Spread::Warps => {
                let mine = usize::from(self.warp);
                let knows = |w: &usize| if *w == mine { together } else { before(*w) };
                let unknown = (0..known.warps.len().min(32)).filter(|w| !knows(w));
                Order::Warps(unknown.fold(0, |mask, w| mask | 1 << w))
            }
            _ if epoch.warp != self.warp && before(epoch.warp.into()) => Order::Before,
            _ if epoch.warp != self.warp => Order::Unordered,
            _ if together => Order::Before,
            _ if known.has_parts() => Order::Ask,
            Spread::Lanes => Order::SameLanes,
            _ => Order::SameLane,
        }
    }

    /// Whether lane `mine` comes after all of what an epoch stands for: by one lane, or by `readers`.
    pub fn is_after(&self, epoch: &Epoch, lane: usize, readers: u32, mine: usize) -> bool {
        let after = |other| {
            let stamp = self.epoch(mine, Spread::One).stamp(mine);
            in_order(stamp, other, self.known, self.acquired)
        };
        let of_warp = |warp: usize, lane: usize| Stamp {
            warp: warp as u32,
            ..epoch.stamp(lane)
        };
        match epoch.spread {
            // Who they were is not kept; the first of them stands for all.
            Spread::One | Spread::Blocks => after(epoch.stamp(lane)),
            Spread::Lanes => lanes(readers).all(|l| after(epoch.stamp(l))),
            Spread::Warps => lanes(readers).all(|w| {
                let all = if w == usize::from(self.warp) {
                    0..32
                } else {
                    0..1
                };
                all.into_iter().all(|lane| after(of_warp(w, lane)))
            }),
        }
    }
}

/// How an earlier epoch lies to an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Before it, or no order is needed.
    Before,
    /// Nothing puts them in order.
    Unordered,
    /// Of the same warp: before those of the same lane only.
    SameLane,
    /// Of several lanes of the same warp: before it if there is no other than the lane that accesses.
    SameLanes,
    /// Of several warps: these are not in order with it.
    Warps(u32),
    /// Lane by lane: see [`Access::is_after`].
    Ask,
}

/// Whether an access of `mine` comes after `other`'s.
pub fn in_order(mine: Stamp, other: Stamp, known: &Known, acquired: &Acquired) -> bool {
    if mine.block != other.block {
        let known = [acquired, &known.peers].map(|peers| peers.get(&other.block));
        return known.into_iter().flatten().any(|k| k.knows(other));
    }
    if mine.warp != other.warp {
        return known
            .warps
            .get(other.warp as usize)
            .is_some_and(|&t| other.time < t);
    }
    known.knows_lane(mine.lane, other.lane, other.time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spread() -> impl Strategy<Value = Spread> {
        prop_oneof![
            Just(Spread::One),
            Just(Spread::Lanes),
            Just(Spread::Warps),
            Just(Spread::Blocks)
        ]
    }

    proptest! {
        /// What is said for all lanes at once is what each lane by itself finds.
        #[test]
        fn an_order_is_that_of_its_lanes(
            (block, time, warp, strong) in (0..2u32, 1..12u32, 0..4u8, any::<bool>()),
            (spread, lane, lanes, warps) in (spread(), 0..32usize, any::<u32>(), 0..16u32),
            (mine, strongly) in (0..32usize, any::<bool>()),
            syncs in prop::collection::vec((0..4usize, any::<u32>()), 0..6),
        ) {
            let mut known: Vec<Known> = (0..4).map(|_| Known::new(4)).collect();
            let mut clock = 1;
            for (i, (w, mask)) in syncs.into_iter().enumerate() {
                match i % 3 {
                    0 => known[w].sync_lanes(!0, !0, &mut clock),
                    1 => Known::barrier(&mut known.iter_mut().collect::<Vec<_>>(), &[0, 1, 2, 3], &[], &mut clock),
                    _ => known[w].sync_lanes(mask | 1, !0, &mut clock),
                }
            }
            let acquired = Acquired::new();
            let access = Access { block: 0, warp: 1, pc: 0, strong: strongly, known: &known[1], acquired: &acquired, home: 0 };
            let epoch = Epoch { block, time, pc: 0, warp, strong, spread };
            let first = match spread {
                Spread::Warps => 1 << warp,
                _ => 1 << lane,
            };
            let readers = first | if spread == Spread::Warps { warps } else { lanes };
            let expected = epoch.strong && strongly || access.is_after(&epoch, lane, readers, mine);
            let found = match access.order(&epoch) {
                Order::Before => true,
                Order::Unordered => false,
                Order::SameLane => lane == mine,
                Order::SameLanes => readers == 1 << mine,
                Order::Warps(unknown) => readers & unknown == 0,
                Order::Ask => expected,
            };
            prop_assert_eq!(found, expected);
        }
    }
}
