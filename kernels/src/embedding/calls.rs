//! Calls of `embedding`.

use operands::Weight;

use crate::calls::{List, ROWS};

pub fn add(list: &mut List) {
    for [rows, c] in ROWS {
        list.function("embedding", &format!("{rows}×{c}"), move |f, i| {
            let ids = i.indices(rows, 19);
            (f.embedding)(&i.u32s(ids)?, &Weight::new(i.tensor(&[19, c])?))
        });
    }
}
