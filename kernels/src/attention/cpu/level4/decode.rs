//! Attention of one query per head: one lane per key, then one per channel.
//!
//! The G query heads of a key head are the rows of a tile. A block of keys is transposed in the cache, so
//! each key's score is summed in its own lane:
//!
//! ```text
//! s = q·kᵀ            (G, 64) for each block, a step takes one channel of 64 keys
//! p = e^(s − max s)   a row of a part is short, and has its maximum before its exponentials
//! o = p·v             (G, D), a step takes one value
//! ```
//!
//! Decode is memory-bound: each key and each value is read once for all G query heads, where level 3 reads
//! them for every query head. With G = 1 both levels have the same traffic. If sequences times
//! key heads are fewer than two per thread, each stream is split into parts, which are merged by their maxima
//! and sums: "Flash-Decoding for long-context inference", Dao et al. 2023.

use std::mem::MaybeUninit;
use std::ops::Range;

use candle_core::{Device, Result, Tensor};
use pulp::{Simd, WithSimd};

use super::super::slots::{BLOCK, Keys};
use super::super::{ALONE, HeadRows, Queries, widest};
use super::panel::Stored;
use super::tile::{Elements, Product};
use crate::cpu::math::{exp, exp_f32s};
use crate::cpu::parallel;
use crate::output;

/// Blocks per part from which a further split is worth it. A part has at least half as many.
const BLOCKS: usize = 8;

/// Returns the attention of one query per head to a cache: (B, 1, H·D).
pub fn attend<T: Stored>(queries: Queries<T>, k: &Keys<T>, v: HeadRows<T>) -> Result<Tensor> {
    let d = queries.rows.head_dim;
    let work = queries.batch * queries.heads * queries.keys * d;
    let mut out = output::uninit::<T>(queries.batch * queries.heads * d);
    if work > 0 {
        let parallel = work >= ALONE;
        let splits = if parallel { splits(&queries) } else { 1 };
        let parts = parts(queries, k, v, splits, parallel);
        let group = queries.group();
        for (parts, out) in parts.chunks(splits).zip(out.chunks_exact_mut(group * d)) {
            for (g, out) in out.chunks_exact_mut(d).enumerate() {
                join(parts, g, out);
            }
        }
    }
    // SAFETY: a cache of one position or more has parts, and `join` writes D elements for each head.
    let out = unsafe { out.assume_init() }.into_vec();
    Tensor::from_vec(out, (queries.batch, 1, queries.heads * d), &Device::Cpu)
}

/// Number of parts per stream: two per thread in all, or fewer where there are few keys.
fn splits<T>(queries: &Queries<T>) -> usize {
    let streams = queries.batch * queries.kv_heads;
    let wanted = (2 * rayon::current_num_threads()).div_ceil(streams);
    wanted.clamp(1, queries.keys.div_ceil(BLOCK * BLOCKS))
}

/// Splits each sequence and key head into `splits` parts.
fn parts<T: Stored>(
    queries: Queries<T>,
    k: &Keys<T>,
    v: HeadRows<T>,
    splits: usize,
    parallel: bool,
) -> Vec<Part> {
    let blocks = queries.keys.div_ceil(BLOCK);
    let part = |i: usize| {
        let (stream, split) = (i / splits, i % splits);
        widest(Lanes {
            queries,
            k,
            v,
            stream: (stream / queries.kv_heads, stream % queries.kv_heads),
            blocks: blocks * split / splits..blocks * (split + 1) / splits,
        })
    };
    let all = queries.batch * queries.kv_heads * splits;
    if parallel {
        parallel::map(all, part)
    } else {
        (0..all).map(part).collect()
    }
}

/// The contribution of a stream's part to the result of G queries.
struct Part {
    /// (G): maximum score.
    max: Vec<f32>,
    /// (G): Σ e^(s − max).
    sum: Vec<f32>,
    /// (G, `width`): Σ e^(s − max)·v; D channels and padding.
    out: Vec<f32>,
    width: usize,
}

/// Merges the parts: out = Σ f·o / Σ f·l, with f = e^(m − max m).
fn join<T: Stored>(parts: &[Part], g: usize, out: &mut [MaybeUninit<T>]) {
    let max = parts.iter().map(|p| p.max[g]);
    let max = max.fold(f32::NEG_INFINITY, f32::max);
    let (mut sum, mut total) = (0., vec![0.; out.len()]);
    for part in parts {
        let factor = exp(part.max[g] - max);
        sum += factor * part.sum[g];
        for (total, o) in total.iter_mut().zip(&part.out[g * part.width..]) {
            *total += factor * o;
        }
    }
    for (y, total) in out.iter_mut().zip(total) {
        y.write(T::narrow(total / sum));
    }
}

