//! Level 5's own kernels, each on a shape of its own, whichever the registries would pick.

use candle_core::{DType, Result, Tensor};
use kernels::attention::{self, level5 as attend};
use kernels::{linear, matmul, rope};
use operands::Linear;

use super::attentions::full;
use super::{Inputs, List};

/// Batch, M, N, K: with rests, and rows of whole quads.
const PRODUCTS: [[usize; 4]; 2] = [[1, 33, 35, 150], [5, 64, 32, 64]];

/// M, N, K of few rows.
const FEW: [[usize; 3]; 3] = [[1, 65, 96], [1, 64, 520], [4, 33, 1032]];

/// Batch, position, tokens, heads, those of the cache, D.
const STEPS: [[usize; 6]; 7] = [
    [1, 40, 1, 4, 4, 16],
    [1, 20, 1, 6, 2, 32],
    [1, 33, 1, 2, 2, 64],
    [1, 33, 1, 2, 2, 128],
    [1, 300, 1, 4, 2, 64],
    [2, 33, 2, 2, 1, 48],
    [1, 270, 2, 2, 2, 128],
];

/// Batch, tokens, heads, D: one for each kernel of f32 on tensor cores.
const FULL: [[usize; 4]; 4] = [
    [2, 65, 1, 32],
    [1, 70, 2, 64],
    [1, 10, 3, 80],
    [1, 33, 2, 128],
];

pub fn add(list: &mut List) {
    for entry in matmul::level5::REGISTRY.entries {
        if let matmul::level5::Run::Tile(_) = entry.run {
            for shape in PRODUCTS {
                products(list, entry.name, entry.run, shape);
            }
        }
    }
    for entry in linear::level5::REGISTRY.entries {
        if let linear::level5::Run::GemvSplit(_) = entry.run {
            for shape in FEW {
                few_rows(list, entry.name, entry.run, shape);
            }
        }
    }
    for step @ [batch, position, tokens, heads, kv_heads, d] in STEPS {
        let shape = format!("{batch}×{tokens} behind {position}, {heads}/{kv_heads} heads of {d}");
        let what = "rope_append and causal_attention, level 5";
        list.add(what, &shape, move |i| decode(i, step));
    }
    for shape @ [b, t, h, d] in FULL {
        let size = format!("{b}×{t}, {h} heads of {d}");
        list.add_in(&[DType::F32], "attention, level 5", &size, move |i| {
            full(i, shape, attention::level5::tile_tf32x3::attention)
        });
    }
}

/// Of rows, and of transposed views.
fn products(list: &mut List, name: &str, run: matmul::level5::Run, [b, m, n, k]: [usize; 4]) {
    for transposed in [false, true] {
        let what = if transposed {
            format!("{name} of transposed views, level 5")
        } else {
            format!("{name}, level 5")
        };
        list.add_in(&[DType::F32], &what, &format!("{b} of {m}×{n}×{k}"), {
            move |i| {
                let mut matrix = |rows, columns| {
                    if transposed {
                        i.tensor(&[b, columns, rows])?.t()
                    } else {
                        i.tensor(&[b, rows, columns])
                    }
                };
                let (x, y) = (matrix(m, k)?, matrix(k, n)?);
                matmul::level5::Call::new(&x, &y, Some(&i.tensor(&[n])?))?.run(run)
            }
        });
    }
}

fn few_rows(list: &mut List, name: &str, run: linear::level5::Run, [m, n, k]: [usize; 3]) {
    let shape = format!("{m}×{n}×{k}");
    list.add(&format!("{name}, level 5"), &shape, move |i| {
        let (x, b) = (i.tensor(&[m, k])?, i.tensor(&[n])?);
        let w = Linear::new(i.tensor(&[n, k])?, Some(b));
        linear::level5::Call::linear(&x, &w)?.run(run)?;
        linear::level5::Call::residual(&x, &w, &i.tensor(&[m, n])?)?.run(run)?;
        linear::level5::Call::gelu(&x, &w)?.run(run)?;
        let w = Linear::new(i.tensor(&[2 * n, k])?, None);
        linear::level5::Call::swiglu(&x, &w)?.run(run)
    });
}

/// A step whose position the device knows; the tokens before it are appended first, as a prompt is.
fn decode(i: &mut Inputs, [batch, position, tokens, heads, kv_heads, d]: [usize; 6]) -> Result<()> {
    let capacity = position + tokens + 3;
    let mut inner = attention::Cache::new(batch, capacity, kv_heads, d, i.dtype, &i.device)?;
    let mut part = |tokens: usize| -> Result<[Tensor; 3]> {
        let qkv = i.tensor(&[batch, tokens, heads + 2 * kv_heads, d])?;
        let [q, k, v] = [(0, heads), (heads, kv_heads), (heads + kv_heads, kv_heads)]
            .map(|(first, count)| qkv.narrow(2, first, count));
        Ok([q?, k?, v?])
    };
    let ([q, k, v], [next_q, next_k, next_v]) = (part(position)?, part(tokens)?);
    let (cos, sin) = (i.tensor(&[capacity, d / 2])?, i.tensor(&[capacity, d / 2])?);
    let here = |angles: &Tensor| angles.narrow(0, 0, position);
    rope::level4::rope_append(&q, &k, &v, &here(&cos)?, &here(&sin)?, &mut inner, 0)?;
    let shared = attend::Position::new(&i.device)?;
    let mut cache = attend::Cache::new(inner, shared.clone());
    let Some(at) = cache.on_device(&next_q, position)? else {
        candle_core::bail!("heads of {d}: expected a position on the device, found none");
    };
    let q = rope::level5::rope_append(&next_q, &next_k, &next_v, &cos, &sin, &at)?;
    attend::causal_attention(&q, &at)?;
    shared.map_or(Ok(()), |shared| shared.advance(tokens))
}
