//! Cost of a warp's accesses: sectors of global memory, wavefronts of shared memory.
//!
//! The rules reproduce the counters of an H200.
//! - Global: the distinct 32-byte sectors that the lanes touch, whatever the width of the access.
//! - Shared: 4-byte words are spread over 32 banks. A wavefront serves one word of each bank, for all lanes
//!   that want it. Accesses of up to 4 bytes per lane are served for the whole warp, of 8 bytes for each half
//!   warp, of 16 bytes for each quarter warp. For loads, two halves (or quarters) share a wavefront if each
//!   lane has the address of its neighbour t^1, or each that of t^2.

use super::shadow::PAGE;
use crate::report::SECTOR;

/// Number of banks of shared memory.
const BANKS: usize = 32;

/// Counts the distinct sectors of `bytes` bytes at each active lane's address.
#[inline]
pub fn sectors(addresses: &[u64; 32], mask: u32, bytes: u32) -> u64 {
    let mut found = [0; 64];
    let mut n = 0;
    let mut ascending = true;
    for lane in lanes(mask) {
        let first = addresses[lane] / SECTOR;
        let last = (addresses[lane] + u64::from(bytes) - 1) / SECTOR;
        for sector in first..=last {
            if n > 0 && found[n - 1] == sector {
                continue;
            }
            ascending &= n == 0 || found[n - 1] < sector;
            if n < found.len() {
                found[n] = sector;
                n += 1;
            }
        }
    }
    if ascending {
        return n as u64;
    }
    found[..n].sort_unstable();
    let repeated = found[..n].windows(2).filter(|w| w[0] == w[1]).count();
    (n - repeated) as u64
}

/// Minimum sectors for the bytes at `addresses` different addresses.
#[inline]
pub fn ideal_sectors(addresses: usize, bytes: u32) -> u64 {
    (addresses as u64 * u64::from(bytes)).div_ceil(SECTOR)
}

/// Wavefronts of an access of `bytes` bytes per lane.
#[inline]
pub fn wavefronts(addresses: &[u64; 32], mask: u32, bytes: u32, load: bool) -> u64 {
    let group = match bytes {
        8 => 16,
        16 => 8,
        _ => 32,
    };
    let merged = load && group < 32 && (pairs(addresses, mask, 1) || pairs(addresses, mask, 2));
    let group = if merged { group * 2 } else { group };
    let mut total = 0;
    for first in (0..32).step_by(group) {
        let part = mask & ((u64::from(u32::MAX) >> (32 - group)) << first) as u32;
        if part != 0 {
            total += passes(addresses, part, bytes);
        }
    }
    total
}

/// Minimum wavefronts for the width of the access.
#[inline]
pub fn ideal_wavefronts(mask: u32, bytes: u32) -> u64 {
    let words = u64::from(mask.count_ones()) * u64::from(bytes.max(4)) / 4;
    words.div_ceil(BANKS as u64)
}

/// Whether each active lane t has the address of lane t^distance, or that lane is inactive.
fn pairs(addresses: &[u64; 32], mask: u32, distance: usize) -> bool {
    lanes(mask).all(|t| {
        let other = t ^ distance;
        mask & (1 << other) == 0 || addresses[t] == addresses[other]
    })
}

/// Maximum number of distinct words in one bank.
fn passes(addresses: &[u64; 32], mask: u32, bytes: u32) -> u64 {
    let mut words = [0u64; 128];
    let mut n = 0;
    for lane in lanes(mask) {
        for word in addresses[lane] / 4..=(addresses[lane] + u64::from(bytes) - 1) / 4 {
            if n < words.len() && (n == 0 || words[n - 1] != word) {
                words[n] = word;
                n += 1;
            }
        }
    }
    let words = &mut words[..n];
    if words.windows(2).any(|w| w[0] > w[1]) {
        words.sort_unstable();
    }
    let mut in_bank = [0u8; BANKS];
    for (i, word) in words.iter().enumerate() {
        if i == 0 || words[i - 1] != *word {
            in_bank[(word % BANKS as u64) as usize] += 1;
        }
    }
    u64::from(in_bank.into_iter().max().unwrap_or(0))
}

/// Lanes with the same address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The first lane.
    pub lane: u8,
    /// All lanes, one bit each.
    pub mask: u32,
}

impl Group {
    /// A group of one lane.
    pub fn one(lane: usize) -> Self {
        Self {
            lane: lane as u8,
            mask: 1 << lane,
        }
    }
}

/// Groups the active lanes by address, ordered by first lane.
pub fn groups(addresses: &[u64; 32], mask: u32) -> Vec<Group> {
    let mut left = mask;
    let mut found = vec![];
    while left != 0 {
        let lane = left.trailing_zeros() as usize;
        let mask = left & those(addresses, |at| at == addresses[lane]);
        left &= !mask;
        let lane = lane as u8;
        found.push(Group { lane, mask });
    }
    found
}

/// Splits groups into runs that lie in one page of the shadow.
#[inline]
pub fn pages<'a>(
    addresses: &'a [u64; 32],
    groups: &'a [Group],
) -> impl Iterator<Item = (usize, &'a [Group])> {
    let page = |g: &Group| addresses[usize::from(g.lane)] as usize / PAGE;
    let same = move |a: &Group, b: &Group| page(a) == page(b);
    groups.chunk_by(same).map(move |run| (page(&run[0]), run))
}

/// Returns the lanes whose address satisfies `has`.
#[inline]
pub fn those(addresses: &[u64; 32], has: impl Fn(u64) -> bool) -> u32 {
    let bit = |(lane, &at): (usize, &u64)| u32::from(has(at)) << lane;
    addresses.iter().enumerate().map(bit).fold(0, |a, b| a | b)
}

/// Iterates over the active lanes in ascending order.
#[inline]
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        Some(lane)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(f: impl Fn(u64) -> u64) -> [u64; 32] {
        std::array::from_fn(|lane| f(lane as u64))
    }

    #[test]
    fn sectors_of_strides() {
        assert_eq!(sectors(&at(|l| 4 * l), !0, 4), 4);
        assert_eq!(sectors(&at(|l| 4 * l + 4), !0, 4), 5);
        assert_eq!(sectors(&at(|l| 128 * l), !0, 4), 32);
        assert_eq!(sectors(&at(|l| 4 * (31 - l)), !0, 4), 4);
        assert_eq!(sectors(&at(|_| 64), !0, 4), 1);
        assert_eq!(sectors(&at(|l| 16 * l), !0, 16), 16);
        assert_eq!(sectors(&at(|l| 4 * l), 1, 4), 1);
    }

    #[test]
    fn wavefronts_of_strides() {
        assert_eq!(wavefronts(&at(|l| 4 * l), !0, 4, true), 1);
        assert_eq!(wavefronts(&at(|l| 8 * l), !0, 4, true), 2);
        assert_eq!(wavefronts(&at(|l| 128 * l), !0, 4, true), 32);
        assert_eq!(wavefronts(&at(|_| 4), !0, 4, true), 1);
        assert_eq!(wavefronts(&at(|l| 8 * l), !0, 8, true), 2);
        assert_eq!(wavefronts(&at(|l| 16 * l), !0, 16, true), 4);
        assert_eq!(wavefronts(&at(|l| l), !0, 1, true), 1);
        // Neighbours read the same 8 bytes, so 16 addresses fit in one wavefront.
        assert_eq!(wavefronts(&at(|l| l / 2 * 8), !0, 8, true), 1);
        assert_eq!(wavefronts(&at(|l| l / 2 * 8), !0, 8, false), 2);
    }
}
