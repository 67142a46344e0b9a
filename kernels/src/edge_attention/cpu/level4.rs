//! Level 4 on a CPU: lanes over channels, and edge features folded out of the loop over edges.
//!
//! Against level 3: no edge is projected. qᵢ·(Wₑe) = (Wₑᵀqᵢ)·e, so Wₑᵀqᵢ is made once a node and an edge's
//! score costs D + Fe multiplications a head in place of D + D·Fe; Σα(Wₑe) = Wₑ(Σαe), so the sum of the
//! features is kept beside that of the values and projected once, at the end. Edges come in chunks: all
//! their scores, then one exponential for as many edges as there are lanes, then all their sums, kept in
//! registers through the chunk.
//!
//! Everything but the scores is one function, [`combine`], out += Σ weightᵢ·rowᵢ: Wₑᵀq over the rows of
//! Wₑ, Σαv over values, Σαe over features, and Wₑz over the rows of Wₑᵀ.
//!
//! To be faster: Wₑᵀq of all nodes is itself a product and could be part of the one that makes q.

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use super::{Inputs, Operands, Size, Task, run};
use crate::cpu::lanes::{load, store};
use crate::cpu::math::{exp, exp_f32s};
use crate::element::Element;

/// Edges whose scores are held at once: a multiple of every register's lanes.
const CHUNK: usize = 64;

/// Sums that are held in registers: enough to hide how long a multiply-add takes.
const SUMS: usize = 4;

pub(in super::super) fn edge_attention<T: Element>(
    operands: &Operands,
    size: Size,
) -> Result<Tensor> {
    run::<T, _>(operands, size, |inputs| {
        let w_t = inputs.transposed_w(size.head_dim);
        move |inputs, task| {
            Arch::new().dispatch(Nodes {
                inputs,
                w_t: &w_t,
                task,
            })
        }
    })
}

struct Nodes<'a, T> {
    inputs: Inputs<'a, T>,
    w_t: &'a [f32], // (Fe, H·D)
    task: Task<'a, T>,
}

/// What is known of one node and head.
struct Head {
    q: Vec<f32>,      // (D) qᵢ/√D
    folded: Vec<f32>, // (Fe) Wₑᵀqᵢ/√D
    max: f32,
    total: f32,         // Σ exp(score − max)
    values: Vec<f32>,   // (D) Σ exp(score − max) v
    features: Vec<f32>, // (Fe) Σ exp(score − max) e
}

impl<T: Element> WithSimd for Nodes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            inputs,
            w_t,
            task: (range, y),
        } = self;
        let size = inputs.size;
        let mut state = Head {
            q: vec![0.; size.head_dim],
            folded: vec![0.; size.features],
            max: f32::MIN,
            total: 0.,
            values: vec![0.; size.head_dim],
            features: vec![0.; size.features],
        };
        let channels = size.heads * size.head_dim;
        for (node, y) in range.zip(y.chunks_exact_mut(channels)) {
            for head in 0..size.heads {
                state.start(simd, inputs, node, head);
                state.walk(simd, inputs, node, head);
                state.project(simd, inputs, w_t, head);
                let at = inputs.channels(head);
                state.finish(simd, &inputs.skip.row(node)[at.clone()], &mut y[at]);
            }
        }
    }
}

impl Head {
    /// qᵢ/√D and Wₑᵀqᵢ/√D; no edges yet.
    #[inline(always)]
    fn start<S: Simd, T: Element>(&mut self, simd: S, inputs: Inputs<T>, node: usize, head: usize) {
        let at = inputs.channels(head);
        let scale = inputs.scale();
        for (scaled, q) in self.q.iter_mut().zip(&inputs.q.row(node)[at.clone()]) {
            *scaled = scale * q.widen();
        }
        self.folded.fill(0.);
        combine(
            simd,
            &self.q,
            |c| inputs.w.row(at.start + c),
            &mut self.folded,
        );
        (self.max, self.total) = (f32::MIN, 0.);
        self.values.fill(0.);
        self.features.fill(0.);
    }

    /// Scores and weighs the node's edges, chunk by chunk.
    #[inline(always)]
    fn walk<S: Simd, T: Element>(&mut self, simd: S, inputs: Inputs<T>, node: usize, head: usize) {
        let at = inputs.channels(head);
        let incoming = inputs.incoming(node);
        for first in incoming.clone().step_by(CHUNK) {
            let count = CHUNK.min(incoming.end - first);
            let sources = &inputs.col_idx[first..first + count];
            let channels = |i: usize| sources[i] as usize;
            let mut weights = [f32::MIN; CHUNK];
            for i in 0..count {
                let k = &inputs.k.row(channels(i))[at.clone()];
                let score = dot(simd, &self.q, k, simd.splat_f32s(0.));
                let score = dot(simd, &self.folded, inputs.edges.row(first + i), score);
                weights[i] = simd.reduce_sum_f32s(score);
            }
            self.softmax(simd, &mut weights[..count.next_multiple_of(S::F32_LANES)]);
            let weights = &weights[..count];
            let v = |i: usize| &inputs.v.row(channels(i))[at.clone()];
            combine(simd, weights, v, &mut self.values);
            combine(
                simd,
                weights,
                |i| inputs.edges.row(first + i),
                &mut self.features,
            );
        }
    }

