//! Level 3 on a CPU: one pass over the keys and one over the values for each query, in plain loops.
//!
//! Compared with level 2, which multiplies whole matrices: the scores of a query stay in the L1 cache until
//! they are weights. Level 2 writes B·H·T·T of them to memory, reads them for the mask, the softmax and the
//! second matmul, and copies k and v to put heads first. Keys are transposed once, so that the compiler
//! vectorises the dot products and the exponential (`cpu::math`). Rust does not fuse a multiplication and an
//! addition, so a multiply-add takes two instructions: at most half of the CPU's peak, or less when keys and
//! values come from beyond the L1 cache. To be faster, each load must serve more than one query.

use candle_core::{Result, Tensor};
use pulp::{Simd, WithSimd};

use super::slots::{BLOCK, Keys};
use super::{HeadRows, Queries, Slots, Task, causal, full, widest};
use crate::attention::Cache;
use crate::cpu::{loops, math, parallel};
use crate::element::Element;
use crate::output;

/// Rows per task: enough to reuse keys and values in the cache.
const ROWS: usize = 16;

/// Returns softmax(q·kᵀ/√D)·v, where every query attends to every key: q (B, T, H, D), k and v (B, T, Hkv,
/// D), as views or contiguous.
pub fn attention<T: Element>(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    full::<T>(q, k, v, |queries, k, v| {
        attend(queries, &gathered(&queries, k, v))
    })
}

/// Causal attention: query t attends to the keys `0..=position + t` of the cache; q (B, T, H, D).
pub fn causal_attention<T: Element>(q: &Tensor, cache: &Cache, position: usize) -> Result<Tensor> {
    causal::<T>(q, cache, position, attend)
}

/// Copies the keys and values of each head together, as in a cache. Strided rows of k and v would map to few
/// sets of the L1 cache.
fn gathered<T: Element>(queries: &Queries<T>, k: HeadRows<T>, v: HeadRows<T>) -> Slots<T> {
    let heads = queries.kv_heads;
    let mut slots = Slots::new(queries.batch, queries.keys, heads, k.head_dim);
    parallel::for_each(slots.streams().enumerate(), |(i, (mut keys, values))| {
        let (batch, head) = (i / heads, i % heads);
        for (t, value) in (0..queries.keys).zip(values.chunks_exact_mut(v.head_dim)) {
            keys.write(t, k.get(batch, t, head));
            value.copy_from_slice(v.get(batch, t, head));
        }
    });
    slots
}

fn attend<T: Element>(queries: Queries<T>, slots: &Slots<T>) -> Result<Tensor> {
    let (keys, values) = (&slots.keys, slots.values());
    queries.each_task(ROWS, |task| {
        widest(Loops {
            queries,
            keys,
            values,
            task,
        })
    })
}

/// One task, compiled for the widest vectors of this CPU.
struct Loops<'a, T> {
    queries: Queries<'a, T>,
    keys: &'a Keys<T>,
    values: HeadRows<'a, T>,
    task: Task<'a, T>,
}

impl<T: Element> WithSimd for Loops<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        let Task { batch, kv_head, .. } = self.task;
        let mut scores = output::scratch(self.queries.keys.next_multiple_of(BLOCK));
        let mut sums = output::scratch(self.values.head_dim);
        let out = std::mem::take(&mut self.task.out);
        for (row, out) in self.task.rows.clone().zip(out) {
            let (token, head) = self.queries.token_and_head(kv_head, row);
            let visible = self.queries.sees(token);
            self.score(
                self.queries.rows.get(batch, token, head),
                visible,
                &mut scores,
            );
            let share = 1. / exponentials(&mut scores[..visible]);
            self.mix(&scores[..visible], &mut sums);
            for (y, sum) in out.iter_mut().zip(&sums) {
                y.write(T::narrow(sum * share));
            }
        }
    }
}

impl<T: Element> Loops<'_, T> {
    /// Computes q·k/√D for at least the first `visible` keys.
    #[inline(always)]
    fn score(&self, q: &[T], visible: usize, scores: &mut [f32]) {
        let scale = 1. / (q.len() as f32).sqrt();
        let (scores, _) = scores.as_chunks_mut::<BLOCK>();
        for (i, scores) in scores[..visible.div_ceil(BLOCK)].iter_mut().enumerate() {
            let block = self.keys.block(self.task.batch, self.task.kv_head, i);
            let mut sums = [0.; BLOCK];
            for (q, channel) in q.iter().zip(block.as_chunks::<BLOCK>().0) {
                let q = q.widen() * scale;
                for (sum, k) in sums.iter_mut().zip(channel) {
                    *sum += q * k.widen();
                }
            }
            *scores = sums;
        }
    }

    /// Computes sums = Σ p·v, four values at a time.
    #[inline(always)]
    fn mix(&self, p: &[f32], sums: &mut [f32]) {
        let value = |j: usize| self.values.get(self.task.batch, j, self.task.kv_head);
        sums.fill(0.);
        let (fours, rest) = p.as_chunks::<4>();
        for (j, p) in fours.iter().enumerate() {
            let j = 4 * j;
            let (a, b, c, d) = (value(j), value(j + 1), value(j + 2), value(j + 3));
            let values = a.iter().zip(b).zip(c.iter().zip(d));
            for (sum, ((a, b), (c, d))) in sums.iter_mut().zip(values) {
                let first = p[0] * a.widen() + p[1] * b.widen();
                *sum += first + (p[2] * c.widen() + p[3] * d.widen());
            }
        }
        for (j, p) in rest.iter().enumerate() {
            for (sum, v) in sums.iter_mut().zip(value(4 * fours.len() + j)) {
                *sum += p * v.widen();
            }
        }
    }
}

/// Replaces scores by e^(score − maximum); returns their sum.
#[inline(always)]
fn exponentials(scores: &mut [f32]) -> f32 {
    let max = loops::max(scores);
    for score in scores.iter_mut() {
        *score = math::exp(*score - max);
    }
    loops::sum(scores, |e| e)
}
