//! Attention on a CPU: the memory layout and the division of work, which both levels share.

pub mod level3;
pub mod level4;
mod slots;
#[cfg(test)]
mod tests;

pub(crate) use slots::{KeyStream, Slots};

use std::mem::MaybeUninit;
use std::ops::Range;

use candle_core::{Device, Result, Tensor};
use pulp::{Arch, WithSimd};

use super::Cache;
use super::params::{Strides, strides};
use crate::cpu::Slice;
use crate::cpu::parallel::Threads;
use crate::element::Element;
use crate::output;

/// Rows of D channels of q, k or v.
#[derive(Clone, Copy)]
pub(crate) struct HeadRows<'a, T> {
    pub data: &'a [T],
    pub strides: Strides,
    pub head_dim: usize,
}

impl<'a, T: Element> HeadRows<'a, T> {
    /// Rows of x (B, T, H, D), whose memory from the first to the last element is `data`.
    pub fn new(x: &Tensor, data: &'a [T]) -> Result<Self> {
        Ok(Self {
            data,
            strides: strides("attention", x)?,
            head_dim: x.dim(3)?,
        })
    }

    /// Returns the channels of one token and head.
    #[inline(always)]
    pub fn get(&self, batch: usize, token: usize, head: usize) -> &'a [T] {
        &self.from(batch, token, head).0[..self.head_dim]
    }

    /// Returns the channels from one token and head on, and the distance between tokens.
    #[inline(always)]
    pub fn from(&self, batch: usize, token: usize, head: usize) -> (&'a [T], usize) {
        let s = self.strides;
        let at = batch * s.batch + token * s.token + head * s.head;
        (&self.data[at..], s.token)
    }
}

/// Full attention: q (B, T, H, D), k and v (B, T, Hkv, D), as views or contiguous; `attend` gets their rows.
fn full<T: Element>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    attend: impl FnOnce(Queries<T>, HeadRows<T>, HeadRows<T>) -> Result<Tensor>,
) -> Result<Tensor> {
    let (batch, tokens, heads, _) = q.dims4()?;
    let (q_data, k_data, v_data) = (Slice::strided(q)?, Slice::strided(k)?, Slice::strided(v)?);
    let queries = Queries {
        rows: HeadRows::new(q, &q_data)?,
        batch,
        tokens,
        heads,
        kv_heads: k.dim(2)?,
        keys: tokens,
        visible_to_first: tokens,
    };
    attend(
        queries,
        HeadRows::new(k, &k_data)?,
        HeadRows::new(v, &v_data)?,
    )
}

/// Causal attention: q (B, T, H, D) for the queries from `position` on; `attend` gets its rows.
fn causal<T: Element>(
    q: &Tensor,
    cache: &Cache,
    position: usize,
    attend: impl FnOnce(Queries<T>, &Slots<T>) -> Result<Tensor>,
) -> Result<Tensor> {
    let (batch, tokens, heads, _) = q.dims4()?;
    let data = Slice::strided(q)?;
    let queries = Queries {
        rows: HeadRows::new(q, &data)?,
        batch,
        tokens,
        heads,
        kv_heads: cache.kv_heads,
        keys: position + tokens,
        visible_to_first: position + 1,
    };
    attend(queries, cache.slots()?)
}

/// Queries of an op, and how many keys each attends to.
#[derive(Clone, Copy)]
struct Queries<'a, T> {
    rows: HeadRows<'a, T>,
    batch: usize,
    tokens: usize,
    heads: usize,
    kv_heads: usize,
    /// Query t attends to the first min(`keys`, `visible_to_first` + t) keys: to all with `visible_to_first` = `keys`, to its past
    /// with `visible_to_first` = `position` + 1.
    keys: usize,
    visible_to_first: usize,
}

/// Queries of one sequence that share a key head, and their output.
///
/// Rows are numbered by token, and within a token by query head: row r is query ⌊r/G⌋ of head `kv_head`·G + r
/// mod G, with G = H/Hkv.
struct Task<'a, T> {
    batch: usize,
    kv_head: usize,
    rows: Range<usize>,
    /// Output of D channels for each of `rows`.
    out: Vec<&'a mut [MaybeUninit<T>]>,
}

impl<T: Element> Queries<'_, T> {
    /// G, the number of query heads per key head.
    fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// Returns (token, head) of a row of a task.
    #[inline(always)]
    fn token_and_head(&self, kv_head: usize, row: usize) -> (usize, usize) {
        let group = self.group();
        (row / group, kv_head * group + row % group)
    }

    /// Returns how many keys the query of a token attends to.
    #[inline(always)]
    fn sees(&self, token: usize) -> usize {
        self.keys.min(self.visible_to_first + token)
    }

    /// Splits the result (B, T, H·D) into tasks of at most `rows` rows and calls `f` with each, in parallel
    /// if the work is worth it.
    fn each_task(&self, rows: usize, f: impl Fn(Task<'_, T>) + Send + Sync) -> Result<Tensor> {
        let d = self.rows.head_dim;
        let len = self.batch * self.tokens * self.heads * d;
        let mut out = output::uninit::<T>(len);
        if len > 0 {
            let tasks = self.cut(rows, &mut out);
            Threads::for_work(len * self.keys, ALONE).for_each(tasks.into_iter(), f);
        }
        // SAFETY: the tasks cover all rows, and `f` writes each row of its task.
        let out = unsafe { out.assume_init() }.into_vec();
        Tensor::from_vec(out, (self.batch, self.tokens, self.heads * d), &Device::Cpu)
    }

    fn cut<'a>(&self, rows: usize, out: &'a mut [MaybeUninit<T>]) -> Vec<Task<'a, T>> {
        let group = self.group();
        let all = self.tokens * group;
        let blocks = all.div_ceil(rows);
        let mut tasks: Vec<Task<T>> = (0..self.batch * self.kv_heads * blocks)
            .map(|i| {
                let (head, first) = (i / blocks, i % blocks * rows);
                let rows = first..all.min(first + rows);
                Task {
                    batch: head / self.kv_heads,
                    kv_head: head % self.kv_heads,
                    out: Vec::with_capacity(rows.len()),
                    rows,
                }
            })
            .collect();
        for (i, out) in out.chunks_exact_mut(self.rows.head_dim).enumerate() {
            let (token, head) = (i / self.heads, i % self.heads);
            let (batch, token) = (token / self.tokens, token % self.tokens);
            let row = token * group + head % group;
            let kv_head = batch * self.kv_heads + head / group;
            tasks[kv_head * blocks + row / rows].out.push(out);
        }
        tasks
    }
}

/// Runs `op` compiled for the widest vectors of this CPU; functions that it calls must be inlined into it.
fn widest<Op: WithSimd>(op: Op) -> Op::Output {
    #[cfg(test)]
    if tests::NARROW.load(std::sync::atomic::Ordering::Relaxed) {
        return tests::narrow(op);
    }
    Arch::new().dispatch(op)
}

/// Multiply-adds of q and k below which one thread does the work.
const ALONE: usize = 1 << 16;
