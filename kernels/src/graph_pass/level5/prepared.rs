//! The weights as `f32.cu` reads them, made once per model, on its device.
//!
//! The kernel multiplies FP16, whose largest number is 65504, so that the weights have to bound what it multiplies by them:
//! h = layer_norm(x) and u = gelu(h·wᵀ + b). A row of (x − mean)/σ has C elements whose squares have the sum C or less, so
//! |h| ≤ √C·|gain| + |bias|, and |u| ≤ √C·‖w ⊙ gain‖ + |w·bias| + |b| for each row of w. The weights themselves are scaled by a
//! power of two. A model whose bounds are too large, or whose weights are not finite, is computed op by op.

use candle_core::{DType, Result, Tensor};
use half::f16;
use operands::GraphPass;

use super::{CHANNELS, FEATURES, HEADS, Layer, Operands};
use crate::prepared::prepared;

/// Sizes in `f32.cuh`: warpgroups, and tiles of a layer for each of them.
pub const GROUPS: usize = 4;
pub const LAYER_TILES: usize = 16;

/// Rows of a tile, and its columns.
const SIDE: usize = 64;

/// The bounds of h and u are below this, the largest number of FP16.
const MOST: f64 = 65504.;

/// The factor of the scores, as a power of 2: log₂(e)/√D
const SCORES: f64 = std::f64::consts::LOG2_E / 5.656_854_249_492_381;

/// All layers' weights.
#[derive(Debug)]
pub struct Weights {
    /// (layers, LAYER_TILES, GROUPS, 2048): a tile of FP16, two in a u32, in the order of shared memory.
    pub tiles: Tensor,
    /// (layers, 3464): `Vectors` in `f32.cuh`.
    pub vectors: Tensor,
    /// (layers, HEADS, 4, 32, 4): 16 elements of `edge_w` for each lane.
    pub edge_fragments: Tensor,
}

/// The weights that the model keeps, if the kernel can compute with them.
pub fn of<'a>(pass: &GraphPass<'a>) -> Result<Option<&'a Weights>> {
    prepared(pass.prepared, || prepare(pass))
}

/// The weights, or `None` if they are trained, not as the kernel expects them, or too large.
pub fn prepare(pass: &GraphPass) -> Result<Option<Weights>> {
    let Some(operands) = Operands::of(pass).filter(|of| of.x.dtype() == DType::F32) else {
        return Ok(None);
    };
    let (mut tiles, mut vectors, mut fragments) = (vec![], vec![], vec![]);
    for layer in &operands.layers {
        let mut weights = layer.matrices.iter().chain(&layer.vectors);
        if weights.any(|x| x.is_variable()) {
            return Ok(None);
        }
        let layer = Host::of(layer)?;
        if !layer.is_in_range() {
            return Ok(None);
        }
        layer.add_tiles(&mut tiles);
        layer.add_vectors(&mut vectors);
        layer.add_fragments(&mut fragments);
    }
    let (layers, device) = (operands.layers.len(), operands.x.device());
    let words = tiles.len() / (layers * LAYER_TILES * GROUPS);
    let floats = vectors.len() / layers;
    Ok(Some(Weights {
        tiles: Tensor::from_vec(tiles, (layers, LAYER_TILES, GROUPS, words), device)?,
        vectors: Tensor::from_vec(vectors, (layers, floats), device)?,
        edge_fragments: Tensor::from_vec(fragments, (layers, HEADS, 4, 32, 4), device)?,
    }))
}

/// A layer's weights on the host.
struct Host {
    matrices: [Matrix; 3],
    vectors: [Vec<f32>; 8],
}

struct Matrix {
    w: Vec<f32>,
    columns: usize,
    /// A power of two that takes the largest |w| to 1 or more, and below 2.
    scale: f32,
}

impl Matrix {
    fn of(x: &Tensor) -> Result<Self> {
        let w = values(x)?;
        let most = w.iter().fold(0f32, |most, w| most.max(w.abs()));
        let exponent = (most.to_bits() >> 23).clamp(1, 253); // 127 for 1; no normal number has 0
        let scale = f32::from_bits((254 - exponent) << 23);
        let columns = x.dim(1)?;
        Ok(Self { w, columns, scale })
    }
}

fn values(x: &Tensor) -> Result<Vec<f32>> {
    x.flatten_all()?.to_vec1()
}

/// The two parts of an f32, as in `split_f16.cuh`.
fn split(x: f32) -> [f16; 2] {
    let high = f16::from_f32(x);
    [high, f16::from_f32((x - high.to_f32()) * 2048.)]
}

