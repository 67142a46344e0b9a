//! Level 5: every kernel of its own, whichever the registries would pick.

use candle_core::{DType, Device, Result, Tensor};
use kernels::attention::{self, level5 as attend};
use kernels::linear::level4::Packed;
use kernels::{linear, matmul, rope};

use super::Draw;

/// (batch, m, n, k): below, at and beyond tiles and their steps of k.
const PRODUCTS: [[usize; 4]; 9] = [
    [1, 5, 7, 3],
    [1, 16, 16, 32],
    [2, 17, 33, 40],
    [1, 33, 31, 65],
    [3, 32, 32, 64],
    [1, 65, 66, 17],
    [5, 9, 16, 16],
    [1, 64, 64, 0],
    [1, 16, 20, 300],
];

/// (m, n, k) of few rows.
const FEW: [(usize, usize, usize); 8] = [
    (1, 5, 7),
    (1, 9, 264),
    (2, 6, 40),
    (3, 33, 130),
    (4, 9, 1025),
    (1, 16, 1024),
    (4, 8, 64),
    (1, 3, 2056),
];

/// (tokens, position, (heads, key heads), D)
const STEPS: [(usize, usize, (usize, usize), usize); 9] = [
    (1, 0, (2, 2), 8),
    (1, 6, (2, 2), 32),
    (1, 69, (3, 1), 64),
    (1, 300, (2, 2), 64),
    (3, 69, (6, 2), 32),
    (2, 300, (5, 1), 64),
    (4, 17, (4, 2), 128),
    (1, 290, (2, 1), 128),
    (1, 33, (2, 2), 128),
];

pub fn all(draw: &mut Draw, dtype: DType) -> Result<()> {
    for (m, n, k) in FEW {
        for offsets in [[0; 3], [1, 0, 0], [0, 1, 0]] {
            few_rows(draw, dtype, (m, n, k), offsets)?;
        }
    }
    for step in STEPS {
        steps(draw, dtype, step)?;
    }
    match dtype {
        DType::F32 => products(draw),
        _ => Ok(()),
    }
}

/// K split over the warps of a block.
fn few_rows(
    draw: &mut Draw,
    dtype: DType,
    (m, n, k): (usize, usize, usize),
    offsets: [usize; 3],
) -> Result<()> {
    let x = draw.shifted(&[m, k], dtype, offsets[0])?;
    let w = Packed::new(&draw.shifted(&[n, k], dtype, offsets[1])?)?;
    let gate_up = Packed::gate_up(&draw.shifted(&[2 * n, k], dtype, offsets[1])?)?;
    let b = draw.shifted(&[n], dtype, offsets[2])?;
    for entry in linear::level5::REGISTRY.entries {
        if let linear::level5::Run::Split(_) = entry.run {
            linear::level5::Call::linear(&x, &w, Some(&b))?.run(entry.run)?;
            linear::level5::Call::linear(&x, &w, None)?.run(entry.run)?;
            linear::level5::Call::gelu(&x, &w, &b)?.run(entry.run)?;
            linear::level5::Call::swiglu(&x, &gate_up)?.run(entry.run)?;
        }
    }
    Ok(())
}

/// Small tiles, of rows and of transposed views.
fn products(draw: &mut Draw) -> Result<()> {
    for [batch, m, n, k] in PRODUCTS {
        for transposed in [false, true] {
            let matrix = |draw: &mut Draw, rows: usize, columns: usize| match transposed {
                true => draw.floats(&[batch, columns, rows], DType::F32)?.t(),
                false => draw.floats(&[batch, rows, columns], DType::F32),
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

/// Tokens behind `position`, which the device knows; the keys and values before them are level 4's.
fn steps(
    draw: &mut Draw,
    dtype: DType,
    (tokens, position, (heads, kv_heads), d): (usize, usize, (usize, usize), usize),
) -> Result<()> {
    let device = Device::Cpu;
    let mut rows = |tokens: usize, heads: usize| draw.floats(&[1, tokens, heads, d], dtype);
    let capacity = position + tokens + 3;
    let mut inner = attention::Cache::new(1, capacity, kv_heads, d, dtype, &device)?;
    let angles = Tensor::zeros((capacity, d / 2), dtype, &device)?;
    if position > 0 {
        let (q, k, v) = (
            rows(position, heads)?,
            rows(position, kv_heads)?,
            rows(position, kv_heads)?,
        );
        let here = angles.narrow(0, 0, position)?;
        rope::level4::rope_append(&q, &k, &v, &here, &here, &mut inner, 0)?;
    }
    let (q, k, v) = (
        rows(tokens, heads)?,
        rows(tokens, kv_heads)?,
        rows(tokens, kv_heads)?,
    );
    let shared = attend::Position::new(&device)?;
    let mut cache = attend::Cache::new(inner, shared.clone());
    if let Some(at) = cache.on_device(&q, position)? {
        let q = rope::level5::rope_append(&q, &k, &v, &angles, &angles, &at)?;
        attend::causal_attention(&q, &at)?;
    }
    shared.map_or(Ok(()), |shared| shared.advance(tokens))
}
