//! Oracles of the exercises on epilogues, attention and GEMV.

use crate::problem::Problem;

/// y (rows, columns) = r + max(0, x·w + b); arguments x (rows, K), w (K, columns), b (columns), r (rows, columns).
pub(super) fn linear_relu_residual(p: &Problem) -> Option<Vec<f64>> {
    let (b, r, columns) = (p.arg(2)?, p.arg(3)?, p.size("columns")?);
    let sums = product(p.arg(0)?, p.arg(1)?, p.size("k")?, columns)?;
    let element = |(i, sum): (usize, f64)| Some(r.get(i)? + (sum + b.get(i % columns)?).max(0.));
    sums.into_iter().enumerate().map(element).collect()
}

/// y (rows, columns) = silu(x·g) ⊙ (x·u), silu(z) = z / (1 + exp(-z)); arguments x (rows, K), g and u (K, columns).
pub(super) fn linear_swiglu(p: &Problem) -> Option<Vec<f64>> {
    let (x, k, columns) = (p.arg(0)?, p.size("k")?, p.size("columns")?);
    let (gate, up) = (
        product(x, p.arg(1)?, k, columns)?,
        product(x, p.arg(2)?, k, columns)?,
    );
    let both = gate.into_iter().zip(up);
    Some(both.map(|(z, u)| z / (1. + (-z).exp()) * u).collect())
}

/// y (queries, D) = softmax(q·kᵀ / √D)·v; arguments q (queries, D), k and v (keys, D).
pub(super) fn attention(p: &Problem) -> Option<Vec<f64>> {
    let (q, k, v) = (p.arg(0)?, p.arg(1)?, p.arg(2)?);
    let d = Some(q.len() / p.size("queries")?).filter(|&d| d > 0)?;
    let of_query = |q: &[f64]| {
        let score = |k: &[f64]| dot(q, k) / (d as f64).sqrt();
        let scores: Vec<f64> = k.chunks(d).map(score).collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|s| (s - max).exp()).sum();
        let channel = |c: usize| {
            let terms = scores.iter().zip(v.chunks(d));
            terms.map(|(s, v)| (s - max).exp() / sum * v[c]).sum()
        };
        (0..d).map(channel).collect::<Vec<f64>>()
    };
    Some(q.chunks(d).flat_map(of_query).collect())
}

/// y (rows) = w·x; arguments w (rows, stride), whose first K columns count, and x (K).
pub(super) fn gemv(p: &Problem) -> Option<Vec<f64>> {
    let (w, x) = (p.arg(0)?, p.arg(1)?);
    let stride = Some(w.len() / p.size("rows")?).filter(|&n| n >= x.len().max(1))?;
    Some(w.chunks(stride).map(|row| dot(row, x)).collect())
}

/// The matmul of x (rows, K) and w (K, columns).
fn product(x: &[f64], w: &[f64], k: usize, columns: usize) -> Option<Vec<f64>> {
    (w.len() == k.checked_mul(columns)?).then_some(())?;
    let of_row = |x: &[f64]| {
        let column = |c: usize| x.iter().zip(w.chunks(columns)).map(|(x, w)| x * w[c]).sum();
        (0..columns).map(column).collect::<Vec<f64>>()
    };
    Some(x.chunks(k).flat_map(of_row).collect())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
