//! Attention of many queries: one lane per query.
//!
//! For each block of 64 keys, with q, s and o transposed so that a register holds the same channel or
//! score of neighbouring queries:
//!
//! ```text
//! s = k·qᵀ                          (64, W), a tile takes 8 keys and all W queries
//! m' = max(m, s), f = e^(m − m')    a register, no lane looks at another
//! p = e^(s − m'), l = f·l + Σ p
//! o = f·o + vᵀ·p                    (D, W), a tile takes 8 channels
//! ```
//!
//! and after the last block o/l. W is 3 registers, or fewer for the last queries.

use std::mem::MaybeUninit;
use std::ops::Range;

use candle_core::{Result, Tensor};
use pulp::{Simd, WithSimd, bytemuck};

use super::super::slots::BLOCK;
use super::super::{Queries, Task, widest};
use super::panel::{Room, Source, Stored};
use super::tile::Product;
use crate::cpu::math::exp_f32s;
use crate::output;

/// Queries per task: three of the widest registers.
const ROWS: usize = 48;

/// Returns the attention of `queries` to `source`: (B, T, H·D).
pub fn attend<T: Stored>(queries: Queries<T>, source: Source<T>) -> Result<Tensor> {
    queries.each_task(ROWS, |task| {
        widest(Lanes {
            queries,
            source,
            task,
        })
    })
}

struct Lanes<'a, T> {
    queries: Queries<'a, T>,
    source: Source<'a, T>,
    task: Task<'a, T>,
}

impl<T: Stored> WithSimd for Lanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut room = Room::default();
        let all = self.task.rows.len();
        let mut first = 0;
        while first < all {
            let registers = (all - first).div_ceil(S::F32_LANES).min(3);
            let rows = first..all.min(first + registers * S::F32_LANES);
            first = rows.end;
            match registers {
                1 => self.attend::<S, 1>(simd, rows, &mut room),
                2 => self.attend::<S, 2>(simd, rows, &mut room),
                _ => self.attend::<S, 3>(simd, rows, &mut room),
            }
        }
    }
}

/// N registers of queries.
struct Block<S: Simd, const N: usize> {
    /// (D, W), scaled.
    q: Vec<f32>,
    /// Scores, then weights: (64, W), with fewer rows for the last keys.
    s: Vec<f32>,
    /// (D, W): Σ p·v.
    o: Vec<f32>,
    /// Number of keys per query.
    sees: [S::u32s; N],
    /// Minimum and maximum of them.
    sees_between: (usize, usize),
    max: [S::f32s; N],
    sum: [S::f32s; N],
}

impl<T: Stored> Lanes<'_, T> {
    #[inline(always)]
    fn attend<S: Simd, const N: usize>(&mut self, simd: S, rows: Range<usize>, room: &mut Room) {
        let (d, w) = (self.queries.rows.head_dim, N * S::F32_LANES);
        let head = (self.task.batch, self.task.kv_head);
        let mut block = self.load::<S, N>(simd, rows.clone());
        for first in (0..block.sees_between.1).step_by(BLOCK) {
            let count = BLOCK.min(block.sees_between.1 - first);
            let (keys, values) = self.source.block(head, (first, count), room);
            simd.vectorize(Product::<f32, N> {
                rows: count,
                steps: d,
                a: keys.by_key(),
                b: &block.q,
                b_step: w,
                y: &mut block.s,
                y_step: w,
                add: false,
            });
            block.hide(simd, first, count);
            block.softmax_weights(simd, count);
            simd.vectorize(Product::<f32, N> {
                rows: d,
                steps: count,
                a: values.by_channel(),
                b: &block.s,
                b_step: w,
                y: &mut block.o,
                y_step: w,
                add: true,
            });
        }
        block.store(simd, &mut self.task.out[rows]);
    }

    /// Loads the queries of `rows` into lanes; lanes without a query repeat the last.
    #[inline(always)]
    fn load<S: Simd, const N: usize>(&self, simd: S, rows: Range<usize>) -> Block<S, N> {
        let Self { queries, task, .. } = self;
        let (d, w) = (queries.rows.head_dim, N * S::F32_LANES);
        let scale = 1. / (d as f32).sqrt();
        let mut q = output::uninit::<f32>(d * w);
        let mut sees = [simd.splat_u32s(0); N];
        let mut sees_between = (usize::MAX, 0);
        let lanes: &mut [u32] = bytemuck::cast_slice_mut(&mut sees);
        for (lane, sees) in lanes.iter_mut().enumerate() {
            let row = task.rows.start + rows.end.min(rows.start + lane + 1) - 1;
            let (token, head) = queries.token_and_head(task.kv_head, row);
            let n = queries.sees(token);
            *sees = n as u32;
            sees_between = (sees_between.0.min(n), sees_between.1.max(n));
            let x = queries.rows.get(task.batch, token, head);
            for (q, x) in q[lane..].iter_mut().step_by(w).zip(x) {
                q.write(x.widen() * scale);
            }
        }
        Block {
            // SAFETY: the loop writes D channels in each of the W lanes.
            q: unsafe { q.assume_init() }.into_vec(),
            s: output::scratch(BLOCK.min(sees_between.1) * w),
            o: vec![0.; d * w],
            sees,
            sees_between,
            max: [simd.splat_f32s(f32::NEG_INFINITY); N],
            sum: [simd.splat_f32s(0.); N],
        }
    }
}

