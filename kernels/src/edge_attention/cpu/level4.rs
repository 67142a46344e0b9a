//! Level 4 on a CPU: SIMD lanes over channels, and edge features folded out of the edge loop.
//!
//! Compared with level 3: no edge is projected. qᵢ·(Wₑe) = (Wₑᵀqᵢ)·e, so Wₑᵀqᵢ is computed once per node, and
//! an edge's score costs D + Fe multiplications per head instead of D + D·Fe. Σα(Wₑe) = Wₑ(Σαe), so the
//! features are summed like the values and projected once, at the end. Edges are processed in chunks: their
//! operands are widened and padded to whole registers once, then come all scores, one exponential for as many
//! edges as there are lanes, and all sums, which stay in registers for the chunk.
//!
//! Everything except the scores is one function, [`combine`], out += Σ weightᵢ·rowᵢ: Wₑᵀq over the rows of
//! Wₑ, Σαv over values, Σαe over features, and Wₑz over the rows of Wₑᵀ.
//!
//! To be faster, Wₑᵀq of all nodes, itself a matmul, could be part of the one that computes q.

use std::mem::MaybeUninit;

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use super::{Inputs, Params, Size, Task, run};
use crate::cpu::lanes::{load, write};
use crate::cpu::math::{exp, exp_f32s};
use crate::element::Element;

/// Rows are padded to a multiple of this, the lanes of the widest registers.
const WIDEST: usize = 16;

/// Edges per chunk: their k, v and e stay in the L1 cache.
const CHUNK: usize = WIDEST;

pub(in super::super) fn edge_attention<T: Element>(params: &Params, size: Size) -> Result<Tensor> {
    run::<T, _>(params, size, |inputs| {
        let weights = Weights::new(inputs);
        move |inputs, task| {
            Arch::new().dispatch(Nodes {
                inputs,
                weights: &weights,
                task,
            })
        }
    })
}

/// Wₑ and its transpose in f32, with zero-padded rows.
struct Weights {
    w: Vec<f32>,   // (H, D, Fe)
    w_t: Vec<f32>, // (H, Fe, D)
}

impl Weights {
    fn new<T: Element>(inputs: Inputs<T>) -> Self {
        let size = inputs.size;
        let (d, fe) = filled(size);
        let mut w = vec![0.; size.heads * size.head_dim * fe];
        let mut w_t = vec![0.; size.heads * size.features * d];
        for c in 0..size.heads * size.head_dim {
            let (head, channel) = (c / size.head_dim, c % size.head_dim);
            for (f, x) in inputs.w.row(c).iter().enumerate() {
                w[c * fe + f] = x.widen();
                w_t[(head * size.features + f) * d + channel] = x.widen();
            }
        }
        Self { w, w_t }
    }
}

/// Returns D and Fe, padded.
fn filled(size: Size) -> (usize, usize) {
    let fill = |n: usize| n.next_multiple_of(WIDEST);
    (fill(size.head_dim), fill(size.features))
}

struct Nodes<'a, T> {
    inputs: Inputs<'a, T>,
    weights: &'a Weights,
    task: Task<'a, T>,
}

impl<T: Element> WithSimd for Nodes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            inputs,
            weights,
            task: (range, y),
        } = self;
        let mut state = State::new(inputs.size);
        let channels = inputs.size.heads * inputs.size.head_dim;
        for (node, y) in range.zip(y.chunks_exact_mut(channels)) {
            state.start(simd, inputs, weights, node);
            let incoming = inputs.incoming(node);
            for first in incoming.clone().step_by(CHUNK) {
                let count = CHUNK.min(incoming.end - first);
                state.gather(simd, inputs, first, count);
                for head in 0..inputs.size.heads {
                    state.score(simd, head, count);
                }
                for head in 0..inputs.size.heads {
                    state.add_weighted_values(simd, head, count);
                }
            }
            state.finish(simd, inputs, weights, node, y);
        }
    }
}

/// State of one node, and of a chunk of its edges. Rows are zero-padded.
struct State {
    d: usize,
    fe: usize,
    q: Vec<f32>,        // (H, D) qᵢ/√D
    folded: Vec<f32>,   // (H, Fe) Wₑᵀqᵢ/√D
    k: Vec<f32>,        // (CHUNK, H, D)
    v: Vec<f32>,        // (CHUNK, H, D)
    e: Vec<f32>,        // (CHUNK, Fe)
    weights: Vec<f32>,  // (H, CHUNK) scores, then exp(score − max)
    max: Vec<f32>,      // (H)
    total: Vec<f32>,    // (H) Σ exp(score − max)
    values: Vec<f32>,   // (H, D) Σ exp(score − max) v
    messages: Vec<f32>, // (H, Fe) Σ exp(score − max) e
}

