//! Calls of both kernels of `ternary_linear`.

use super::{Ternary, level4};
use crate::calls::{BOTH, List};

pub fn add(list: &mut List) {
    for [m, n, k] in [[1, 64, 128], [3, 33, 100], [9, 70, 260]] {
        for (name, op) in [
            ("ternary_linear_lut", level4::lut as fn(&_, &_) -> _),
            ("ternary_linear_dp4a", level4::dp4a),
        ] {
            list.kernel(name, 4, &BOTH, &format!("{m}×{n}×{k}"), move |i| {
                let (x, w) = (i.tensor(&[m, k])?, i.tensor(&[n, k])?);
                op(&x, &Ternary::quantize(&w)?)
            });
        }
    }
}