    /// exp(score − max) of a chunk, in place. A new maximum shrinks what has been summed so far.
    #[inline(always)]
    fn softmax<S: Simd>(&mut self, simd: S, scores: &mut [f32]) {
        let (scores, _) = S::as_mut_simd_f32s(scores);
        let max = scores
            .iter()
            .fold(scores[0], |max, &x| simd.max_f32s(max, x));
        let max = self.max.max(simd.reduce_max_f32s(max));
        let mut total = simd.splat_f32s(0.);
        for score in scores {
            *score = exp_f32s(simd, simd.sub_f32s(*score, simd.splat_f32s(max)));
            total = simd.add_f32s(total, *score);
        }
        if max != self.max {
            let shrink = exp(self.max - max);
            self.total *= shrink;
            self.values.iter_mut().for_each(|sum| *sum *= shrink);
            self.features.iter_mut().for_each(|sum| *sum *= shrink);
            self.max = max;
        }
        self.total += simd.reduce_sum_f32s(total);
    }

    /// Σα(v + Wₑe) = Σαv + Wₑ(Σαe), before the division by Σα.
    #[inline(always)]
    fn project<S: Simd, T>(&mut self, simd: S, inputs: Inputs<T>, w_t: &[f32], head: usize) {
        let channels = inputs.size.heads * inputs.size.head_dim;
        let row = |f: usize| &w_t[f * channels..][inputs.channels(head)];
        combine(simd, &self.features, row, &mut self.values);
    }

    /// y = skip + Σαv/Σα
    #[inline(always)]
    fn finish<S: Simd, T: Element>(&self, simd: S, skip: &[T], y: &mut [T]) {
        let share = if self.total == 0. {
            0.
        } else {
            1. / self.total
        };
        let share = simd.splat_f32s(share);
        let lanes = S::F32_LANES;
        let values = self.values.chunks(lanes).zip(skip.chunks(lanes));
        for (y, (values, skip)) in y.chunks_mut(lanes).zip(values) {
            let sum = simd.mul_add_e_f32s(load(simd, values), share, load(simd, skip));
            store(simd, y, sum);
        }
    }
}

/// sum + a·b, lane by lane.
#[inline(always)]
fn dot<S: Simd, T: Element>(simd: S, a: &[f32], b: &[T], sum: S::f32s) -> S::f32s {
    let parts = a.chunks(S::F32_LANES).zip(b.chunks(S::F32_LANES));
    parts.fold(sum, |sum, (a, b)| {
        simd.mul_add_e_f32s(load(simd, a), load(simd, b), sum)
    })
}

/// out += Σ weightᵢ·rowᵢ, by tiles of 4, 2 and 1 registers that stay registers over all rows.
#[inline(always)]
fn combine<'r, S: Simd, T: Element>(
    simd: S,
    weights: &[f32],
    row: impl Fn(usize) -> &'r [T] + Copy,
    out: &mut [f32],
) {
    let mut at = 0;
    while at < out.len() {
        let whole = (out.len() - at) / S::F32_LANES;
        let tile = match whole {
            0 | 1 => 1,
            2 | 3 => 2,
            _ => 4,
        };
        let end = out.len().min(at + tile * S::F32_LANES);
        let part = |i: usize| &row(i)[at..end];
        let out = &mut out[at..end];
        match tile {
            1 => combine_tile::<S, T, 1, SUMS>(simd, weights, part, out),
            2 => combine_tile::<S, T, 2, { SUMS / 2 }>(simd, weights, part, out),
            _ => combine_tile::<S, T, 4, { SUMS / 4 }>(simd, weights, part, out),
        }
        at = end;
    }
}

/// `TILE` registers of out. A register's sum waits for the one before it, so with few registers the rows
/// are dealt to `SPLIT` sums, which are added at the end.
#[inline(always)]
fn combine_tile<'r, S: Simd, T: Element, const TILE: usize, const SPLIT: usize>(
    simd: S,
    weights: &[f32],
    row: impl Fn(usize) -> &'r [T],
    out: &mut [f32],
) {
    let mut sums = [[simd.splat_f32s(0.); TILE]; SPLIT];
    let add = |sums: &mut [S::f32s; TILE], i: usize| {
        let (weight, row) = (simd.splat_f32s(weights[i]), row(i));
        for (t, sum) in sums.iter_mut().enumerate() {
            *sum = simd.mul_add_e_f32s(weight, load(simd, &row[t * S::F32_LANES..]), *sum);
        }
    };
    let whole = weights.len() / SPLIT * SPLIT;
    for i in (0..whole).step_by(SPLIT) {
        for (s, sums) in sums.iter_mut().enumerate() {
            add(sums, i + s);
        }
    }
    for i in whole..weights.len() {
        add(&mut sums[0], i);
    }
    for (t, out) in out.chunks_mut(S::F32_LANES).enumerate() {
        let mut sum = load(simd, out);
        for sums in &sums {
            sum = simd.add_f32s(sum, sums[t]);
        }
        store(simd, out, sum);
    }
}