impl State {
    fn new(size: Size) -> Self {
        let (d, fe) = filled(size);
        let zeros = |rows: usize| vec![0.; size.heads * rows];
        Self {
            d,
            fe,
            q: zeros(d),
            folded: zeros(fe),
            k: zeros(CHUNK * d),
            v: zeros(CHUNK * d),
            e: vec![0.; CHUNK * fe],
            weights: zeros(CHUNK),
            max: zeros(1),
            total: zeros(1),
            values: zeros(d),
            messages: zeros(fe),
        }
    }

    /// Starts a node: qᵢ/√D and Wₑᵀqᵢ/√D, without edges.
    #[inline(always)]
    fn start<S: Simd, T: Element>(
        &mut self,
        simd: S,
        inputs: Inputs<T>,
        weights: &Weights,
        node: usize,
    ) {
        let (d, fe, head_dim) = (self.d, self.fe, inputs.size.head_dim);
        self.folded.fill(0.);
        for head in 0..inputs.size.heads {
            let q = &mut self.q[head * d..][..d];
            let x = &inputs.q.row(node)[inputs.channels(head)];
            widen(simd, x, inputs.scale(), q);
            let w = &weights.w[head * head_dim * fe..][..head_dim * fe];
            combine(
                simd,
                &q[..head_dim],
                w,
                fe,
                &mut self.folded[head * fe..][..fe],
            );
        }
        self.max.fill(f32::MIN);
        self.total.fill(0.);
        self.values.fill(0.);
        self.messages.fill(0.);
    }

    /// Loads k, v and e of `count` edges.
    #[inline(always)]
    fn gather<S: Simd, T: Element>(
        &mut self,
        simd: S,
        inputs: Inputs<T>,
        first: usize,
        count: usize,
    ) {
        let (stride, fe) = (self.q.len(), self.fe);
        for i in 0..count {
            let source = inputs.col_idx[first + i] as usize;
            let (k, v) = (inputs.k.row(source), inputs.v.row(source));
            let at = i * stride..(i + 1) * stride;
            widen_heads(simd, k, inputs.size, &mut self.k[at.clone()]);
            widen_heads(simd, v, inputs.size, &mut self.v[at]);
            widen(
                simd,
                inputs.edges.row(first + i),
                1.,
                &mut self.e[i * fe..][..fe],
            );
        }
    }

    /// Computes qᵢ·(k + Wₑe)/√D = q·k + folded·e for the edges of the chunk; the lowest f32 after the last.
    #[inline(always)]
    fn score<S: Simd>(&mut self, simd: S, head: usize, count: usize) {
        let (d, fe) = (self.d, self.fe);
        let q = &self.q[head * d..][..d];
        let folded = &self.folded[head * fe..][..fe];
        let scores = &mut self.weights[head * CHUNK..][..CHUNK];
        let stride = self.q.len(); // H·D
        scores.fill(f32::MIN);
        for (i, score) in scores[..count].iter_mut().enumerate() {
            let k = &self.k[i * stride + head * d..][..d];
            let sum = dot(simd, q, k, simd.splat_f32s(0.));
            let e = &self.e[i * fe..][..fe];
            *score = simd.reduce_sum_f32s(dot(simd, folded, e, sum));
        }
    }

    /// Adds the values and features of a chunk, weighted by exp(score − max); a new maximum scales earlier sums.
    #[inline(always)]
    fn add_weighted_values<S: Simd>(&mut self, simd: S, head: usize, count: usize) {
        let weights = &mut self.weights[head * CHUNK..][..CHUNK];
        let values = &mut self.values[head * self.d..][..self.d];
        let messages = &mut self.messages[head * self.fe..][..self.fe];
        let (max, sum) = softmax(simd, weights, self.max[head]);
        if self.total[head] != 0. && max != self.max[head] {
            let shrink = exp(self.max[head] - max);
            self.total[head] *= shrink;
            scale(simd, values, shrink);
            scale(simd, messages, shrink);
        }
        self.max[head] = max;
        self.total[head] += sum;
        let weights = &weights[..count];
        combine(
            simd,
            weights,
            &self.v[head * self.d..],
            self.q.len(),
            values,
        );
        combine(simd, weights, &self.e, self.fe, messages);
    }

    /// Computes y = skip + residual + (Σαv + Wₑ(Σαe))/Σα.
    #[inline(always)]
    fn finish<S: Simd, T: Element>(
        &mut self,
        simd: S,
        inputs: Inputs<T>,
        weights: &Weights,
        node: usize,
        y: &mut [MaybeUninit<T>],
    ) {
        let (d, fe, features) = (self.d, self.fe, inputs.size.features);
        for head in 0..inputs.size.heads {
            let values = &mut self.values[head * d..][..d];
            let messages = &self.messages[head * fe..][..features];
            let w_t = &weights.w_t[head * features * d..][..features * d];
            combine(simd, messages, w_t, d, values);
            let share = match self.total[head] {
                0. => 0.,
                total => 1. / total,
            };
            let at = inputs.channels(head);
            let added = [inputs.skip, inputs.residual].map(|x| &x.row(node)[at.clone()]);
            add_scaled(simd, added, values, share, &mut y[at]);
        }
    }
}