impl Host {
    fn of(layer: &Layer) -> Result<Self> {
        let [qkv_skip, up, down] = layer.matrices.map(Matrix::of);
        let [a, b, c, d, e, f, g, h] = layer.vectors.map(values);
        Ok(Self {
            matrices: [qkv_skip?, up?, down?],
            vectors: [a?, b?, c?, d?, e?, f?, g?, h?],
        })
    }

    /// Whether all weights are finite, and h and u within FP16.
    fn is_in_range(&self) -> bool {
        let [norm1_w, norm1_b, norm2_w, norm2_b, _, up_b, _, _] = &self.vectors;
        let matrices = self.matrices.iter().map(|matrix| &matrix.w);
        let mut all = matrices.chain(&self.vectors).flatten();
        let root = (CHANNELS as f64).sqrt();
        let wide = |x: &f32| f64::from(*x);
        let h = |gain: &[f32], bias: &[f32]| {
            let bound = |(g, b): (&f32, &f32)| root * wide(g).abs() + wide(b).abs();
            gain.iter().zip(bias).all(|pair| bound(pair) < MOST)
        };
        let u = |(w, b): (&[f32], &f32)| {
            let scaled = w
                .iter()
                .zip(norm2_w)
                .map(|(w, g)| (wide(w) * wide(g)).powi(2));
            let shift = w.iter().zip(norm2_b).map(|(w, b)| wide(w) * wide(b));
            let norm = scaled.sum::<f64>().sqrt();
            root * norm + shift.sum::<f64>().abs() + wide(b).abs() < MOST
        };
        let mut rows = self.matrices[1].w.chunks(CHANNELS).zip(up_b);
        all.all(|x| x.is_finite()) && h(norm1_w, norm1_b) && h(norm2_w, norm2_b) && rows.all(u)
    }

    /// LAYER_TILES of each warpgroup in turn, as `multiply` in `f32.cuh` reads them.
    fn add_tiles(&self, to: &mut Vec<u32>) {
        for i in 0..LAYER_TILES {
            for g in 0..GROUPS {
                let (matrix, row, column) = match i {
                    0..8 => (0, 2 * g + i / 4, i / 2 % 2),
                    8..12 => (1, g, i / 2 % 2),
                    _ => (2, g % 2, g / 2 * 2 + i / 2 % 2),
                };
                let Matrix { w, columns, scale } = &self.matrices[matrix];
                for chunk in 0..SIDE * SIDE / 8 {
                    let r = chunk / 8;
                    let swizzled = (chunk % 8) ^ (r % 8); // column / 8 of what lies here
                    let first = (row * SIDE + r) * columns + column * SIDE + 8 * swizzled;
                    let words = w[first..][..8].chunks(2).map(|pair| {
                        let part = |x: f32| u32::from(split(x * scale)[i % 2].to_bits());
                        part(pair[0]) | part(pair[1]) << 16
                    });
                    to.extend(words);
                }
            }
        }
    }

    /// `Vectors` in `f32.cuh`: q's bias and scale have the factor of the scores.
    fn add_vectors(&self, to: &mut Vec<f32>) {
        let [
            norm1_w,
            norm1_b,
            norm2_w,
            norm2_b,
            qkv_skip_b,
            up_b,
            down_b,
            edge,
        ] = &self.vectors;
        let [qkv_skip, up, down] = self.matrices.each_ref().map(|matrix| 1. / matrix.scale);
        let times = |x: f32| (f64::from(x) * SCORES) as f32;
        let (q_b, others) = qkv_skip_b.split_at(CHANNELS);
        to.extend([norm1_w, norm1_b, norm2_w, norm2_b].into_iter().flatten());
        to.extend(q_b.iter().map(|b| times(*b)));
        to.extend(others);
        to.extend([times(qkv_skip), qkv_skip, qkv_skip, qkv_skip]);
        to.extend(up_b.iter().chain(down_b));
        to.extend([up, down, 0., 0.]);
        to.extend(edge);
    }

    /// The elements that lane l multiplies by q: of a head's part of `edge_w`, rows 8·(l % 4) to 8·(l % 4) + 7
    /// of two columns.
    fn add_fragments(&self, to: &mut Vec<f32>) {
        let [.., edge] = &self.vectors;
        let d = CHANNELS / HEADS;
        for head in 0..HEADS {
            for part in 0..4 {
                for lane in 0..32 {
                    let column = 4 * (lane / 8) + part / 2 * 2 + lane / 4 % 2;
                    let first = head * d + 8 * (lane % 4) + part % 2 * 4;
                    to.extend((first..first + 4).map(|row| edge[row * FEATURES + column]));
                }
            }
        }
    }
}
