//! Level 5: every kernel of its own, whichever the registries would pick.

use candle_core::{DType, Device, Result, Tensor};
use kernels::attention::{self, level5 as attend};
use kernels::dispatch::Facts;
use kernels::linear::level5::{Call, REGISTRY, Run};
use kernels::{matmul, rope};
use operands::Linear;

use super::Draw;
use super::attention::{ENDS, Shape, causal, full, shape, wide};

/// (batch, m, n, k): below, at and beyond tiles and their steps of k.
const PRODUCTS: [[usize; 4]; 17] = [
    [1, 5, 7, 3],
    [1, 16, 16, 32],
    [2, 17, 33, 40],
    [1, 33, 31, 65],
    [3, 32, 32, 64],
    [1, 65, 66, 17],
    [5, 9, 16, 16],
    [1, 64, 64, 0],
    [1, 16, 20, 300],
    // Rests of K by 4, of the first piece of K and of those after it.
    [1, 3, 5, 1],
    [1, 6, 9, 6],
    [1, 17, 18, 131],
    [1, 19, 17, 262],
    [1, 17, 18, 517],
    [1, 16, 20, 520],
    // Whole quads, and a second tile of 64 rows.
    [1, 68, 72, 36],
    [3, 40, 48, 20],
];

/// (m, n, k) of few rows.
const FEW: [(usize, usize, usize); 9] = [
    (1, 5, 7),
    (1, 9, 264),
    (2, 6, 40),
    (3, 33, 130),
    (4, 9, 1025),
    (1, 16, 1024),
    (4, 8, 64),
    (1, 3, 2056),
    (1, 2, 4104),
];

/// (m, n, k) inside of a tile and beyond it, with K below, at and beyond the stages of its pipeline, in whole chunks of 16
/// bytes and not.
const TILED: [(usize, usize, usize); 10] = [
    (1, 5, 7),
    (9, 33, 40),
    (33, 70, 72),
    (23, 40, 16),
    (65, 67, 265),
    (40, 128, 16),
    (130, 144, 40),
    (32, 32, 512),
    (33, 16, 1032),
    (119, 40, 3),
];

const fn two(step: Shape) -> Shape {
    Shape {
        batch: 2,
        spare: 3,
        ..step
    }
}

/// Decode steps: the last tokens of a sequence.
const STEPS: [Shape; 15] = [
    shape(1, 0, (2, 2), 8),
    shape(1, 6, (2, 2), 32),
    wide(shape(1, 69, (3, 1), 64)),
    shape(1, 300, (2, 2), 64),
    wide(shape(3, 69, (6, 2), 32)),
    wide(shape(2, 300, (5, 1), 64)),
    shape(4, 17, (4, 2), 128),
    wide(shape(1, 290, (2, 1), 128)),
    shape(1, 33, (2, 2), 128),
    two(shape(1, 5, (2, 1), 24)),
    two(shape(1, 5, (1, 1), 40)),
    two(shape(2, 260, (3, 1), 104)),
    Shape {
        offset: 1,
        ..two(shape(2, 5, (2, 1), 16))
    },
    shape(3, 4, (20, 2), 16),
    shape(1, 2, (9, 3), 80),
];

pub fn all(draw: &mut Draw, dtype: DType) -> Result<()> {
    let split = |run| matches!(run, Run::GemvSplit(_) | Run::RowGemv);
    let tiled = |run| matches!(run, Run::Mma(_));
    for (m, n, k) in FEW {
        for offsets in [[0; 4], [1, 0, 0, 0], [0, 1, 0, 0]] {
            weighed(draw, dtype, (m, n, k), offsets, split)?;
        }
    }
    for step in STEPS {
        decode(draw, dtype, step)?;
    }
    for d in [24, 40, 104] {
        for (keys, heads) in ENDS.flat_map(|keys| [(keys, (1, 1)), (keys, (2, 1))]) {
            decode(draw, dtype, shape(1, keys - 1, heads, d))?;
        }
    }
    // The keys end in the third of four splits: the last one has none.
    for (d, heads) in [8, 40, 104]
        .into_iter()
        .flat_map(|d| [(d, (1, 1)), (d, (2, 1))])
    {
        let spare = 1024 - 516;
        let step = shape(1, 515, heads, d);
        decode(draw, dtype, Shape { spare, ..step })?;
    }
    for beside in 0..5 {
        rotate_beside(draw, dtype, beside)?;
    }
    ties(dtype)?;
    if dtype == DType::F32 {
        products(draw)?;
        prompts(draw)?;
    }
    for shape in TILED {
        weighed(draw, dtype, shape, [0; 4], tiled)?;
    }
    for shifted in 0..4 {
        let mut offsets = [0; 4];
        offsets[shifted] = 1;
        weighed(draw, dtype, (9, 16, 64), offsets, tiled)?;
    }
    Ok(())
}

/// Products with a weight, by each of level 5's own kernels that can: a few rows with K split over the warps of a
/// block, and tiles on tensor cores.
fn weighed(
    draw: &mut Draw,
    dtype: DType,
    (m, n, k): (usize, usize, usize),
    offsets: [usize; 4],
    own: fn(Run) -> bool,
) -> Result<()> {
    let x = draw.shifted(&[m, k], dtype, offsets[0])?;
    let w = draw.shifted(&[n, k], dtype, offsets[1])?;
    let gate_up = Linear::new(draw.shifted(&[2 * n, k], dtype, offsets[1])?, None);
    let b = draw.shifted(&[n], dtype, offsets[2])?;
    let residual = draw.shifted(&[m, n], dtype, offsets[3])?;
    let (plain, w) = (Linear::new(w.clone(), None), Linear::new(w, Some(b)));
    let call = Call::linear(&x, &w)?;
    for entry in REGISTRY.able(&call.problem, Facts::of(x.device())?) {
        if own(entry.run) {
            call.run(entry.run)?;
            Call::linear(&x, &plain)?.run(entry.run)?;
            Call::residual(&x, &w, &residual)?.run(entry.run)?;
            if entry.run == Run::RowGemv {
                continue; // it has neither activation
            }
            Call::gelu(&x, &w)?.run(entry.run)?;
            Call::swiglu(&x, &gate_up)?.run(entry.run)?;
        }
    }
    Ok(())
}

