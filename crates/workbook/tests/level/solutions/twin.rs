
/// softmax(q·kᵀ/√D)·v on a CPU: candle's matmuls, and the softmax of a row while it is in the cache.
fn attention_twin(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (b, t, h, d) = q.dims4()?;
    let heads = |x: &Tensor| x.transpose(1, 2)?.contiguous();
    let (q, k, v) = (heads(q)?, heads(k)?, heads(v)?);
    let scores = q.matmul(&k.t()?)?; // (B, H, T, T)
    let scale = std::f32::consts::LOG2_E / (d as f32).sqrt();
    let weights = level_kit::map_rows(&scores, scores.dim(3)?, |_, scores, y| {
        let max = maximum(scores);
        y.iter_mut().zip(scores).for_each(|(y, score)| *y = exp2((score - max) * scale));
        let scale = 1. / sum(y);
        y.iter_mut().for_each(|y| *y *= scale);
    })?;
    weights.matmul(&v)?.transpose(1, 2)?.reshape((b, t, h * d))
}

/// The largest of x, by eight partial maxima, which a vector register holds.
fn maximum(x: &[f32]) -> f32 {
    let mut parts = [f32::NEG_INFINITY; 8];
    let chunks = x.chunks_exact(8);
    let rest = chunks.remainder();
    chunks.for_each(|x| parts.iter_mut().zip(x).for_each(|(p, x)| *p = if *x > *p { *x } else { *p }));
    parts.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max)
}

fn sum(x: &[f32]) -> f32 {
    let mut parts = [0f32; 8];
    let chunks = x.chunks_exact(8);
    let rest: f32 = chunks.remainder().iter().sum();
    chunks.for_each(|x| parts.iter_mut().zip(x).for_each(|(p, x)| *p += x));
    parts.iter().sum::<f32>() + rest
}

/// 2^x for x ≤ 0 within 3e-6, without a call, so that the compiler vectorises loops over it: the integer part of x is
/// added to the exponent's bits, and a polynomial does the rest.
fn exp2(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.; // 1.5 · 2²³: the sum has no bits after the point
    let x = if x < -126. { -126. } else { x };
    let shifted = x + ROUND;
    let f = x - (shifted - ROUND); // −½..½
    let p = 1. + f * (0.693_147_2 + f * (0.240_226_5 + f * (0.055_504_1 + f * (0.009_618_13 + f * 0.001_333_36))));
    f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23))
}
