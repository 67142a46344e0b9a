//! Products with weights: linear, patch embedding, ternary.

use candle_core::{DType, Result};
use kernels::ternary_linear::{self, Ternary};
use kernels::{linear, patch_embed};
use operands::Linear;

use super::Draw;

/// Rows of x, columns of y, and what is summed over. Up to 8 rows have kernels of their own.
const SHAPES: [(usize, usize, usize); 34] = [
    (1, 5, 7),
    (1, 3, 75),
    (1, 9, 264),
    (3, 6, 40),
    (4, 33, 130),
    (7, 9, 264),
    (8, 7, 33),
    (8, 8, 64),
    (9, 5, 7),
    (9, 33, 40),
    (9, 40, 64),
    (33, 70, 72),
    (33, 72, 72),
    (70, 34, 136),
    (70, 136, 64),
    (130, 130, 24),
    (65, 67, 265),
    (1, 16, 256),
    (2, 3, 1025),
    (5, 12, 1032),
    (8, 19, 200),
    (9, 48, 40),
    (33, 80, 72),
    (64, 144, 64),
    (130, 144, 40),
    // Rows to the end of each part of a tile that its threads write in turn.
    (23, 40, 16),
    (55, 33, 16),
    (87, 40, 16),
    (100, 33, 16),
    (119, 40, 16),
    // The same of the rows of w, and of each half of them.
    (9, 56, 16),
    (9, 112, 16),
    // Whole tiles side by side.
    (40, 64, 16),
    (40, 128, 16),
];

/// Columns of y, and what is summed over, for level 3's kernel of one row: steps of 128, whole or not.
const ROWS: [(usize, usize); 3] = [(4, 128), (5, 225), (8, 290)];

/// Few sums, and so many columns that there are blocks enough for the large tiles.
const LARGE: [usize; 2] = [64 * 256, 128 * 256];

pub fn all(draw: &mut Draw, dtype: DType) -> Result<()> {
    for (n, k) in ROWS {
        linears(draw, dtype, (1, n, k), [0; 4], 3)?;
    }
    for shifted in 0..4 {
        let mut offsets = [0; 4];
        offsets[shifted] = 1;
        linears(draw, dtype, (1, 6, 40), offsets, 3)?;
    }
    for level in [3, 4] {
        for shape in SHAPES {
            linears(draw, dtype, shape, [0; 4], level)?;
        }
        for shape in [(3, 16, 64), (8, 16, 64), (9, 16, 64)] {
            for shifted in 0..4 {
                let mut offsets = [0; 4];
                offsets[shifted] = 1;
                linears(draw, dtype, shape, offsets, level)?;
            }
        }
    }
    for n in LARGE {
        linears(draw, dtype, (9, n, 8), [0; 4], 4)?;
    }
    for (batch, grid, patch, c) in [
        (1, (1, 3), 4, 5),
        (2, (2, 3), 5, 33),
        (1, (7, 11), 8, 70),
        (2, (3, 3), 16, 34),
        (3, (5, 5), 2, 130),
        (1, (2, 2), 14, 9),
        (1, (5, 5), 4, 72),
        (2, (7, 5), 8, 136),
        (1, (3, 4), 16, 64),
        (1, (12, 11), 2, 40),
        (2, (9, 8), 4, 136),
        (3, (5, 5), 4, 40),
        (3, (5, 5), 8, 24),
        // A class token in each quarter of a tile's rows.
        (4, (4, 4), 2, 5),
        (4, (4, 4), 4, 5),
        (4, (4, 4), 8, 5),
    ] {
        for level in [3, 4] {
            patches(draw, dtype, batch, grid, patch, c, level)?;
        }
    }
    for c in LARGE {
        patches(draw, dtype, 1, (3, 3), 2, c, 4)?;
    }
    ternary(draw, dtype)
}

/// With so many elements before x, w, b and the residual.
fn linears(
    draw: &mut Draw,
    dtype: DType,
    (m, n, k): (usize, usize, usize),
    offsets: [usize; 4],
    level: usize,
) -> Result<()> {
    let x = draw.shifted(&[m, k], dtype, offsets[0])?;
    let w = draw.shifted(&[n, k], dtype, offsets[1])?;
    let gate_up = draw.shifted(&[2 * n.div_ceil(2), k], dtype, offsets[1])?;
    let b = draw.shifted(&[n], dtype, offsets[2])?;
    let residual = draw.shifted(&[m, n], dtype, offsets[3])?;
    let (plain, gate_up) = (Linear::new(w.clone(), None), Linear::new(gate_up, None));
    let w = Linear::new(w, Some(b));
    if level == 3 {
        linear::level3::linear(&x, &w)?;
        linear::level3::linear(&x, &plain)?;
        linear::level3::linear_residual(&x, &w, &residual)?;
        linear::level3::linear_gelu(&x, &w)?;
        linear::level3::linear_swiglu(&x, &gate_up)?;
    } else {
        linear::level4::linear(&x, &w)?;
        linear::level4::linear(&x, &plain)?;
        linear::level4::linear_residual(&x, &w, &residual)?;
        linear::level4::linear_gelu(&x, &w)?;
        linear::level4::linear_swiglu(&x, &gate_up)?;
    }
    Ok(())
}

fn patches(
    draw: &mut Draw,
    dtype: DType,
    batch: usize,
    (rows, columns): (usize, usize),
    patch: usize,
    c: usize,
    level: usize,
) -> Result<()> {
    let pixels = draw.floats(&[batch, 3, rows * patch, columns * patch], dtype)?;
    let w = draw.floats(&[c, 3, patch, patch], dtype)?;
    let b = draw.floats(&[c], dtype)?;
    let class = draw.floats(&[1, 1, c], dtype)?;
    let positions = draw.floats(&[1, 1 + rows * columns, c], dtype)?;
    let projection = Linear::new(w, Some(b));
    match level {
        3 => patch_embed::level3::patch_embed(&pixels, &projection, &class, &positions)?,
        _ => patch_embed::level4::patch_embed(&pixels, &projection, &class, &positions)?,
    };
    Ok(())
}

fn ternary(draw: &mut Draw, dtype: DType) -> Result<()> {
    for (m, n, k) in [
        (1, 5, 7),
        (2, 33, 40),
        (1, 34, 515),
        (3, 31, 1024),
        (5, 33, 40),
        (9, 42, 515),
        (17, 5, 600),
        (1, 2, 4096),
        (1, 2, 5003),
        (5, 2, 4096),
        (5, 2, 5003),
        (5, 1, 9000),
        (1, 7, 130),
        (2, 3, 4100),
        (1, 3, 1300),
        (1, 2, 1301),
        (1, 3, 1602),
        (1, 2, 1603),
        (1, 1, 20001),
        (5, 1, 20002),
    ] {
        let x = draw.floats(&[m, k], dtype)?;
        let w = Ternary::quantize(&draw.floats(&[n, k], DType::F32)?)?;
        ternary_linear::level4::lut(&x, &w)?;
        ternary_linear::level4::dp4a(&x, &w)?;
    }
    Ok(())
}