impl<S: Simd, const N: usize> Block<S, N> {
    /// Sets scores to −∞ where a query does not attend to a key of `first..first + count`.
    #[inline(always)]
    fn hide(&mut self, simd: S, first: usize, count: usize) {
        if first + count <= self.sees_between.0 {
            return;
        }
        let (s, _) = S::as_mut_simd_f32s(&mut self.s);
        for (j, s) in s.chunks_exact_mut(N).take(count).enumerate() {
            let key = simd.splat_u32s((first + j) as u32);
            for (s, sees) in s.iter_mut().zip(self.sees) {
                let is_visible = simd.less_than_u32s(key, sees);
                *s = simd.select_f32s(is_visible, *s, simd.splat_f32s(f32::NEG_INFINITY));
            }
        }
    }

    /// Turns the scores of `count` keys into weights, and scales earlier sums to the new maximum.
    #[inline(always)]
    fn softmax_weights(&mut self, simd: S, count: usize) {
        let (s, _) = S::as_mut_simd_f32s(&mut self.s);
        let (s, _) = s.as_chunks_mut::<N>();
        let s = &mut s[..count];
        let mut max = self.max;
        for s in s.iter() {
            for (max, s) in max.iter_mut().zip(s) {
                *max = simd.max_f32s(*max, *s);
            }
        }
        let mut factor = max;
        for n in 0..N {
            factor[n] = exp_f32s(simd, simd.sub_f32s(self.max[n], max[n]));
            self.sum[n] = simd.mul_f32s(self.sum[n], factor[n]);
        }
        self.max = max;
        for s in s {
            for n in 0..N {
                s[n] = exp_f32s(simd, simd.sub_f32s(s[n], max[n]));
                self.sum[n] = simd.add_f32s(self.sum[n], s[n]);
            }
        }
        let (o, _) = S::as_mut_simd_f32s(&mut self.o);
        for o in o.chunks_exact_mut(N) {
            for (o, factor) in o.iter_mut().zip(factor) {
                *o = simd.mul_f32s(*o, factor);
            }
        }
    }

    /// Writes o/l, transposed back to one row per query.
    #[inline(always)]
    fn store<T: Stored>(mut self, simd: S, out: &mut [&mut [MaybeUninit<T>]]) {
        let (o, _) = S::as_mut_simd_f32s(&mut self.o);
        for o in o.chunks_exact_mut(N) {
            for (o, sum) in o.iter_mut().zip(self.sum) {
                *o = simd.div_f32s(*o, sum);
            }
        }
        for (lane, out) in out.iter_mut().enumerate() {
            let o = self.o[lane..].iter().step_by(N * S::F32_LANES);
            for (y, o) in out.iter_mut().zip(o) {
                y.write(T::narrow(*o));
            }
        }
    }
}
