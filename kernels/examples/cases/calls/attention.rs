//! Attention and what fills its cache.

use candle_core::{DType, Device, Result, Tensor};
use kernels::attention::{self, Cache};
use kernels::rope;

use super::Draw;

/// A sequence of `position` + `tokens`; the last `tokens` are queries.
#[derive(Clone, Copy)]
pub struct Shape {
    pub batch: usize,
    pub tokens: usize,
    pub position: usize,
    pub heads: (usize, usize),
    pub d: usize,
    /// Elements before q, k and v.
    pub offset: usize,
    /// Positions of the cache beyond those that are written. Without them a read beyond the last key is one beyond
    /// the cache.
    pub spare: usize,
    /// The largest of q, k and v: with large scores the running maximum of online softmax matters.
    pub most: f32,
}

pub const fn shape(tokens: usize, position: usize, heads: (usize, usize), d: usize) -> Shape {
    Shape {
        batch: 1,
        tokens,
        position,
        heads,
        d,
        offset: 0,
        spare: 0,
        most: 1.,
    }
}

pub const fn wide(shape: Shape) -> Shape {
    Shape { most: 40., ..shape }
}

/// Channels of a head: those that there are tiles for, and some between.
const DIMS: [usize; 11] = [8, 10, 16, 24, 32, 40, 64, 72, 80, 104, 128];

/// The same, not in pieces of 16 bytes, with an end at each place of four: these have no rotary embedding.
const ODD_DIMS: [usize; 8] = [9, 27, 51, 75, 89, 90, 91, 101];

/// Keys that end in each of the steps of a warp, which are at most 16 where a row is of f32.
pub const ENDS: std::ops::RangeInclusive<usize> = 1..=16;

pub fn all(draw: &mut Draw, dtype: DType) -> Result<()> {
    for d in DIMS {
        for shape in [
            shape(70, 0, (2, 1), d),
            wide(shape(70, 0, (2, 2), d)),
            shape(17, 60, (2, 1), d),
            wide(shape(6, 130, (2, 2), d)),
            // So many heads that blocks of 64 queries are enough.
            shape(70, 0, (32, 1), d),
            wide(shape(70, 70, (32, 2), d)),
            // Few queries: keys are split, a group of heads shares them.
            shape(1, 6, (2, 2), d),
            wide(shape(1, 69, (2, 2), d)),
            shape(1, 300, (2, 2), d),
            shape(1, 69, (3, 1), d),
            wide(shape(3, 69, (6, 2), d)),
            wide(shape(2, 300, (5, 1), d)),
        ] {
            run(draw, dtype, &shape)?;
        }
        for offset in [0, 1] {
            run(
                draw,
                dtype,
                &Shape {
                    batch: 2,
                    offset,
                    spare: 3,
                    ..shape(9, 0, (4, 2), d)
                },
            )?;
        }
    }
    for d in [24, 40, 104] {
        for (keys, heads) in ENDS.flat_map(|keys| [(keys, (1, 1)), (keys, (2, 1))]) {
            causal(draw, dtype, &shape(1, keys - 1, heads, d), 4)?;
        }
    }
    for beside in 0..5 {
        rotate_beside(draw, dtype, beside)?;
    }
    for d in ODD_DIMS {
        for shape in [
            shape(9, 0, (2, 1), d),
            wide(shape(70, 0, (2, 1), d)),
            shape(130, 0, (2, 2), d),
            wide(shape(70, 0, (32, 2), d)),
        ] {
            for level in [3, 4] {
                full(draw, dtype, &shape, level)?;
            }
        }
    }
    for (tokens, heads, d) in [
        (3, (3, 1), 2),
        (2, (2, 2), 20),
        (2, (9, 3), 64),
        (1, (20, 2), 300),
    ] {
        for offset in [0, 1] {
            run(
                draw,
                dtype,
                &Shape {
                    batch: 2,
                    offset,
                    spare: 3,
                    ..shape(tokens, 2, heads, d)
                },
            )?;
        }
    }
    Ok(())
}

