//! Mutations of `shfl.sync d, a, lane, width, mask`.

use super::{Change, Site};

/// Operand indices of a shuffle.
const LANE: usize = 2;
const WIDTH: usize = 3;

/// Returns the distance of a shuffle, or for `idx` the source lane, if it is a constant.
fn distance(site: &Site) -> Option<i128> {
    if site.instruction.opcode == "shfl" {
        site.integer(LANE)
    } else {
        None
    }
}

/// Narrows the segments to the distance, so that no lane reaches its source; for `idx` to 16 lanes.
///
/// Wider segments would often change nothing: a butterfly over 4 lanes never leaves segments of 8.
pub fn width(site: &Site) -> Vec<Change> {
    let (Some(distance), Some(c)) = (distance(site), site.integer(WIDTH)) else {
        return vec![];
    };
    let lanes = if site.has("idx") { 16 } else { distance };
    if !matches!(lanes, 1 | 2 | 4 | 8 | 16) {
        return vec![];
    }
    // PTX keeps the clamp in bits 0 to 4, and the mask of segment bits in bits 8 to 12.
    let narrow = (c & 0x1f) | ((32 - lanes) << 8);
    with(site, WIDTH, narrow, c)
}

/// Halves the distance of `bfly`, `up` and `down`; `idx` reads the next lane.
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

/// Replaces a constant if the new one differs.
fn with(site: &Site, index: usize, now: i128, was: i128) -> Vec<Change> {
    if now == was {
        vec![]
    } else {
        vec![site.with_integer(index, now).into()]
    }
}
