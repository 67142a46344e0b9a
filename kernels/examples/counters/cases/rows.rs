//! Ops that go along rows, and those that choose among them.

use candle_core::{Result, Tensor};
use kernels::{add_layer_norm, add_rms_norm, embedding, gelu, next_token, softmax};
use operands::Weight;

use super::List;

/// Rows and columns: on 16 bytes or not, shorter and longer than a block.
const SHAPES: [[usize; 2]; 4] = [[3, 65], [5, 512], [2, 1031], [33, 128]];

const EPS: f64 = 1e-5;

type RmsNorm = fn(&Tensor, Option<&Tensor>, &Tensor, f64) -> Result<(Tensor, Tensor)>;
type LayerNorm = fn(&Tensor, Option<&Tensor>, &Tensor, &Tensor, f64) -> Result<(Tensor, Tensor)>;

pub fn add(list: &mut List) {
    for [rows, c] in SHAPES {
        norms(list, rows, c);
        let shape = format!("{rows}×{c}");
        for (level, op) in [
            (3, softmax::level3::softmax as fn(&_, _) -> _),
            (4, softmax::level4::softmax),
        ] {
            let what = format!("softmax, level {level}");
            list.add(&what, &shape, move |i| op(&i.tensor(&[rows, c])?, 0.7));
        }
        for (level, op) in [
            (3, gelu::level3::gelu as fn(&_) -> _),
            (4, gelu::level4::gelu),
        ] {
            let what = format!("gelu, level {level}");
            list.add(&what, &shape, move |i| op(&i.tensor(&[rows, c])?));
        }
        for (level, op) in [
            (3, embedding::level3::embedding as fn(&_, &_) -> _),
            (4, embedding::level4::embedding),
        ] {
            let what = format!("embedding, level {level}");
            list.add(&what, &shape, move |i| {
                let ids = i.indices(rows, 19);
                op(&i.u32s(ids)?, &Weight::new(i.tensor(&[19, c])?))
            });
        }
    }
    for vocab in [1000, 4099] {
        let shape = vocab.to_string();
        list.add("argmax, level 4", &shape, move |i| {
            next_token::level4::argmax(&i.tensor(&[vocab])?)
        });
        list.add("top_k, level 4", &shape, move |i| {
            next_token::level4::top_k(&i.tensor(&[vocab])?, 40, 0.8)
        });
    }
}

/// With a residual, and without.
fn norms(list: &mut List, rows: usize, c: usize) {
    for residual in [true, false] {
        let shape = match residual {
            true => format!("{rows}×{c} and a residual"),
            false => format!("{rows}×{c}"),
        };
        for (level, op) in [
            (3, add_rms_norm::level3::add_rms_norm as RmsNorm),
            (4, add_rms_norm::level4::add_rms_norm),
        ] {
            let what = format!("add_rms_norm, level {level}");
            list.add(&what, &shape, move |i| {
                let (x, r, w) = (
                    i.tensor(&[rows, c])?,
                    i.tensor(&[rows, c])?,
                    i.tensor(&[c])?,
                );
                op(&x, residual.then_some(&r), &w, EPS)
            });
        }
        for (level, op) in [
            (3, add_layer_norm::level3::add_layer_norm as LayerNorm),
            (4, add_layer_norm::level4::add_layer_norm),
        ] {
            let what = format!("add_layer_norm, level {level}");
            list.add(&what, &shape, move |i| {
                let (x, r) = (i.tensor(&[rows, c])?, i.tensor(&[rows, c])?);
                let (w, b) = (i.tensor(&[c])?, i.tensor(&[c])?);
                op(&x, residual.then_some(&r), &w, &b, EPS)
            });
        }
    }
}
