//! Rotation and append on a CPU: the division of work, which both levels share.

pub mod level3;
pub mod level4;

use std::mem::MaybeUninit;

use candle_core::{Device, Result, Tensor};

use super::Params;
use crate::attention::{Cache, HeadRows, KeyStream};
use crate::cpu::Slice;
use crate::cpu::parallel::{self, Threads};
use crate::element::Element;
use crate::output;

/// Tokens whose queries a task rotates: as many as a block of the cache has keys.
const TOKENS: usize = 64;

/// Operands of the rotation and the append.
#[derive(Clone, Copy)]
struct Inputs<'a, T> {
    q: HeadRows<'a, T>,
    k: HeadRows<'a, T>,
    v: HeadRows<'a, T>,
    /// (T, D/2)
    cos: &'a [T],
    sin: &'a [T],
    tokens: usize,
    heads: usize,
    head_dim: usize,
    /// Position of the first token.
    position: usize,
}

/// Output of a task.
enum Task<'a, T> {
    /// Queries, one row per head, from row `first` of (B, T, H) on.
    Rotate {
        first: usize,
        y: &'a mut [MaybeUninit<T>],
    },
    /// Keys and values of all tokens, of one sequence and head.
    Append {
        batch: usize,
        head: usize,
        keys: KeyStream<'a, T>,
        values: &'a mut [T],
    },
}

impl<'a, T: Element> Inputs<'a, T> {
    /// Returns the angles of a token (cos, sin), which rotate (x₁, x₂).
    fn angles(&self, token: usize) -> (&'a [T], &'a [T]) {
        let half = self.head_dim / 2;
        let at = token * half..(token + 1) * half;
        (&self.cos[at.clone()], &self.sin[at])
    }

    /// Returns row i of (B, T, H) of the queries, and its angles.
    fn query(&self, i: usize) -> (&'a [T], (&'a [T], &'a [T])) {
        let (token, head) = (i / self.heads, i % self.heads);
        let (batch, token) = (token / self.tokens, token % self.tokens);
        (self.q.get(batch, token, head), self.angles(token))
    }
}

/// Rotates q and k, writes k and v to the cache, and returns q; `run` performs one task.
fn rope_append<T: Element>(
    x: &Params,
    cache: &mut Cache,
    position: usize,
    run: impl Fn(Inputs<T>, Task<T>) + Send + Sync,
) -> Result<Tensor> {
    let (batch, tokens, heads, head_dim) = x.q.dims4()?;
    let kv_heads = cache.kv_heads;
    let (q, k, v) = (
        Slice::strided(x.q)?,
        Slice::strided(x.k)?,
        Slice::strided(x.v)?,
    );
    let (cos, sin) = (Slice::new(x.cos)?, Slice::new(x.sin)?);
    let inputs = Inputs {
        q: HeadRows::new(x.q, &q)?,
        k: HeadRows::new(x.k, &k)?,
        v: HeadRows::new(x.v, &v)?,
        cos: &cos,
        sin: &sin,
        tokens,
        heads,
        head_dim,
        position,
    };
    let mut y = output::uninit::<T>(batch * tokens * heads * head_dim);
    if !y.is_empty() {
        let rows = TOKENS * heads;
        let rotate = y.chunks_mut(rows * head_dim).enumerate();
        let rotate = rotate.map(|(i, y)| Task::Rotate { first: i * rows, y });
        let streams = cache.slots_mut::<T>()?.streams();
        let append = streams.enumerate().map(|(i, (keys, values))| Task::Append {
            batch: i / kv_heads,
            head: i % kv_heads,
            keys,
            values,
        });
        let tasks = rotate.chain(append);
        let elements = batch * tokens * (heads + kv_heads) * head_dim;
        Threads::for_work(elements, parallel::ALONE).for_each(tasks, |task| run(inputs, task));
    }
    // SAFETY: the rotating tasks cover all heads, and write each.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, (batch, tokens, heads, head_dim), &Device::Cpu)
}
