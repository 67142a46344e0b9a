//! Calls of `rms_norm`.

use crate::calls::{List, ROWS};

pub fn add(list: &mut List) {
    for [rows, c] in ROWS {
        list.function("rms_norm", &format!("{rows}×{c}"), move |f, i| {
            (f.rms_norm)(&i.tensor(&[rows, c])?, &i.tensor(&[c])?, 1e-5)
        });
    }
}
