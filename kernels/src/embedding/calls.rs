//! Calls of `embedding`.

use operands::Weight;

use crate::calls::{List, ROWS};

pub fn add(list: &mut List) {
    for [rows, c] in ROWS {
        list.function("embedding", &format!("{rows}×{c}"), move |f, i| {
            let ids = i.indices(rows, 19);
            let ids = i.u32s(ids)?.unsqueeze(0)?; // (1, T)
            (f.embedding)(&ids, &Weight::new(i.tensor(&[19, c])?))
        });
    }
}
