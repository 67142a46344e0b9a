//! Level 3 on a CPU: one pass over each node's edges.
//!
//! Compared with level 2: there are no tensors of E rows. Level 2 makes eight of them, E·H·D each (the
//! projected edges, q, k and v gathered, sums and products), and reads each again from memory. Here an edge's
//! projection is H·D numbers in the L1 cache, used for its scores and its message. The softmax is online
//! ("Online normalizer calculation for softmax", Milakov and Gimelshein 2018), so one pass is enough. Nodes
//! are divided among the threads in ranges of equal work.
//!
//! To be faster, avoid the projection of each edge, which costs Fe multiplications per channel: level 4.

use candle_core::{Result, Tensor};

use super::{Inputs, Params, Size, Task, run};
use crate::cpu::loops::widest;
use crate::cpu::math::exp;
use crate::element::Element;

/// Partial sums of a score: the lanes of the widest registers.
const PARTS: usize = 16;

pub(in super::super) fn edge_attention<T: Element>(params: &Params, size: Size) -> Result<Tensor> {
    run::<T, _>(params, size, |inputs| {
        let w_t = inputs.transposed_w();
        move |inputs, task| {
            widest(
                #[inline(always)]
                || nodes(inputs, &w_t, task),
            )
        }
    })
}

/// Running softmax of a head.
#[derive(Clone, Copy)]
struct Softmax {
    max: f32,
    total: f32,
}

#[inline(always)]
fn nodes<T: Element>(inputs: Inputs<T>, w_t: &[f32], (range, y): Task<T>) {
    let Size {
        heads, head_dim, ..
    } = inputs.size;
    let channels = heads * head_dim;
    let (mut message, mut sums) = (vec![0.; channels], vec![0.; channels]);
    let mut softmax = vec![Softmax { max: 0., total: 0. }; heads];
    for (node, y) in range.zip(y.chunks_exact_mut(channels)) {
        attend(inputs, w_t, node, &mut message, &mut softmax, &mut sums);
        let [skip, residual] =
            [inputs.skip, inputs.residual].map(|x| x.row(node).chunks_exact(head_dim));
        let heads = sums.chunks_exact(head_dim).zip(&softmax);
        let heads = heads.zip(skip.zip(residual));
        for (y, ((sums, softmax), (skip, residual))) in y.chunks_exact_mut(head_dim).zip(heads) {
            let share = match softmax.total {
                0. => 0.,
                total => 1. / total,
            };
            let added = skip.iter().zip(residual);
            for ((y, (skip, residual)), sum) in y.iter_mut().zip(added).zip(sums) {
                y.write(T::narrow(skip.widen() + residual.widen() + sum * share));
            }
        }
    }
}

/// Computes Σⱼ exp(sⱼ − max)(vⱼ + Wₑeⱼ) of one node into `sums`.
#[inline(always)]
fn attend<T: Element>(
    inputs: Inputs<T>,
    w_t: &[f32],
    node: usize,
    message: &mut [f32],
    softmax: &mut [Softmax],
    sums: &mut [f32],
) {
    let (scale, q) = (inputs.scale(), inputs.q.row(node));
    let start = Softmax {
        max: f32::MIN,
        total: 0.,
    };
    softmax.fill(start);
    sums.fill(0.);
    for edge in inputs.incoming(node) {
        let source = inputs.col_idx[edge] as usize;
        let (k, v) = (inputs.k.row(source), inputs.v.row(source));
        project(w_t, inputs.edges.row(edge), message);
        for (head, softmax) in softmax.iter_mut().enumerate() {
            let at = inputs.channels(head);
            let message = &message[at.clone()];
            let score = scale * dot(&q[at.clone()], &k[at.clone()], message);
            // A higher maximum scales down the sums so far.
            let max = softmax.max.max(score);
            let (shrink, weight) = (exp(softmax.max - max), exp(score - max));
            *softmax = Softmax {
                max,
                total: softmax.total * shrink + weight,
            };
            let terms = v[at.clone()].iter().zip(message);
            for (sum, (v, message)) in sums[at].iter_mut().zip(terms) {
                *sum = *sum * shrink + weight * (v.widen() + message);
            }
        }
    }
}

/// Computes Wₑe for all channels, feature by feature.
#[inline(always)]
fn project<T: Element>(w_t: &[f32], e: &[T], out: &mut [f32]) {
    out.fill(0.);
    for (e, w) in e.iter().zip(w_t.chunks_exact(out.len())) {
        let e = e.widen();
        for (out, w) in out.iter_mut().zip(w) {
            *out += w * e;
        }
    }
}

/// Returns q·(k + message).
#[inline(always)]
fn dot<T: Element>(q: &[T], k: &[T], message: &[f32]) -> f32 {
    let (q, q_rest) = q.as_chunks::<PARTS>();
    let (k, k_rest) = k.as_chunks::<PARTS>();
    let (message, message_rest) = message.as_chunks::<PARTS>();
    let mut parts = [0.; PARTS];
    for ((q, k), message) in q.iter().zip(k).zip(message) {
        for (part, ((q, k), message)) in parts.iter_mut().zip(q.iter().zip(k).zip(message)) {
            *part += q.widen() * (k.widen() + message);
        }
    }
    for (part, ((q, k), message)) in parts
        .iter_mut()
        .zip(q_rest.iter().zip(k_rest).zip(message_rest))
    {
        *part += q.widen() * (k.widen() + message);
    }
    let mut half = PARTS / 2;
    while half > 0 {
        for i in 0..half {
            parts[i] += parts[i + half];
        }
        half /= 2;
    }
    parts[0]
}
