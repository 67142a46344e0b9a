//! Calls of `gelu`, which levels 1 and 2 have only inside of others.

use super::{level3, level4};
use crate::calls::{BOTH, List, ROWS};

pub fn add(list: &mut List) {
    for [rows, c] in ROWS {
        let shape = format!("{rows}×{c}");
        list.kernel("gelu", 3, &BOTH, &shape, move |i| {
            level3::gelu(&i.tensor(&[rows, c])?)
        });
        list.kernel("gelu", 4, &BOTH, &shape, move |i| {
            level4::gelu(&i.tensor(&[rows, c])?)
        });
    }
}
