//! The methods of `Ops` as plain loops in f64: what every level has to compute.

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
    match x.dtype() {
        DType::U32 => Ok(x.to_vec1::<u32>()?.into_iter().map(f64::from).collect()),
        _ => Ok(x
            .to_dtype(DType::F32)?
            .to_vec1::<f32>()?
            .into_iter()
            .map(f64::from)
            .collect()),
    }
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

/// Σ values ⊙ weights, divided by Σ weights, where a weight is e^score.
fn mix<'v>(scores: &[f64], vectors: impl Iterator<Item = &'v [f64]>, d: usize) -> Vec<f64> {
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exp: Vec<f64> = scores.iter().map(|s| (s - max).exp()).collect();
    let sum: f64 = exp.iter().sum();
    let mut mixed = vec![0.; d];
    for (weight, vector) in exp.iter().zip(vectors) {
        mixed
            .iter_mut()
            .zip(vector)
            .for_each(|(y, v)| *y += weight / sum * v);
    }
    mixed
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

/// The results of a call.
///
/// # Errors
/// Those of candle, which reads the operands.
pub fn expected(call: &Call) -> Result<Vec<Expected>> {
    let like = |x: &Tensor, y: Rows| {
        let mut shape = x.dims().to_vec();
        shape.pop();
        shape.push(y.columns);
        vec![Expected {
            shape,
            values: y.values,
        }]
    };
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
        Call::Causal(steps, ..) => causal(steps)?,
        Call::Attention(qkv) => vec![attend(qkv)?],
        Call::Edges { .. } => vec![edges(call)?],
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
            y.values
                .iter_mut()
                .for_each(|y| *y *= 0.5 * (1. + erf(*y / 2f64.sqrt())));
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

/// A tensor (B, T, H, D), and the vectors of its heads.
struct HeadsOf {
    values: Vec<f64>,
    dims: [usize; 4],
}

impl HeadsOf {
    fn new(x: &Tensor) -> Result<Self> {
        let (b, t, h, d) = x.dims4()?;
        Ok(Self {
            values: values(x)?,
            dims: [b, t, h, d],
        })
    }

    fn at(&self, b: usize, t: usize, h: usize) -> &[f64] {
        let [_, tokens, heads, d] = self.dims;
        &self.values[((b * tokens + t) * heads + h) * d..][..d]
    }

    /// Rotates each head by its position, from `start` on.
    fn rotate(&mut self, start: usize) {
        let [_, tokens, heads, d] = self.dims;
        for (i, head) in self.values.chunks_exact_mut(d).enumerate() {
            let position = (start + i / heads % tokens) as f64;
            for j in 0..d / 2 {
                let angle = position * 1e4f64.powf(-2. * j as f64 / d as f64);
                let (a, b) = (head[j], head[j + d / 2]);
                head[j] = a * angle.cos() - b * angle.sin();
                head[j + d / 2] = b * angle.cos() + a * angle.sin();
            }
        }
    }
}

/// Attention of the tokens of q; `past` limits token t to the keys up to `past + t`.
fn attend_to(q: &HeadsOf, k: &HeadsOf, v: &HeadsOf, past: Option<usize>) -> Expected {
    let [b, t, h, d] = q.dims;
    let [_, keys, kv, _] = k.dims;
    let mut values = vec![];
    for (image, token, head) in
        (0..b).flat_map(|b| (0..t).flat_map(move |t| (0..h).map(move |h| (b, t, h))))
    {
        let (seen, of) = (past.map_or(keys, |past| past + token + 1), head * kv / h);
        let query = q.at(image, token, head);
        let scores: Vec<f64> = (0..seen)
            .map(|j| dot(query, k.at(image, j, of)) / (d as f64).sqrt())
            .collect();
        values.extend(mix(&scores, (0..seen).map(|j| v.at(image, j, of)), d));
    }
    Expected {
        shape: vec![b, t, h * d],
        values,
    }
}

fn attend([q, k, v]: &[Tensor; 3]) -> Result<Expected> {
    Ok(attend_to(
        &HeadsOf::new(q)?,
        &HeadsOf::new(k)?,
        &HeadsOf::new(v)?,
        None,
    ))
}

fn causal(steps: &[[Tensor; 3]]) -> Result<Vec<Expected>> {
    let (mut results, mut past) = (vec![], 0);
    for (i, [q, _, _]) in steps.iter().enumerate() {
        let so_far = |of: usize| -> Result<Tensor> {
            let parts: Vec<Tensor> = steps[..=i].iter().map(|step| step[of].clone()).collect();
            Tensor::cat(&parts, 1)
        };
        let (mut rotated, mut k) = (HeadsOf::new(q)?, HeadsOf::new(&so_far(1)?)?);
        rotated.rotate(past);
        k.rotate(0);
        results.push(attend_to(
            &rotated,
            &k,
            &HeadsOf::new(&so_far(2)?)?,
            Some(past),
        ));
        past += q.dim(1)?;
    }
    Ok(results)
}

fn edges(call: &Call) -> Result<Expected> {
    let Call::Edges {
        qkv: [q, k, v],
        skip,
        residual,
        edges,
        w,
        graph,
    } = call
    else {
        candle_core::bail!("expected edge_attention");
    };
    let (n, h, d) = q.dims3()?;
    let projected = matmul(&rows(edges)?, &Linear::new(w.tensor().clone(), None))?.values;
    let (q, k, v) = (values(q)?, values(k)?, values(v)?);
    let (sources, ends) = (indices(&graph.col_idx)?, indices(&graph.row_idx)?);
    let mut y: Vec<f64> = values(skip)?
        .iter()
        .zip(values(residual)?)
        .map(|(s, r)| s + r)
        .collect();
    let add = |of: &[f64], node: usize, head: usize, e: usize| -> Vec<f64> {
        let from = &of[(node * h + head) * d..][..d];
        let edge = &projected[(e * h + head) * d..][..d];
        from.iter().zip(edge).map(|(x, e)| x + e).collect()
    };
    for (node, head) in (0..n).flat_map(|n| (0..h).map(move |h| (n, h))) {
        let incoming: Vec<usize> = (0..sources.len()).filter(|e| ends[*e] == node).collect();
        let query = &q[(node * h + head) * d..][..d];
        let score = |e: &usize| dot(query, &add(&k, sources[*e], head, *e)) / (d as f64).sqrt();
        let scores: Vec<f64> = incoming.iter().map(score).collect();
        let messages: Vec<Vec<f64>> = incoming
            .iter()
            .map(|e| add(&v, sources[*e], head, *e))
            .collect();
        let mixed = mix(&scores, messages.iter().map(Vec::as_slice), d);
        let to = &mut y[(node * h + head) * d..][..d];
        to.iter_mut().zip(mixed).for_each(|(y, m)| *y += m);
    }
    Ok(Expected {
        shape: vec![n, h * d],
        values: y,
    })
}

/// erf(x), by its Taylor series up to 3 and as ±1 beyond 6; the continued fraction between.
/// "Handbook of Mathematical Functions", Abramowitz and Stegun, 7.1.5 and 7.1.14.
fn erf(x: f64) -> f64 {
    let a = x.abs();
    let y = match a {
        6.0.. => 1.,
        3.0.. => {
            let tail = (1..=60)
                .rev()
                .fold(0., |tail, n| f64::from(n) / 2. / (a + tail));
            1. - (-a * a).exp() / std::f64::consts::PI.sqrt() / (a + tail)
        }
        _ => {
            let (mut term, mut sum) = (a, a);
            for n in 1..80 {
                let n = f64::from(n);
                term *= -a * a / n;
                sum += term / (2. * n + 1.);
            }
            2. / std::f64::consts::PI.sqrt() * sum
        }
    };
    y.copysign(x)
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
                (erf(x) - y).abs() < 1e-9 && (erf(-x) + y).abs() < 1e-9,
                "{x}: {}",
                erf(x)
            );
        }
        // The two formulas meet, and the handbook has 1 − erf(3) = 2.209e-5.
        assert!((erf(3. - 1e-9) - erf(3.)).abs() < 1e-9);
        assert!((1. - erf(3.) - 2.209_05e-5).abs() < 1e-9);
    }
}
