//! Products with weights: with tiles, for a few rows, of pictures' patches, and with ternary weights.

use candle_core::{Result, Tensor};
use kernels::linear;
use kernels::patch_embed;
use kernels::ternary_linear::{self, Ternary};
use operands::Linear;

use super::{Inputs, List};

/// M, N, K: one row, a few, and enough for tiles, whole or not.
const SHAPES: [[usize; 3]; 6] = [
    [1, 65, 96],
    [4, 64, 128],
    [7, 33, 100],
    [33, 70, 65],
    [64, 64, 64],
    [130, 96, 48],
];

pub fn add(list: &mut List) {
    for [m, n, k] in SHAPES {
        let shape = format!("{m}×{n}×{k}");
        let operands = move |i: &mut Inputs| -> Result<(Tensor, Linear)> {
            let (x, w) = (i.tensor(&[m, k])?, i.tensor(&[n, k])?);
            Ok((x, Linear::new(w, Some(i.tensor(&[n])?))))
        };
        let gated = move |i: &mut Inputs| -> Result<(Tensor, Linear)> {
            let (x, w) = (i.tensor(&[m, k])?, i.tensor(&[2 * n, k])?);
            Ok((x, Linear::new(w, None)))
        };
        list.add("linear, level 3", &shape, move |i| {
            let (x, w) = operands(i)?;
            linear::level3::linear(&x, &w)
        });
        list.add("linear, level 4", &shape, move |i| {
            let (x, w) = operands(i)?;
            linear::level4::linear(&x, &w)
        });
        list.add("linear_residual, level 3", &shape, move |i| {
            let (x, w) = operands(i)?;
            linear::level3::linear_residual(&x, &w, &i.tensor(&[m, n])?)
        });
        list.add("linear_residual, level 4", &shape, move |i| {
            let (x, w) = operands(i)?;
            linear::level4::linear_residual(&x, &w, &i.tensor(&[m, n])?)
        });
        list.add("linear_gelu, level 3", &shape, move |i| {
            let (x, w) = operands(i)?;
            linear::level3::linear_gelu(&x, &w)
        });
        list.add("linear_gelu, level 4", &shape, move |i| {
            let (x, w) = operands(i)?;
            linear::level4::linear_gelu(&x, &w)
        });
        list.add("linear_swiglu, level 3", &shape, move |i| {
            let (x, w) = gated(i)?;
            linear::level3::linear_swiglu(&x, &w)
        });
        list.add("linear_swiglu, level 4", &shape, move |i| {
            let (x, w) = gated(i)?;
            linear::level4::linear_swiglu(&x, &w)
        });
    }
    // As many rows and columns as the larger tile of f32 is for.
    list.add("linear, level 4", "1024×1024×16", |i| {
        let (x, w) = (i.tensor(&[1024, 16])?, i.tensor(&[1024, 16])?);
        linear::level4::linear(&x, &Linear::new(w, None))
    });
    for [b, side, patch, c] in [[1, 24, 8, 64], [2, 21, 7, 33]] {
        patches(list, b, side, patch, c);
    }
    for [m, n, k] in [[1, 64, 128], [3, 33, 100], [9, 70, 260]] {
        ternary(list, m, n, k);
    }
}

type PatchEmbed = fn(&Tensor, &Linear, &Tensor, &Tensor) -> Result<Tensor>;

/// B pictures of S×S in patches of P×P.
fn patches(list: &mut List, b: usize, side: usize, patch: usize, c: usize) {
    let shape = format!("{b} of {side}×{side} by {patch}, {c} channels");
    let tokens = 1 + (side / patch).pow(2);
    for (level, op) in [
        (3, patch_embed::level3::patch_embed as PatchEmbed),
        (4, patch_embed::level4::patch_embed),
    ] {
        list.add(&format!("patch_embed, level {level}"), &shape, move |i| {
            let pixels = i.tensor(&[b, 3, side, side])?;
            let (w, bias) = (i.tensor(&[c, 3, patch, patch])?, i.tensor(&[c])?);
            let (class, positions) = (i.tensor(&[1, 1, c])?, i.tensor(&[1, tokens, c])?);
            op(&pixels, &Linear::new(w, Some(bias)), &class, &positions)
        });
    }
}

fn ternary(list: &mut List, m: usize, n: usize, k: usize) {
    for (name, op) in [
        ("lut", ternary_linear::level4::lut as fn(&_, &_) -> _),
        ("dp4a", ternary_linear::level4::dp4a),
    ] {
        let what = format!("ternary_linear_{name}, level 4");
        list.add(&what, &format!("{m}×{n}×{k}"), move |i| {
            let (x, w) = (i.tensor(&[m, k])?, i.tensor(&[n, k])?);
            op(&x, &Ternary::quantize(&w)?)
        });
    }
}
