//! Calls of `layer_norm`.

use crate::calls::{List, ROWS};

pub fn add(list: &mut List) {
    for [rows, c] in ROWS {
        list.function("layer_norm", &format!("{rows}×{c}"), move |f, i| {
            let x = i.tensor(&[rows, c])?;
            (f.layer_norm)(&x, &i.tensor(&[c])?, &i.tensor(&[c])?, 1e-5)
        });
    }
}
