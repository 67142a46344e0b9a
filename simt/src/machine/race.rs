//! Races: two accesses to the same bytes, at least one of them a write, that nothing puts in order.
//!
//! What puts accesses in order is counted by a clock of the block: it ticks at each barrier, each
//! `bar.warp.sync` and each fence. An access carries the time at which its lane last synchronised; a lane
//! knows of another up to a time, and what the other did earlier than that is before it ("FastTrack:
//! efficient and precise dynamic race detection", Flanagan and Freund 2009). What lanes know stands in
//! `known`, who accessed a word last in `shadow`.

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

/// An access, packed: what a shadow cell holds. Zero is no access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record(pub u64);

const TIME_BITS: u32 = 24;
const BLOCK_BITS: u32 = 22;
/// Above the fields, so that no record is zero.
const PRESENT: u64 = 1 << 57;
const SPREAD_SHIFT: u32 = 58;

impl Record {
    /// `strong`: by an atomic or another strong access.
    pub fn new(stamp: Stamp, strong: bool) -> Self {
        let block = u64::from(stamp.block) & ((1 << BLOCK_BITS) - 1);
        let time = u64::from(stamp.time) & ((1 << TIME_BITS) - 1);
        let who = (u64::from(stamp.warp) << 5) | u64::from(stamp.lane);
        let packed = (((block << TIME_BITS) | time) << 10) | who;
        Self(PRESENT | (packed << 1) | u64::from(strong))
    }

    /// `None` for no access.
    pub fn stamp(self) -> Option<Stamp> {
        if self.0 == 0 {
            return None;
        }
        let packed = (self.0 & (PRESENT - 1)) >> 1;
        Some(Stamp {
            lane: (packed & 31) as u32,
            warp: ((packed >> 5) & 31) as u32,
            time: ((packed >> 10) & ((1 << TIME_BITS) - 1)) as u32,
            block: ((packed >> (10 + TIME_BITS)) & ((1 << BLOCK_BITS) - 1)) as u32,
        })
    }

    /// Whether it was an atomic or another strong access.
    pub fn is_strong(self) -> bool {
        self.0 & 1 != 0
    }

    /// For how many it stands.
    pub fn spread(self) -> Spread {
        match self.0 >> SPREAD_SHIFT {
            0 => Spread::One,
            1 => Spread::Lanes,
            2 => Spread::Warps,
            _ => Spread::Blocks,
        }
    }

    /// The same, for more.
    pub fn with_spread(self, spread: Spread) -> Self {
        let fields = self.0 & ((1 << SPREAD_SHIFT) - 1);
        Self(fields | (spread as u64) << SPREAD_SHIFT)
    }
}

/// Whether an access of `mine` comes after `other`'s.
pub fn in_order(mine: Stamp, other: Stamp, known: &Known, acquired: &Acquired) -> bool {
    if mine.block != other.block {
        return acquired.get(&other.block).is_some_and(|k| k.knows(other));
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

    #[test]
    fn a_record_keeps_what_it_is_made_of() {
        let stamp = Stamp {
            block: 70_000,
            warp: 31,
            lane: 17,
            time: 123_456,
        };
        let record = Record::new(stamp, true);
        assert_eq!(record.stamp(), Some(stamp));
        assert_eq!((record.is_strong(), record.spread()), (true, Spread::One));
        for spread in [Spread::Lanes, Spread::Warps, Spread::Blocks] {
            let many = record.with_spread(spread);
            assert_eq!((many.stamp(), many.spread()), (Some(stamp), spread));
        }
        assert_eq!(Record::default().stamp(), None);
    }
}