struct Lanes<'a, T> {
    queries: Queries<'a, T>,
    k: &'a Keys<T>,
    v: HeadRows<'a, T>,
    /// Sequence and key head.
    stream: (usize, usize),
    blocks: Range<usize>,
}

impl<T: Stored> WithSimd for Lanes<'_, T> {
    type Output = Part;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Part {
        let Self {
            queries,
            k,
            v,
            stream: (batch, head),
            ref blocks,
        } = self;
        let (d, group) = (v.head_dim, queries.group());
        let first = blocks.start * BLOCK;
        let keys = queries.keys.min(blocks.end * BLOCK) - first;
        let width = keys.next_multiple_of(BLOCK);
        let q = self.scaled();
        let q = Elements {
            data: &q,
            row: d,
            step: 1,
        };
        let mut s = output::scratch(group * width);
        for (i, block) in blocks.clone().enumerate() {
            let count = BLOCK.min(keys - i * BLOCK);
            let keys = (k.block(batch, head, block), BLOCK);
            product(
                simd,
                (group, d, count),
                q,
                keys,
                (&mut s[i * BLOCK..], width),
            );
        }
        let (mut max, mut sum) = (output::scratch(group), output::scratch(group));
        for (g, s) in s.chunks_exact_mut(width).enumerate() {
            (max[g], sum[g]) = softmax_weights(simd, s, keys);
        }
        let p = Elements {
            data: &s,
            row: width,
            step: 1,
        };
        let width = d.next_multiple_of(S::F32_LANES);
        let mut out = output::scratch(group * width);
        let values = v.from(batch, first, head);
        product(simd, (group, keys, d), p, values, (&mut out, width));
        Part {
            max,
            sum,
            out,
            width,
        }
    }
}

impl<T: Stored> Lanes<'_, T> {
    /// Returns q/√D of the heads that share this key head, (G, D).
    fn scaled(&self) -> Vec<f32> {
        let (batch, head) = self.stream;
        let group = self.queries.group();
        let scale = 1. / (self.v.head_dim as f32).sqrt();
        let heads = head * group..(head + 1) * group;
        let mut q = Vec::with_capacity(group * self.v.head_dim);
        for h in heads {
            let row = self.queries.rows.get(batch, 0, h);
            q.extend(row.iter().map(|x| x.widen() * scale));
        }
        q
    }
}

/// Turns the scores of `count` keys into weights; returns the maximum score and the sum of the weights.
#[inline(always)]
fn softmax_weights<S: Simd>(simd: S, s: &mut [f32], count: usize) -> (f32, f32) {
    s[count..].fill(f32::NEG_INFINITY);
    let (s, _) = S::as_mut_simd_f32s(s);
    let mut max = simd.splat_f32s(f32::NEG_INFINITY);
    for s in s.iter() {
        max = simd.max_f32s(max, *s);
    }
    let max = simd.reduce_max_f32s(max);
    let mut sum = simd.splat_f32s(0.);
    for s in s.iter_mut() {
        *s = exp_f32s(simd, simd.sub_f32s(*s, simd.splat_f32s(max)));
        sum = simd.add_f32s(sum, *s);
    }
    (max, simd.reduce_sum_f32s(sum))
}

/// Computes y = a·b for (rows, steps, columns), four registers of columns at a time, then one.
#[inline(always)]
fn product<S: Simd, T: Stored>(
    simd: S,
    (rows, steps, columns): (usize, usize, usize),
    a: Elements,
    (b, b_step): (&[T], usize),
    (y, y_step): (&mut [f32], usize),
) {
    let mut first = 0;
    while first < columns {
        let (b, y) = (&b[first..], &mut y[first..]);
        if columns - first > 3 * S::F32_LANES {
            simd.vectorize(Product::<T, 4> {
                rows,
                steps,
                a,
                b,
                b_step,
                y,
                y_step,
                add: false,
            });
            first += 4 * S::F32_LANES;
        } else {
            simd.vectorize(Product::<T, 1> {
                rows,
                steps,
                a,
                b,
                b_step,
                y,
                y_step,
                add: false,
            });
            first += S::F32_LANES;
        }
    }
}
