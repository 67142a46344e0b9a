
/// softmax(q·kᵀ/√D)·v on a CPU. Each lane of a vector is a query, so that a number of k or v that is loaded serves 16
/// queries, whose sums stay in registers. Level 3 loads all keys and values again for each query, and waits for them.
fn attention_twin(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (b, t, h, d) = q.dims4()?;
    let (tiles, row) = (t.div_ceil(LANES), h * d);
    let q = q.pad_with_zeros(1, 0, tiles * LANES - t)?.reshape((b * tiles, LANES * row))?;
    let (k, mut v) = (level_kit::values(k)?, level_kit::values(v)?);
    v.extend([0.; SUMS]); // the last channels are read in fours, too
    let y = level_kit::map_rows(&q, LANES * row, |i, q, y| {
        let from = i / tiles * t * row;
        for at in (0..row).step_by(d) {
            fastest(&Head { q, k: &k[from..], v: &v[from..], t, d, row, at }, y);
        }
    })?;
    y.reshape((b, tiles * LANES, row))?.narrow(1, 0, t)?.contiguous()
}

/// Queries of a tile, and keys or channels at a time: their sums fit into 8 of the 16 registers of AVX2.
const LANES: usize = 16;
const SUMS: usize = 4;
type Lanes = [f32; LANES];

/// A head: the D channels from `at` on in rows of q, k and v.
struct Head<'a> { q: &'a [f32], k: &'a [f32], v: &'a [f32], t: usize, d: usize, row: usize, at: usize }

/// Runs `attend` with vectors of 8 lanes and a fused multiply-add, if the CPU has them.
fn fastest(head: &Head, y: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        #[target_feature(enable = "avx2,fma")]
        fn avx2(head: &Head, y: &mut [f32]) { attend::<true>(head, y) }
        // SAFETY: the CPU has both.
        return unsafe { avx2(head, y) };
    }
    attend::<{ cfg!(target_arch = "aarch64") }>(head, y) // without FUSED, because `mul_add` would be a slow call
}

#[inline(always)]
fn attend<const FUSED: bool>(&Head { q, k, v, t, d, row, at }: &Head, y: &mut [f32]) {
    let add = |sums: Lanes, a: f32, b: &Lanes| -> Lanes {
        std::array::from_fn(|i| if FUSED { a.mul_add(b[i], sums[i]) } else { a * b[i] + sums[i] })
    };
    let scale = std::f32::consts::LOG2_E / (d as f32).sqrt();
    let queries: Vec<Lanes> = (at..at + d).map(|c| std::array::from_fn(|i| q[i * row + c] * scale)).collect();
    let mut weights = vec![[0f32; LANES]; t.next_multiple_of(SUMS)]; // by key; 16 KB for 256 keys, in the L1 cache
    for (block, scores) in weights.as_chunks_mut::<SUMS>().0.iter_mut().enumerate() {
        // The last block may repeat the last key.
        let keys: [&[f32]; SUMS] = std::array::from_fn(|j| &k[(block * SUMS + j).min(t - 1) * row + at..][..d]);
        let mut sums = [[0f32; LANES]; SUMS];
        for (c, q) in queries.iter().enumerate() {
            for j in 0..SUMS { sums[j] = add(sums[j], keys[j][c], q); }
        }
        *scores = sums;
    }
    weights.truncate(t);
    let (mut max, mut total) = ([f32::NEG_INFINITY; LANES], [0f32; LANES]);
    for score in &weights {
        for i in 0..LANES { max[i] = if score[i] > max[i] { score[i] } else { max[i] }; }
    }
    for weight in &mut weights {
        for i in 0..LANES {
            weight[i] = exp2(weight[i] - max[i]);
            total[i] += weight[i];
        }
    }
    for c in (0..d).step_by(SUMS) {
        let mut sums = [[0f32; LANES]; SUMS];
        for (value, weight) in v[at + c..].chunks(row).zip(&weights) {
            for j in 0..SUMS { sums[j] = add(sums[j], value[j], weight); }
        }
        for (j, sums) in (c..d).zip(&sums) {
            for i in 0..LANES { y[i * row + at + j] = sums[i] / total[i]; }
        }
    }
}

/// 2^x for x ≤ 0 within 3e-6, without a call, so that the compiler vectorises loops over it: the integer part of x is
/// added to the exponent's bits, and a polynomial does the rest.
#[inline(always)]
fn exp2(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.; // 1.5 · 2²³: the sum has no bits after the point
    let x = if x < -126. { -126. } else { x };
    let shifted = x + ROUND;
    let f = x - (shifted - ROUND); // −½..½
    let p = 1. + f * (0.693_147_2 + f * (0.240_226_5 + f * (0.055_504_1 + f * (0.009_618_13 + f * 0.001_333_36))));
    f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23))
}