/// Small tiles, of rows and of transposed views.
fn products(draw: &mut Draw) -> Result<()> {
    for [batch, m, n, k] in PRODUCTS {
        for transposed in [false, true] {
            let matrix = |draw: &mut Draw, rows: usize, columns: usize| {
                if transposed {
                    draw.floats(&[batch, columns, rows], DType::F32)?.t()
                } else {
                    draw.floats(&[batch, rows, columns], DType::F32)
                }
            };
            let (a, b) = (matrix(draw, m, k)?, matrix(draw, k, n)?);
            let bias = draw.floats(&[n], DType::F32)?;
            for entry in matmul::level5::REGISTRY.entries {
                if let matmul::level5::Run::Tile(_) = entry.run {
                    matmul::level5::Call::new(&a, &b, Some(&bias))?.run(entry.run)?;
                    matmul::level5::Call::new(&a, &b, None)?.run(entry.run)?;
                }
            }
        }
    }
    Ok(())
}

/// Attention of prompts on tensor cores in f32: with ends within a warp's queries, a block's, and a tile of keys.
fn prompts(draw: &mut Draw) -> Result<()> {
    let dtype = DType::F32;
    for d in [4, 8, 32, 40, 64, 72, 96, 104, 128] {
        for prompt in [
            shape(70, 0, (2, 1), d),
            wide(shape(70, 0, (2, 2), d)),
            wide(shape(17, 60, (2, 1), d)),
            two(shape(9, 0, (4, 2), d)),
        ] {
            causal(draw, dtype, &prompt, 5)?;
            full(draw, dtype, &prompt, 5)?;
        }
    }
    Ok(())
}

/// Tokens from `position` on, which the device knows; the keys and values before them are level 4's.
fn decode(draw: &mut Draw, dtype: DType, step: Shape) -> Result<()> {
    let (tokens, position, d) = (step.tokens, step.position, step.d);
    let device = Device::Cpu;
    let capacity = position + tokens + step.spare;
    let mut inner = attention::Cache::new(step.batch, capacity, step.heads.1, d, dtype, &device)?;
    let (cos, sin) = (
        draw.floats(&[capacity, d / 2], dtype)?,
        draw.floats(&[capacity, d / 2], dtype)?,
    );
    if position > 0 {
        let before = Shape {
            tokens: position,
            ..step
        };
        let [q, k, v] = before.cut(draw, dtype)?;
        let here = |angles: &Tensor| angles.narrow(0, 0, position);
        rope::level4::rope_append(&q, &k, &v, &here(&cos)?, &here(&sin)?, &mut inner, 0)?;
    }
    let [q, k, v] = step.cut(draw, dtype)?;
    let shared = attend::Position::new(&device)?;
    let mut cache = attend::Cache::new(inner, shared.clone());
    if let Some(at) = cache.on_device(&q, position)? {
        let step = attend::Step {
            q: &q,
            k: &k,
            v: &v,
            cos: &cos,
            sin: &sin,
            cache: &at,
        };
        attend::attention_step_with_info(&step)?;
        let q = rope::level5::rope_append_step(&q, &k, &v, &cos, &sin, &at)?;
        attend::causal_attention_step(&q, &at)?;
    }
    shared.map_or(Ok(()), |shared| shared.advance(tokens))
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
    let angles = [tokens + 1, d / 2];
    let (cos, sin) = (operand(3, &angles)?, operand(4, &angles)?);
    rotate([&q, &k, &v], [&cos, &sin], 1)
}

/// 256 ∓ 1 and 258 ∓ 1, which bf16 has no number for.
fn ties(dtype: DType) -> Result<()> {
    for d in [16, 10] {
        let half = |values: [f32; 2]| {
            let values = Tensor::new(&values, &Device::Cpu)?.to_dtype(dtype)?;
            let all = values
                .reshape((1, 2, 1, 1))?
                .broadcast_as((1, 2, 2, d / 2))?;
            all.contiguous()
        };
        let q = Tensor::cat(&[half([256., 258.])?, half([1., 1.])?], 3)?;
        let one = Tensor::ones((3, d / 2), dtype, &Device::Cpu)?;
        rotate([&q, &q, &q], [&one, &one], 1)?;
    }
    Ok(())
}

/// q, k and v at a position, into a cache that they fill.
fn rotate([q, k, v]: [&Tensor; 3], [cos, sin]: [&Tensor; 2], position: usize) -> Result<()> {
    let (batch, tokens, kv_heads, d) = k.dims4()?;
    let capacity = position + tokens;
    let inner = attention::Cache::new(batch, capacity, kv_heads, d, q.dtype(), q.device())?;
    let mut cache = attend::Cache::new(inner, attend::Position::new(q.device())?);
    if let Some(at) = cache.on_device(q, position)? {
        rope::level5::rope_append_step(q, k, v, cos, sin, &at)?;
    }
    Ok(())
}
