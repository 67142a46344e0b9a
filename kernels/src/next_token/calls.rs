//! Calls of `argmax` and `top_k`.

use super::level4;
use crate::calls::{BOTH, List};

pub fn add(list: &mut List) {
    for vocab in [1000, 4099] {
        let shape = vocab.to_string();
        list.kernel("argmax", 4, &BOTH, &shape, move |i| {
            level4::argmax(&i.tensor(&[vocab])?)
        });
        list.kernel("top_k", 4, &BOTH, &shape, move |i| {
            level4::top_k(&i.tensor(&[vocab])?, 40, 0.8)
        });
    }
}
