//! Races: unordered accesses to the same bytes, at least one of them a write.
//!
//! Each block has a logical clock that ticks at each barrier, `bar.warp.sync` and fence. An access is stamped
//! with the time at which its lane last synchronised. A lane knows of another lane up to some time; earlier
//! accesses of that lane are ordered before its own ("FastTrack: efficient and precise dynamic race
//! detection", Flanagan and Freund 2009). `known` keeps what lanes know, `shadow` who accessed a memory cell
//! last.
//!
//! The accesses of a warp's lanes by one instruction differ only in the lane, so they share an [`Epoch`].
//! Where possible, one comparison with another warp's instruction covers all lanes.

use super::coalesce::lanes;
use super::known::Known;

/// The author and time of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the block in the grid.
    pub block: u32,
    /// Warp in the block.
    pub warp: u32,
    /// Lane in the warp.
    pub lane: u32,
    /// The block's clock when the lane last synchronised.
    pub time: u32,
}

/// The threads that a record stands for, in addition to its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    One,
    /// Other lanes of its warp.
    Lanes,
    /// Other warps of its block.
    Warps,
    /// Other blocks.
    Blocks,
}

/// The common part of accesses by the lanes of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    /// Number of the block in the grid.
    pub block: u32,
    /// The block's clock when the lanes last synchronised.
    pub time: u32,
    /// The instruction.
    pub pc: u32,
    /// Warp in the block.
    pub warp: u8,
    /// Whether it is an atomic or other strong access; two of those do not race.
    pub strong: bool,
    /// Whether its scope is the block.
    pub narrow: bool,
    /// The threads that it stands for.
    pub spread: Spread,
}

impl Epoch {
    /// The stamp of one lane.
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
    /// Warp in the block.
    pub warp: u8,
    /// The instruction.
    pub pc: u32,
    /// Whether it is an atomic or other strong access.
    pub strong: bool,
    /// Whether its scope is the block.
    pub narrow: bool,
    /// The warp's knowledge of its block and of others.
    pub known: &'a Known,
    /// Number of the block whose shared memory is accessed; of global memory the accessing block's.
    pub home: u32,
}

impl Access<'_> {
    /// The epoch of one lane.
    pub fn epoch(&self, lane: usize, spread: Spread) -> Epoch {
        Epoch {
            block: self.block,
            time: self.known.now[lane],
            pc: self.pc,
            warp: self.warp,
            strong: self.strong,
            narrow: self.narrow,
            spread,
        }
    }

    /// Returns how an earlier epoch is ordered with this access, as far as all lanes share the answer.
    pub fn order(&self, epoch: &Epoch) -> Order {
        let in_scope = epoch.block == self.block || !(epoch.narrow || self.narrow);
        if epoch.strong && self.strong && in_scope {
            return Order::Before;
        }
        if epoch.block != self.block {
            return if self.known.peers.is_empty() {
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

    /// Whether lane `mine` comes after all accesses of an epoch: of one lane, or of `readers`.
    pub fn is_after(&self, epoch: &Epoch, lane: usize, readers: u32, mine: usize) -> bool {
        let after = |other| {
            let stamp = self.epoch(mine, Spread::One).stamp(mine);
            in_order(stamp, other, self.known)
        };
        let of_warp = |warp: usize, lane: usize| Stamp {
            warp: warp as u32,
            ..epoch.stamp(lane)
        };
        match epoch.spread {
            // The other readers are not recorded; the first one stands for all.
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

/// The order of an earlier epoch and an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Ordered before it, or no order is needed.
    Before,
    /// Unordered.
    Unordered,
    /// Same warp: ordered only for the same lane.
    SameLane,
    /// Several lanes of the same warp: ordered only if the accessing lane is the only one.
    SameLanes,
    /// Several warps: the given ones are unordered.
    Warps(u32),
    /// Different for each lane: see [`Access::is_after`].
    Ask,
}

/// Whether an access stamped `mine` comes after one stamped `other`.
pub fn in_order(mine: Stamp, other: Stamp, known: &Known) -> bool {
    if mine.block != other.block {
        return known
            .peers
            .get(&other.block)
            .is_some_and(|k| k.knows(other));
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
        /// The common answer for all lanes equals the answer for each lane.
        #[test]
        fn an_order_is_that_of_its_lanes(
            (block, time, warp, (strong, narrow)) in (0..2u32, 1..12u32, 0..4u8, any::<(bool, bool)>()),
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
            let access = Access { block: 0, warp: 1, pc: 0, strong: strongly, narrow: false, known: &known[1], home: 0 };
            let epoch = Epoch { block, time, pc: 0, warp, strong, narrow, spread };
            let first = match spread {
                Spread::Warps => 1 << warp,
                _ => 1 << lane,
            };
            let readers = first | if spread == Spread::Warps { warps } else { lanes };
            let in_scope = block == 0 || !narrow;
            let expected = strong && strongly && in_scope || access.is_after(&epoch, lane, readers, mine);
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
