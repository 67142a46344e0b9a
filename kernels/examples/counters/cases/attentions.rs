//! Attention over all tokens and over a cache, and the rotation that fills it.

use candle_core::{Result, Tensor};
use kernels::attention::{self, Cache};
use kernels::rope;

use super::{Inputs, List};

/// A sequence: `tokens` behind `position` others.
#[derive(Clone, Copy)]
struct Shape {
    batch: usize,
    position: usize,
    tokens: usize,
    heads: usize,
    kv_heads: usize,
    d: usize,
}

/// B, position, T, H, Hkv, D.
const CAUSAL: [[usize; 6]; 7] = [
    [1, 0, 9, 4, 2, 32],
    [2, 5, 3, 2, 1, 64],
    [1, 40, 1, 4, 4, 16],
    [1, 300, 1, 4, 2, 64],
    [1, 20, 1, 4, 1, 24],
    [1, 33, 1, 2, 2, 48],
    [1, 270, 2, 2, 2, 128],
];

/// B, T, H, D.
const FULL: [[usize; 4]; 6] = [
    [1, 17, 2, 32],
    [2, 65, 1, 64],
    [1, 10, 3, 80],
    [1, 21, 2, 16],
    [1, 9, 2, 128],
    [16, 11, 4, 32],
];

type RopeAppend =
    fn(&Tensor, &Tensor, &Tensor, &Tensor, &Tensor, &mut Cache, usize) -> Result<Tensor>;
type Causal = fn(&Tensor, &Cache, usize) -> Result<Tensor>;
type Full = fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>;

const LEVELS: [(u8, RopeAppend, Causal); 2] = [
    (
        3,
        rope::level3::rope_append,
        attention::level3::causal_attention,
    ),
    (
        4,
        rope::level4::rope_append,
        attention::level4::causal_attention,
    ),
];

pub fn add(list: &mut List) {
    for [batch, position, tokens, heads, kv_heads, d] in CAUSAL {
        let x = Shape {
            batch,
            position,
            tokens,
            heads,
            kv_heads,
            d,
        };
        let shape = format!("{batch}×{tokens} behind {position}, {heads}/{kv_heads} heads of {d}");
        for (level, rope, attend) in LEVELS {
            let what = format!("rope_append and causal_attention, level {level}");
            list.add(&what, &shape, move |i| causal(i, x, rope, attend));
        }
    }
    for [b, t, h, d] in FULL {
        for (level, op) in [
            (3, attention::level3::attention as Full),
            (4, attention::level4::attention),
        ] {
            let what = format!("attention, level {level}");
            list.add(&what, &format!("{b}×{t}, {h} heads of {d}"), move |i| {
                full(i, [b, t, h, d], op)
            });
        }
    }
}

/// Of views of one product: batch, tokens, heads, D.
pub fn full(i: &mut Inputs, [b, t, h, d]: [usize; 4], op: Full) -> Result<Tensor> {
    let qkv = i.tensor(&[b, t, 3 * h, d])?;
    let part = |n: usize| qkv.narrow(2, n * h, h);
    op(&part(0)?, &part(1)?, &part(2)?)
}

/// The tokens before are appended first, as a prompt is: the cache is written before it is read.
fn causal(i: &mut Inputs, x: Shape, rope: RopeAppend, attend: Causal) -> Result<Tensor> {
    let capacity = x.position + x.tokens + 3;
    let mut cache = Cache::new(x.batch, capacity, x.kv_heads, x.d, i.dtype, &i.device)?;
    if x.position > 0 {
        append(i, x, 0, x.position, rope, &mut cache)?;
    }
    let q = append(i, x, x.position, x.tokens, rope, &mut cache)?;
    attend(&q, &cache, x.position)
}

fn append(
    i: &mut Inputs,
    x: Shape,
    position: usize,
    tokens: usize,
    rope: RopeAppend,
    cache: &mut Cache,
) -> Result<Tensor> {
    let heads = x.heads + 2 * x.kv_heads;
    let qkv = i.tensor(&[x.batch, tokens, heads, x.d])?;
    let q = qkv.narrow(2, 0, x.heads)?;
    let k = qkv.narrow(2, x.heads, x.kv_heads)?;
    let v = qkv.narrow(2, x.heads + x.kv_heads, x.kv_heads)?;
    let (cos, sin) = (i.tensor(&[tokens, x.d / 2])?, i.tensor(&[tokens, x.d / 2])?);
    rope(&q, &k, &v, &cos, &sin, cache, position)
}
