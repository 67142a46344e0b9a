//! The methods of `Ops` as plain loops in f64: what every level has to compute.

mod attention;

use candle_core::cpu::erf::erf_f64;
use candle_core::{DType, Device, Result, Tensor};
use models::{Heads, Linear, Norm, Sampling};

use super::calls::Call;

/// A result: its shape, and its elements in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

/// A matrix, row by row.
struct Rows {
    values: Vec<f64>,
    columns: usize,
}

impl Rows {
    fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns)
    }
}

/// The elements in f64.
pub fn values(x: &Tensor) -> Result<Vec<f64>> {
    let x = x.to_device(&Device::Cpu)?.flatten_all()?;
    x.to_dtype(DType::F64)?.to_vec1()
}

fn indices(x: &Tensor) -> Result<Vec<usize>> {
    let x = x.to_device(&Device::Cpu)?.flatten_all()?;
    Ok(x.to_vec1::<u32>()?
        .into_iter()
        .map(|i| i as usize)
        .collect())
}

/// x as a matrix of rows of its last dimension.
fn rows(x: &Tensor) -> Result<Rows> {
    let columns = x.dims().last().copied().unwrap_or(1);
    Ok(Rows {
        values: values(x)?,
        columns,
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(x: &Tensor, norm: &Norm) -> Result<Rows> {
    let mut x = rows(x)?;
    let c = x.columns;
    for row in x.values.chunks_exact_mut(c) {
        match norm {
            Norm::Rms { weight, eps } => {
                let scale = 1. / (dot(row, row) / c as f64 + eps).sqrt();
                row.iter_mut()
                    .zip(values(weight)?)
                    .for_each(|(x, w)| *x *= scale * w);
            }
            Norm::Layer { weight, bias, eps } => {
                let mean = row.iter().sum::<f64>() / c as f64;
                row.iter_mut().for_each(|x| *x -= mean);
                let scale = 1. / (dot(row, row) / c as f64 + eps).sqrt();
                let affine = values(weight)?.into_iter().zip(values(bias)?);
                row.iter_mut()
                    .zip(affine)
                    .for_each(|(x, (w, b))| *x = *x * scale * w + b);
            }
        }
    }
    Ok(x)
}

/// x·Wᵀ + b
fn matmul(x: &Rows, w: &Linear) -> Result<Rows> {
    let (n, w_rows) = (w.weight.tensor().dim(0)?, values(w.weight.tensor())?);
    let k = w_rows.len() / n.max(1);
    let bias = w.bias.as_ref().map(values).transpose()?;
    let bias = bias.unwrap_or_else(|| vec![0.; n]);
    let of_row = |x: &[f64]| -> Vec<f64> {
        let pairs = w_rows.chunks_exact(k).zip(&bias);
        pairs.map(|(w, b)| dot(x, w) + b).collect()
    };
    Ok(Rows {
        values: x.iter().flat_map(of_row).collect(),
        columns: n,
    })
}

/// A result of as many leading dimensions as x.
fn like(x: &Tensor, y: Rows) -> Vec<Expected> {
    let mut shape = x.dims().to_vec();
    shape.pop();
    shape.push(y.columns);
    vec![Expected {
        shape,
        values: y.values,
    }]
}

/// The result of a call with a GELU that uses the approximation by tanh; `None` for other methods.
///
/// # Errors
/// Those of candle, which reads the operands.
pub fn with_tanh(call: &Call) -> Result<Option<Vec<Expected>>> {
    let Call::NormGelu(x, n, w) = call else {
        return Ok(None);
    };
    let mut y = matmul(&norm(x, n)?, w)?;
    let approximated = |y: f64| {
        let inner = (y + 0.044_715 * y.powi(3)) * (2. / std::f64::consts::PI).sqrt();
        0.5 * y * (1. + inner.tanh())
    };
    y.values.iter_mut().for_each(|y| *y = approximated(*y));
    Ok(Some(like(x, y)))
}

/// The results of a call.
///
/// # Errors
/// Those of candle, which reads the operands.
pub fn expected(call: &Call) -> Result<Vec<Expected>> {
    Ok(match call {
        Call::Embedding(ids, w) => {
            let w = rows(w.tensor())?;
            let pick = |i: usize| &w.values[i * w.columns..][..w.columns];
            let values = indices(ids)?.into_iter().flat_map(pick).copied().collect();
            vec![Expected {
                shape: [ids.dims(), &[w.columns]].concat(),
                values,
            }]
        }
        Call::PatchEmbed(pixels, patch, class, positions) => {
            vec![patch_embed(pixels, patch, class, positions)?]
        }
        Call::Linear(x, w) => like(x, matmul(&rows(x)?, w)?),
        Call::NormLinear(x, n, w) => like(x, matmul(&norm(x, n)?, w)?),
        Call::NormQkv(x, n, w, heads) => {
            let (h, kv) = (heads.num_heads, heads.num_kv_heads);
            split(x, &matmul(&norm(x, n)?, w)?, *heads, &[h, kv, kv])
        }
        Call::NormQkvSkip(x, n, w, heads) => {
            let h = heads.num_heads;
            let mut parts = split(x, &matmul(&norm(x, n)?, w)?, *heads, &[h, h, h, h]);
            if let Some(skip) = parts.last_mut() {
                skip.shape = vec![x.dim(0)?, h * heads.head_dim];
            }
            parts
        }
        Call::Causal(steps, ..) => attention::causal(steps)?,
        Call::Attention(qkv) => vec![attention::attend(qkv)?],
        Call::Edges { .. } => vec![attention::edges(call)?],
        Call::LinearResidual(x, w, residual) => {
            let mut y = matmul(&rows(x)?, w)?;
            y.values
                .iter_mut()
                .zip(values(residual)?)
                .for_each(|(y, r)| *y += r);
            like(x, y)
        }
        Call::NormSwiglu(x, n, w) => {
            let y = matmul(&norm(x, n)?, w)?;
            let f = y.columns / 2;
            let glu = |row: &[f64]| -> Vec<f64> {
                let pairs = row[..f].iter().zip(&row[f..]);
                pairs
                    .map(|(gate, up)| gate / (1. + (-gate).exp()) * up)
                    .collect()
            };
            like(
                x,
                Rows {
                    values: y.iter().flat_map(glu).collect(),
                    columns: f,
                },
            )
        }
        Call::NormGelu(x, n, w) => {
            let mut y = matmul(&norm(x, n)?, w)?;
            (y.values.iter_mut()).for_each(|y| *y *= 0.5 * (1. + erf_f64(*y / 2f64.sqrt())));
            like(x, y)
        }
        Call::SegmentMean(x, segments) => {
            let (x, g, index) = (rows(x)?, segments.num_segments, indices(&segments.index)?);
            let mut means = vec![0.; g * x.columns];
            for (row, graph) in x.iter().zip(&index) {
                let count = index.iter().filter(|other| *other == graph).count() as f64;
                let mean = &mut means[graph * x.columns..][..x.columns];
                mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / count);
            }
            vec![Expected {
                shape: vec![g, x.columns],
                values: means,
            }]
        }
        Call::NextToken(logits, temperature) => {
            let token = next_token(&values(logits)?, *temperature)?;
            vec![Expected {
                shape: vec![1],
                values: vec![f64::from(token)],
            }]
        }
    })
}

fn next_token(logits: &[f64], temperature: f64) -> Result<u32> {
    let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if temperature == 0. {
        let first = logits.iter().position(|x| *x == max);
        return Ok(first.unwrap_or_default() as u32);
    }
    let exp: Vec<f64> = logits
        .iter()
        .map(|x| ((x - max) / temperature).exp())
        .collect();
    let sum: f64 = exp.iter().sum();
    let probabilities: Vec<f32> = exp.iter().map(|e| (e / sum) as f32).collect();
    Sampling::new(temperature, None, None, 7).draw(&probabilities)
}

/// Cuts rows into parts of some heads each.
fn split(x: &Tensor, y: &Rows, heads: Heads, parts: &[usize]) -> Vec<Expected> {
    let (d, leading) = (heads.head_dim, &x.dims()[..x.rank() - 1]);
    let mut first = 0;
    let part = |count: &usize| {
        let values = y
            .iter()
            .flat_map(|row| row[first * d..][..count * d].to_vec())
            .collect();
        first += count;
        Expected {
            shape: [leading, &[*count, d]].concat(),
            values,
        }
    };
    parts.iter().map(part).collect()
}

fn patch_embed(
    pixels: &Tensor,
    patch: &Linear,
    class: &Tensor,
    positions: &Tensor,
) -> Result<Expected> {
    let (b, channels, height, width) = pixels.dims4()?;
    let (c, _, p, _) = patch.weight.tensor().dims4()?;
    let (pixels, class, positions) = (values(pixels)?, values(class)?, values(positions)?);
    let mut all = vec![];
    for image in 0..b {
        let mut patches = vec![];
        for (row, column) in (0..height / p).flat_map(|r| (0..width / p).map(move |c| (r, c))) {
            for (ch, y, x) in
                (0..channels).flat_map(|ch| (0..p * p).map(move |i| (ch, i / p, i % p)))
            {
                let line = (image * channels + ch) * height + row * p + y;
                patches.push(pixels[line * width + column * p + x]);
            }
        }
        let projected = matmul(
            &Rows {
                values: patches,
                columns: channels * p * p,
            },
            patch,
        )?;
        let tokens = class.iter().chain(&projected.values).zip(&positions);
        all.extend(tokens.map(|(x, position)| x + position));
    }
    Ok(Expected {
        shape: vec![b, all.len() / (b * c), c],
        values: all,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erf_has_the_values_of_the_handbook() {
        for (x, y) in [
            (0., 0.),
            (0.5, 0.520_499_877_8),
            (1., 0.842_700_792_9),
            (2., 0.995_322_265_0),
        ] {
            assert!(
                (erf_f64(x) - y).abs() < 1e-9 && (erf_f64(-x) + y).abs() < 1e-9,
                "{x}: {}",
                erf_f64(x)
            );
        }
        // The handbook has 1 − erf(3) = 2.209e-5.
        assert!((erf_f64(3. - 1e-9) - erf_f64(3.)).abs() < 1e-9);
        assert!((1. - erf_f64(3.) - 2.209_05e-5).abs() < 1e-9);
    }
}
