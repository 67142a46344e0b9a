//! Ops that go along rows, and those that choose among them.

use candle_core::{Result, Tensor};
use kernels::{embedding, gelu, layer_norm, next_token, rms_norm, softmax};
use operands::Weight;

use super::List;

/// Rows and columns: on 16 bytes or not, shorter and longer than a block.
const SHAPES: [[usize; 2]; 4] = [[3, 65], [5, 512], [2, 1031], [33, 128]];

const EPS: f64 = 1e-5;

type RmsNorm = fn(&Tensor, &Tensor, f64) -> Result<Tensor>;
type LayerNorm = fn(&Tensor, &Tensor, &Tensor, f64) -> Result<Tensor>;

pub fn add(list: &mut List) {
    for [rows, c] in SHAPES {
        let shape = format!("{rows}×{c}");
        norms(list, &shape, rows, c);
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

fn norms(list: &mut List, shape: &str, rows: usize, c: usize) {
    for (level, op) in [
        (3, rms_norm::level3::rms_norm as RmsNorm),
        (4, rms_norm::level4::rms_norm),
    ] {
        let what = format!("rms_norm, level {level}");
        list.add(&what, shape, move |i| {
            op(&i.tensor(&[rows, c])?, &i.tensor(&[c])?, EPS)
        });
    }
    for (level, op) in [
        (3, layer_norm::level3::layer_norm as LayerNorm),
        (4, layer_norm::level4::layer_norm),
    ] {
        let what = format!("layer_norm, level {level}");
        list.add(&what, shape, move |i| {
            let x = i.tensor(&[rows, c])?;
            op(&x, &i.tensor(&[c])?, &i.tensor(&[c])?, EPS)
        });
    }
}
