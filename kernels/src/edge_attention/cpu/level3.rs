//! Level 3 on a CPU: one walk over each node's edges, head by head.
//!
//! Against level 2: no tensor of E rows is ever made. Level 2 makes eight of them, E·H·D each (the
//! projected edges, q, k and v gathered, sums and products), and reads each again from memory; here an
//! edge's projection is D numbers in the first-level cache, used for its score and for its message, and
//! the softmax is the online one ("Online normalizer calculation for softmax", Milakov and Gimelshein
//! 2018), so that one walk does. Nodes are divided among the threads, in runs of equal work.
//!
//! To be faster: not to project each edge, which costs D·Fe multiplications a head. That is level 4.

use candle_core::{Result, Tensor};
use pulp::Arch;

use super::{Inputs, Operands, Size, Task, run};
use crate::cpu::math::exp;
use crate::element::Element;

/// Channels whose sums are kept in registers.
const BLOCK: usize = 16;

pub(in super::super) fn edge_attention<T: Element>(
    operands: &Operands,
    size: Size,
) -> Result<Tensor> {
    let stride = size.head_dim.next_multiple_of(BLOCK);
    run::<T, _>(operands, size, |inputs| {
        let w = inputs.transposed_w(stride);
        move |inputs, task| Arch::new().dispatch(|| nodes(inputs, &w, stride, task))
    })
}

#[inline(always)]
fn nodes<T: Element>(inputs: Inputs<T>, w: &[f32], stride: usize, (range, y): Task<T>) {
    let mut message = vec![0.; stride];
    let mut sums = vec![0.; inputs.size.head_dim];
    let channels = inputs.size.heads * inputs.size.head_dim;
    for (node, y) in range.zip(y.chunks_exact_mut(channels)) {
        for head in 0..inputs.size.heads {
            let w = Projection {
                w: &w[head * stride..],
                stride: inputs.size.heads * stride,
            };
            attend(inputs, w, (node, head), &mut message, &mut sums);
            let at = inputs.channels(head);
            let skip = &inputs.skip.row(node)[at.clone()];
            for ((y, skip), sum) in y[at].iter_mut().zip(skip).zip(&sums) {
                *y = T::narrow(skip.widen() + sum);
            }
        }
    }
}

/// Σⱼ αⱼ(vⱼ + Wₑeⱼ) of one node and head, into `sums`.
#[inline(always)]
fn attend<T: Element>(
    inputs: Inputs<T>,
    w: Projection,
    (node, head): (usize, usize),
    message: &mut [f32],
    sums: &mut [f32],
) {
    let (at, scale) = (inputs.channels(head), inputs.scale());
    let q = &inputs.q.row(node)[at.clone()];
    let (mut max, mut total) = (f32::MIN, 0.);
    sums.fill(0.);
    for edge in inputs.incoming(node) {
        let source = inputs.col_idx[edge] as usize;
        let k = &inputs.k.row(source)[at.clone()];
        let v = &inputs.v.row(source)[at.clone()];
        w.project(inputs.edges.row(edge), message);
        let score = scale * dot(q, k, message);
        // A higher maximum shrinks what has been summed so far.
        let higher = max.max(score);
        let (shrink, weight) = (exp(max - higher), exp(score - higher));
        (max, total) = (higher, total * shrink + weight);
        for ((sum, v), message) in sums.iter_mut().zip(v).zip(&*message) {
            *sum = *sum * shrink + weight * (v.widen() + message);
        }
    }
    if total != 0. {
        sums.iter_mut().for_each(|sum| *sum /= total);
    }
}

/// Wₑ of one head, transposed: (Fe, D), D filled up with zeros to whole blocks.
#[derive(Clone, Copy)]
struct Projection<'a> {
    w: &'a [f32],
    stride: usize,
}

impl Projection<'_> {
    /// Wₑe
    #[inline(always)]
    fn project<T: Element>(self, e: &[T], out: &mut [f32]) {
        for (block, out) in out.chunks_exact_mut(BLOCK).enumerate() {
            let mut sum = [0.; BLOCK];
            for (f, e) in e.iter().enumerate() {
                let w = &self.w[f * self.stride + block * BLOCK..][..BLOCK];
                for (sum, w) in sum.iter_mut().zip(w) {
                    *sum += w * e.widen();
                }
            }
            out.copy_from_slice(&sum);
        }
    }
}

/// q·(k + message), as `BLOCK` sums side by side.
#[inline(always)]
fn dot<T: Element>(q: &[T], k: &[T], message: &[f32]) -> f32 {
    let mut sums = [0.; BLOCK];
    let whole = q.len() / BLOCK * BLOCK;
    for at in (0..whole).step_by(BLOCK) {
        let (q, k, message) = (
            &q[at..][..BLOCK],
            &k[at..][..BLOCK],
            &message[at..][..BLOCK],
        );
        for i in 0..BLOCK {
            sums[i] += q[i].widen() * (k[i].widen() + message[i]);
        }
    }
    for at in whole..q.len() {
        sums[at - whole] += q[at].widen() * (k[at].widen() + message[at]);
    }
    let mut half = BLOCK / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] += sums[i + half];
        }
        half /= 2;
    }
    sums[0]
}
