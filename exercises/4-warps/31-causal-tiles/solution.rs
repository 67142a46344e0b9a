// The tiles of causal attention: a query sees the keys up to its own position.
//
// A block has the queries of some positions, and takes the keys in tiles. A tile is in one of three
// places: all queries see all of it, none sees any of it, or the diagonal runs through it.

use std::ops::Range;

/// Keys of a tile.
pub const KEYS: usize = 32;

/// Visits the tiles of keys that the queries at `positions` need, each once. A tile begins at a
/// multiple of KEYS, which `whole` or `masked` gets.
///
/// `whole` computes all scores of the tile. `masked` asks `is_visible` about each of them.
pub fn visit(positions: Range<usize>, mut whole: impl FnMut(usize), mut masked: impl FnMut(usize)) {
    // REGION: tiles
    //|     // This visits tiles that no query sees, and it has the wrong ones tested.
    //|     let all = positions.end.next_multiple_of(KEYS) + KEYS;
    //|     for key in (0..all).step_by(KEYS) {
    //|         if key < positions.start { whole(key) } else { masked(key) }
    //|     }
    let seen_by_all = positions.start + 1;
    let whole_tiles = seen_by_all / KEYS;
    for tile in 0..whole_tiles {
        whole(tile * KEYS);
    }
    for tile in whole_tiles..positions.end.div_ceil(KEYS) {
        masked(tile * KEYS);
    }
    // END
}

/// Whether the query at this position sees the key at that one.
pub fn is_visible(query: usize, key: usize) -> bool {
    // REGION: mask
    //|     key < query
    key <= query
    // END
}
