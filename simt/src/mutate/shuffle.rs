//! Mistakes in `shfl.sync d, a, lane, width, mask`.

use super::{Change, Site};

/// Operands of a shuffle, by number.
const LANE: usize = 2;
const WIDTH: usize = 3;

/// How far a shuffle goes, or for `idx` from which lane it reads, if that is a constant.
fn distance(site: &Site) -> Option<i128> {
    if site.instruction.opcode == "shfl" {
        site.integer(LANE)
    } else {
        None
    }
}

/// Segments as long as the distance, so that no lane reaches the one that it needs; of 16 lanes for `idx`.
///
/// Longer segments would often be no mistake: a butterfly over 4 lanes never leaves segments of 8.
pub fn width(site: &Site) -> Vec<Change> {
    let (Some(distance), Some(c)) = (distance(site), site.integer(WIDTH)) else {
        return vec![];
    };
    let lanes = if site.has("idx") { 16 } else { distance };
    if !matches!(lanes, 1 | 2 | 4 | 8 | 16) {
        return vec![];
    }
    // PTX keeps the clamp in bits 0 to 4, and in bits 8 to 12 those of a lane's number that name its segment.
    let narrow = (c & 0x1f) | ((32 - lanes) << 8);
    with(site, WIDTH, narrow, c)
}

/// Half the distance of `bfly`, `up` and `down`; the lane after that of `idx`.
pub fn lane(site: &Site) -> Vec<Change> {
    let Some(distance) = distance(site) else {
        return vec![];
    };
    let now = if site.has("idx") {
        (distance + 1) & 31
    } else {
        distance / 2
    };
    with(site, LANE, now, distance)
}

/// The instruction with another constant, if it is another.
fn with(site: &Site, place: usize, now: i128, was: i128) -> Vec<Change> {
    if now == was {
        vec![]
    } else {
        vec![site.with_integer(place, now).into()]
    }
}
