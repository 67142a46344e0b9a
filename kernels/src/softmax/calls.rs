//! Calls of `softmax`.

use crate::calls::{List, ROWS};

pub fn add(list: &mut List) {
    for [rows, c] in ROWS {
        list.function("softmax", &format!("{rows}×{c}"), move |f, i| {
            (f.softmax)(&i.tensor(&[rows, c])?, 0.7)
        });
    }
}
