//! The three attentions, as loops over queries.

use candle_core::{Result, Tensor};
use models::Linear;

use super::{Call, Expected, dot, indices, matmul, rows, values};

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

pub fn attend([q, k, v]: &[Tensor; 3]) -> Result<Expected> {
    Ok(attend_to(
        &HeadsOf::new(q)?,
        &HeadsOf::new(k)?,
        &HeadsOf::new(v)?,
        None,
    ))
}

pub fn causal(steps: &[[Tensor; 3]]) -> Result<Vec<Expected>> {
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

pub fn edges(call: &Call) -> Result<Expected> {
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
