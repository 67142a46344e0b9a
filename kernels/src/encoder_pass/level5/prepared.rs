//! The weights as `pass.cu` reads them, and its buffers for k and v, made once per model, on its device.

use candle_core::{DType, Result, Tensor};
use half::bf16;
use operands::{EncoderBlock, EncoderPass, Linear, Norm};

use super::pass::{CLUSTERS, has_room};
use super::{C, D, F, HEADS};
use crate::launch::is_aligned;
use crate::prepared::prepared;

/// `LAYER_TILES` of `encoder.cuh`, and the rows and columns of a tile.
pub const LAYER_TILES: usize = (3 * C + C + F + F) / SIDE * (C / SIDE);
const SIDE: usize = 64;

/// KV_LAYERS of `encoder.cuh`: layers that have a buffer each.
const KV_LAYERS: usize = 3;

/// Bytes of a buffer: k and v of 32 tokens for each cluster and head.
const KV_BYTES: usize = HEADS * CLUSTERS * 2 * 32 * D * 2;

/// All layers' weights.
#[derive(Debug)]
pub struct Weights {
    /// (layers, LAYER_TILES, 64, 64) in bf16, in the order of shared memory.
    pub tiles: Tensor,
    /// (layers, 4992) in f32: `Vectors` of `encoder.cuh`.
    pub vectors: Tensor,
    /// k and v while a pass runs: all bits are 1 before the first. Launches of one stream share it; those of another
    /// [are refused](super::stream).
    pub kv: Tensor,
    pub layers: usize,
    /// That of all norms.
    pub eps: f64,
}

/// The weights that the model keeps, if the kernel can compute with them.
pub fn of<'a>(pass: &EncoderPass<'a>) -> Result<Option<&'a Weights>> {
    prepared(pass.prepared, || {
        let Some(weights) = prepare(pass)? else {
            return Ok(None);
        };
        let has_room = has_room(pass.x, &weights)?;
        // The buffers are filled for another host thread, too, whose stream may be another one.
        pass.x.device().synchronize()?;
        Ok(has_room.then_some(weights))
    })
}

/// The weights, or `None` if there are none or one is not as the kernel expects it.
pub fn prepare(pass: &EncoderPass) -> Result<Option<Weights>> {
    let layers = pass.blocks.len();
    let Some(Norm::Layer { eps, .. }) = pass.blocks.first().map(|block| block.norm_before) else {
        return Ok(None);
    };
    let fits = pass.blocks.iter().all(|block| {
        is_layer(block.qkv, 3 * C, C)
            && is_layer(block.out, C, C)
            && is_layer(block.up, F, C)
            && is_layer(block.down, C, F)
            && is_layer_norm(block.norm_before, *eps)
            && is_layer_norm(block.norm_after, *eps)
    });
    if !fits || !layers.is_multiple_of(KV_LAYERS) || pass.num_heads != HEADS {
        return Ok(None);
    }
    let mut tiles = Vec::with_capacity(layers * LAYER_TILES * SIDE * SIDE);
    let mut vectors = vec![];
    for block in &pass.blocks {
        add_tiles(block, &mut tiles)?;
        vectors.push(vectors_of(block)?);
    }
    let device = pass.x.device();
    Ok(Some(Weights {
        tiles: Tensor::from_vec(tiles, (layers, LAYER_TILES, SIDE, SIDE), device)?,
        vectors: Tensor::stack(&vectors, 0)?,
        kv: Tensor::full(u32::MAX, KV_LAYERS * KV_BYTES / 4, device)?,
        layers,
        eps: *eps,
    }))
}

/// A weight that stays as it is, in bf16.
fn is_fixed(x: &Tensor) -> bool {
    x.dtype() == DType::BF16 && x.is_contiguous() && !x.is_variable()
}

fn is_layer(Linear { weight, bias }: &Linear, n: usize, k: usize) -> bool {
    let w = weight.tensor();
    let fits = w.dims() == [n, k] && is_fixed(w) && is_aligned(&[w]);
    fits && bias.as_ref().is_none_or(|b| b.dims() == [n] && is_fixed(b))
}

fn is_layer_norm(norm: &Norm, expected: f64) -> bool {
    match norm {
        Norm::Layer { weight, bias, eps } => {
            let mut both = [weight, bias].into_iter();
            *eps == expected && both.all(|x| x.dims() == [C] && is_fixed(x))
        }
        Norm::Rms { .. } => false,
    }
}

/// LAYER_TILES of a block, in the order of `encoder.cuh`: q, k and v by rows, the projection by heads, the MLP's first matrix
/// by rows, and its second by slices of K.
fn add_tiles(block: &EncoderBlock, to: &mut Vec<bf16>) -> Result<()> {
    const SIDES: usize = C / SIDE;
    for layer in [block.qkv, block.out, block.up, block.down] {
        let w = layer.weight.tensor();
        let (rows, columns) = w.dims2()?;
        let w = w.flatten_all()?.to_vec1::<bf16>()?;
        if rows > C {
            for tile in 0..rows / SIDE {
                for panel in 0..SIDES {
                    add_tile(&w, columns, panel, |r| SIDE * tile + r, to);
                }
            }
        } else {
            for panel in 0..columns / SIDE {
                for tile in 0..SIDES {
                    add_tile(&w, columns, panel, |r| channel(tile, r), to);
                }
            }
        }
    }
    Ok(())
}

/// The channel at row r of a tile of a matrix whose result is added to x. A lane of `wgmma` has rows r and r + 8 of tiles m and
/// m + 3: four neighbours.
fn channel(tile: usize, r: usize) -> usize {
    let four = tile % 3 * 32 + r / 16 * 8 + r % 8;
    4 * four + 2 * (tile / 3) + r % 16 / 8
}

/// A tile as `wgmma` reads it: 8 columns at a time, swizzled within a row.
fn add_tile(
    w: &[bf16],
    columns: usize,
    panel: usize,
    row: impl Fn(usize) -> usize,
    to: &mut Vec<bf16>,
) {
    for r in 0..SIDE {
        let w = &w[row(r) * columns + panel * SIDE..][..SIDE];
        for chunk in 0..SIDE / 8 {
            to.extend_from_slice(&w[8 * (chunk ^ (r % 8))..][..8]);
        }
    }
}

/// `Vectors` of `encoder.cuh`; a bias that a layer lacks is 0.
fn vectors_of(block: &EncoderBlock) -> Result<Tensor> {
    let norm = |norm: &Norm| match norm {
        Norm::Layer { weight, bias, .. } => Tensor::cat(&[weight, bias], 0),
        Norm::Rms { .. } => candle_core::bail!("encoder_pass_level5: expected LayerNorm"),
    };
    let bias = |Linear { weight, bias }: &Linear| match bias {
        Some(bias) => Ok(bias.clone()),
        None => weight.tensor().narrow(1, 0, 1)?.squeeze(1)?.zeros_like(),
    };
    let all = [
        bias(block.qkv)?,
        bias(block.out)?,
        norm(block.norm_after)?,
        bias(block.up)?,
        bias(block.down)?,
        norm(block.norm_before)?,
    ];
    Tensor::cat(&all, 0)?.to_dtype(DType::F32)
}