/// Computes y = x₀ + x₁ + by·values.
#[inline(always)]
fn add_scaled<S: Simd, T: Element>(
    simd: S,
    [x0, x1]: [&[T]; 2],
    values: &[f32],
    by: f32,
    y: &mut [MaybeUninit<T>],
) {
    let values = S::as_simd_f32s(values).0;
    let x = x0.chunks(S::F32_LANES).zip(x1.chunks(S::F32_LANES));
    for ((y, (x0, x1)), &values) in y.chunks_mut(S::F32_LANES).zip(x).zip(values) {
        let x = simd.add_f32s(load(simd, x0), load(simd, x1));
        write(simd, y, simd.mul_add_e_f32s(values, simd.splat_f32s(by), x));
    }
}

/// Widens a node's heads and zero-pads each; all at once if there is no padding.
#[inline(always)]
fn widen_heads<S: Simd, T: Element>(simd: S, x: &[T], size: Size, out: &mut [f32]) {
    let (d, head_dim) = (filled(size).0, size.head_dim);
    if d == head_dim {
        return widen(simd, x, 1., out);
    }
    for head in 0..size.heads {
        let x = &x[head * head_dim..][..head_dim];
        widen(simd, x, 1., &mut out[head * d..][..d]);
    }
}

/// Computes out = scale·x, zero-padded.
#[inline(always)]
fn widen<S: Simd, T: Element>(simd: S, x: &[T], scale: f32, out: &mut [f32]) {
    let out = S::as_mut_simd_f32s(out).0;
    for (out, x) in out.iter_mut().zip(x.chunks(S::F32_LANES)) {
        *out = simd.mul_f32s(load(simd, x), simd.splat_f32s(scale));
    }
}

#[inline(always)]
fn scale<S: Simd>(simd: S, x: &mut [f32], by: f32) {
    for x in S::as_mut_simd_f32s(x).0 {
        *x = simd.mul_f32s(*x, simd.splat_f32s(by));
    }
}

/// Replaces scores by exp(score − max); returns max, which is at least `least`, and the sum.
#[inline(always)]
fn softmax<S: Simd>(simd: S, scores: &mut [f32], least: f32) -> (f32, f32) {
    let scores = S::as_mut_simd_f32s(scores).0;
    let mut max = simd.splat_f32s(least);
    for &score in &*scores {
        max = simd.max_f32s(max, score);
    }
    let max = simd.reduce_max_f32s(max);
    let mut sum = simd.splat_f32s(0.);
    for score in scores {
        *score = exp_f32s(simd, simd.sub_f32s(*score, simd.splat_f32s(max)));
        sum = simd.add_f32s(sum, *score);
    }
    (max, simd.reduce_sum_f32s(sum))
}

/// Returns sum + a·b, lane by lane.
#[inline(always)]
fn dot<S: Simd>(simd: S, a: &[f32], b: &[f32], sum: S::f32s) -> S::f32s {
    let mut sum = sum;
    for (&a, &b) in S::as_simd_f32s(a).0.iter().zip(S::as_simd_f32s(b).0) {
        sum = simd.mul_add_e_f32s(a, b, sum);
    }
    sum
}

/// Computes out += Σ weightᵢ·rowᵢ; rows are `stride` apart. Tiles of 4, 2 and 1 accumulators stay in
/// registers over all rows.
#[inline(always)]
fn combine<S: Simd>(simd: S, weights: &[f32], rows: &[f32], stride: usize, out: &mut [f32]) {
    let (rows, out) = (S::as_simd_f32s(rows).0, S::as_mut_simd_f32s(out).0);
    let stride = stride / S::F32_LANES;
    let (tiles, rest) = out.as_chunks_mut::<4>();
    for (t, tile) in tiles.iter_mut().enumerate() {
        combine_tile(simd, weights, rows, (4 * t, stride), tile);
    }
    let first = 4 * tiles.len();
    let (tiles, rest) = rest.as_chunks_mut::<2>();
    for tile in &mut *tiles {
        combine_tile(simd, weights, rows, (first, stride), tile);
    }
    let first = first + 2 * tiles.len();
    for tile in rest.as_chunks_mut::<1>().0 {
        combine_tile(simd, weights, rows, (first, stride), tile);
    }
}

/// Computes `N` registers of out, from the `first` element of each row on.
#[inline(always)]
fn combine_tile<S: Simd, const N: usize>(
    simd: S,
    weights: &[f32],
    rows: &[S::f32s],
    (first, stride): (usize, usize),
    out: &mut [S::f32s; N],
) {
    let mut sums = *out;
    let mut at = first;
    for &weight in weights {
        for (sum, &x) in sums.iter_mut().zip(&rows[at..][..N]) {
            *sum = simd.mul_add_e_f32s(simd.splat_f32s(weight), x, *sum);
        }
        at += stride;
    }
    *out = sums;
}
