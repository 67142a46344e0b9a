//! Calls of `softmax`.

use crate::calls::{List, ROWS};

pub fn add(list: &mut List) {
    for [rows, c] in ROWS {
        list.function("softmax", &format!("{rows}×{c}"), move |f, i| {
            (f.softmax)(&i.tensor(&[rows, c])?, 0.7)
        });
    }
    list.edge("softmax", "3×64, misaligned", |f, i| {
        (f.softmax)(&i.misaligned(&[3, 64])?, 0.7)
    });
    list.edge("softmax", "3×20 with a NaN", |f, i| {
        (f.softmax)(&i.with_nan(&[3, 20])?, 0.7)
    });
}