fn run(draw: &mut Draw, dtype: DType, shape: &Shape) -> Result<()> {
    for level in [3, 4] {
        causal(draw, dtype, shape, level)?;
        if shape.position == 0 && shape.d <= 128 {
            full(draw, dtype, shape, level)?;
        }
    }
    Ok(())
}

/// Every token sees every other.
pub fn full(draw: &mut Draw, dtype: DType, shape: &Shape, level: usize) -> Result<()> {
    let [q, k, v] = shape.cut(draw, dtype)?;
    match level {
        3 => attention::level3::attention(&q, &k, &v)?,
        5 => attention::level5::tile_tf32x3::attention(&q, &k, &v)?,
        _ => attention::level4::attention(&q, &k, &v)?,
    };
    Ok(())
}

/// Appends a sequence to a cache, all but the last tokens first, and attends with those.
pub fn causal(draw: &mut Draw, dtype: DType, shape: &Shape, level: usize) -> Result<()> {
    let (d, position) = (shape.d, shape.position);
    let capacity = position + shape.tokens + shape.spare;
    let mut cache = Cache::new(shape.batch, capacity, shape.heads.1, d, dtype, &Device::Cpu)?;
    if position > 0 {
        append(draw, dtype, shape, &mut cache, (0, position), level)?;
    }
    let last = (position, shape.tokens);
    let q = append(draw, dtype, shape, &mut cache, last, level)?;
    if d <= 128 {
        match level {
            3 => attention::level3::causal_attention(&q, &cache, position)?,
            5 => attention::level5::causal_attention(&q, &cache, position)?,
            _ => attention::level4::causal_attention(&q, &cache, position)?,
        };
    }
    Ok(())
}

/// So many tokens at a position: q, rotated.
fn append(
    draw: &mut Draw,
    dtype: DType,
    shape: &Shape,
    cache: &mut Cache,
    (position, tokens): (usize, usize),
    level: usize,
) -> Result<Tensor> {
    let [q, k, v] = Shape { tokens, ..*shape }.cut(draw, dtype)?;
    let angles = draw.floats(&[2, tokens, shape.d / 2], dtype)?;
    let (cos, sin) = (angles.get(0)?, angles.get(1)?);
    let append = match level {
        3 => rope::level3::rope_append,
        5 => rope::level5::rope_append,
        _ => rope::level4::rope_append,
    };
    append(&q, &k, &v, &cos, &sin, cache, position)
}

/// One of q, k, v, cos and sin that does not begin on 16 bytes, alone.
fn rotate_beside(draw: &mut Draw, dtype: DType, shifted: usize) -> Result<()> {
    let (tokens, d) = (3, 32);
    let mut operand = |index, shape: &[usize]| {
        let offset = usize::from(index == shifted);
        draw.shifted(shape, dtype, offset)
    };
    let q = operand(0, &[1, tokens, 2, d])?;
    let (k, v) = (
        operand(1, &[1, tokens, 1, d])?,
        operand(2, &[1, tokens, 1, d])?,
    );
    let (cos, sin) = (operand(3, &[tokens, d / 2])?, operand(4, &[tokens, d / 2])?);
    let mut cache = Cache::new(1, tokens + 1, 1, d, dtype, q.device())?;
    rope::level4::rope_append(&q, &k, &v, &cos, &sin, &mut cache, 1)?;
    Ok(())
}

impl Shape {
    /// q, k and v: views of one product.
    pub fn cut(&self, draw: &mut Draw, dtype: DType) -> Result<[Tensor; 3]> {
        let (heads, kv_heads) = self.heads;
        let dims = (self.batch, self.tokens, heads + 2 * kv_heads, self.d);
        let len = dims.0 * dims.1 * dims.2 * dims.3;
        let all = draw.wide(&[self.offset + len], dtype, self.most)?;
        let all = all.narrow(0, self.offset, len)?.reshape(dims)?;
        Ok([
            all.narrow(2, 0, heads)?,
            all.narrow(2, heads, kv_heads)?,
            all.narrow(2, heads + kv_heads, kv_heads)?,
        ])
    }
}
