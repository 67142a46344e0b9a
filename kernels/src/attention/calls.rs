//! Calls of attention over all tokens and over a cache, and of the rotation that fills the cache.

use candle_core::{DType, Result, Tensor};

use super::{Cache, level3, level4, level5};
use crate::calls::{BOTH, Inputs, List};
use crate::rope;

/// Both kernels of causal attention.
const CACHED: &str = "rope_append and causal_attention";

/// A sequence: `tokens` after `position` others.
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

/// Batch, tokens, heads, D: one for each kernel of f32 on tensor cores.
const TF32: [[usize; 4]; 4] = [
    [2, 65, 1, 32],
    [1, 70, 2, 64],
    [1, 10, 3, 80],
    [1, 33, 2, 128],
];

type RopeAppend =
    fn(&Tensor, &Tensor, &Tensor, &Tensor, &Tensor, &mut Cache, usize) -> Result<Tensor>;
type Causal = fn(&Tensor, &Cache, usize) -> Result<Tensor>;
type Full = fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>;

const LEVELS: [(u8, RopeAppend, Causal); 2] = [
    (3, rope::level3::rope_append, level3::causal_attention),
    (4, rope::level4::rope_append, level4::causal_attention),
];

/// Batch, position, tokens, heads, those of the cache, D: steps whose position is in the device's memory.
const STEPS: [[usize; 6]; 7] = [
    [1, 40, 1, 4, 4, 16],
    [1, 20, 1, 6, 2, 32],
    [1, 33, 1, 2, 2, 64],
    [1, 33, 1, 2, 2, 128],
    [1, 300, 1, 4, 2, 64],
    [2, 33, 2, 2, 1, 48],
    [1, 270, 2, 2, 2, 128],
];

/// The same for `step_split.cu`: one split; two, where the last has new keys; five blocks of queries.
const SPLIT_STEPS: [[usize; 6]; 3] = [
    [2, 33, 2, 3, 1, 24],
    [1, 127, 2, 4, 2, 64],
    [1, 270, 2, 20, 2, 128],
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
        let shape = format!("{batch}×{tokens} after {position}, {heads}/{kv_heads} heads of {d}");
        for (level, rope, attend) in LEVELS {
            list.kernel(CACHED, level, &BOTH, &shape, move |i| {
                causal(i, x, rope, attend)
            });
        }
    }
    for shape @ [b, t, h, d] in FULL {
        list.function(
            "attention",
            &format!("{b}×{t}, {h} heads of {d}"),
            move |f, i| full(i, shape, f.attention),
        );
    }
    for step @ [batch, position, tokens, heads, kv_heads, d] in STEPS {
        let shape = format!("{batch}×{tokens} after {position}, {heads}/{kv_heads} heads of {d}");
        list.kernel(CACHED, 5, &BOTH, &shape, move |i| decode(i, step, None));
        list.kernel("attention_step", 5, &BOTH, &shape, move |i| {
            decode(
                i,
                step,
                Some(|step| Ok(level5::attention_step_with_info(step)?.0)),
            )
        });
    }
    for step @ [batch, position, tokens, heads, kv_heads, d] in SPLIT_STEPS {
        let shape = format!(
            "in splits, {batch}×{tokens} after {position}, {heads}/{kv_heads} heads of {d}"
        );
        list.kernel("attention_step", 5, &BOTH, &shape, move |i| {
            decode(i, step, Some(level5::step_split::launch))
        });
    }
    for shape @ [b, t, h, d] in TF32 {
        let size = format!("{b}×{t}, {h} heads of {d}");
        list.kernel("attention", 5, &[DType::F32], &size, move |i| {
            full(i, shape, level5::tile_tf32x3::attention)
        });
    }
}

/// Attends with views of one matmul's result: batch, tokens, heads, D.
fn full(i: &mut Inputs, [b, t, h, d]: [usize; 4], op: Full) -> Result<Tensor> {
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

/// A step whose position the device knows, `at_once` or in the launches of levels 3 and 4; the tokens before it are appended
/// first, as a prompt is.
fn decode(
    i: &mut Inputs,
    [batch, position, tokens, heads, kv_heads, d]: [usize; 6],
    at_once: Option<level5::RunStep>,
) -> Result<()> {
    let capacity = position + tokens + 3;
    let mut inner = Cache::new(batch, capacity, kv_heads, d, i.dtype, &i.device)?;
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
    let shared = level5::Position::new(&i.device)?;
    let mut cache = level5::Cache::new(inner, shared.clone());
    let Some(at) = cache.on_device(&next_q, position)? else {
        candle_core::bail!("heads of {d}: expected a position on the device, found none");
    };
    if let Some(run) = at_once {
        let (q, k, v, cos, sin, cache) = (&next_q, &next_k, &next_v, &cos, &sin, &at);
        run(&level5::Step {
            q,
            k,
            v,
            cos,
            sin,
            cache,
        })?;
        return Ok(());
    }
    let q = rope::level5::rope_append_step(&next_q, &next_k, &next_v, &cos, &sin, &at)?;
    level5::causal_attention_step(&q, &at)?;
    shared.map_or(Ok(()), |shared| shared.advance(tokens))
}
