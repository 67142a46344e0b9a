//! The parameters of the attention kernels: one description of full and of causal attention.

use candle_core::{Result, Tensor};

use super::Cache;
use crate::element::same_dtype;
use crate::error::mismatch;
use crate::launch::Launch;

/// Elements from one sequence, token or head to the next; the channels of a head are contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strides {
    pub batch: usize,
    pub token: usize,
    pub head: usize,
}

/// Queries, the keys and values that they see, and the sizes.
///
/// Query t sees the first min(`keys`, `visible_to_first` + t) keys: `visible_to_first` is `position` + 1 in causal
/// attention, `keys` in full.
pub(super) struct Params<'a> {
    pub q: &'a Tensor,
    pub k: &'a Tensor,
    pub v: &'a Tensor,
    pub q_strides: Strides,
    /// The strides of k and of v.
    pub kv_strides: Strides,
    pub batch: usize,
    pub queries: usize,
    pub keys: usize,
    pub visible_to_first: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
}

impl<'a> Params<'a> {
    /// Full attention: q (B, T, H, D), k and v (B, T, Hkv, D), views or not.
    pub fn full(kernel: &str, q: &'a Tensor, k: &'a Tensor, v: &'a Tensor) -> Result<Self> {
        let (batch, tokens, heads, head_dim) = q.dims4()?;
        let kv_heads = k.dim(2)?;
        let expected = [batch, tokens, kv_heads, head_dim];
        for x in [k, v] {
            if x.dims() != expected {
                return Err(mismatch(
                    kernel,
                    format!("k and v {expected:?}"),
                    format!("{:?}", x.dims()),
                ));
            }
        }
        same_dtype(kernel, &[q, k, v])?;
        let kv_strides = strides(kernel, k)?;
        if strides(kernel, v)? != kv_strides {
            let found = format!("{:?} and {:?}", k.stride(), v.stride());
            return Err(mismatch(kernel, "k and v of the same strides", found));
        }
        Self {
            q,
            k,
            v,
            q_strides: strides(kernel, q)?,
            kv_strides,
            batch,
            queries: tokens,
            keys: tokens,
            visible_to_first: tokens,
            heads,
            kv_heads,
            head_dim,
        }
        .grouped(kernel)
    }

    /// Causal attention: q (B, T, H, D) contiguous, over a cache on a GPU.
    pub fn causal(kernel: &str, q: &'a Tensor, cache: &'a Cache, position: usize) -> Result<Self> {
        check_causal(kernel, q, cache, position)?;
        let (batch, queries, heads, head_dim) = q.dims4()?;
        let (k, v) = cache.tensors()?;
        let head = cache.capacity * head_dim;
        Self {
            q,
            k,
            v,
            q_strides: strides(kernel, q)?,
            kv_strides: Strides {
                batch: cache.kv_heads * head,
                token: head_dim,
                head,
            },
            batch,
            queries,
            keys: position + queries,
            visible_to_first: position + 1,
            heads,
            kv_heads: cache.kv_heads,
            head_dim,
        }
        .grouped(kernel)
    }

    /// Calls `launch` with [`full`](Self::full) parameters that are [aligned](Self::is_aligned): q, k and v themselves,
    /// or contiguous copies.
    pub fn run_aligned(
        kernel: &str,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        launch: impl Fn(&Params) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let params = Params::full(kernel, q, k, v)?;
        if params.is_aligned() {
            return launch(&params);
        }
        let (q, k, v) = (
            q.force_contiguous()?,
            k.force_contiguous()?,
            v.force_contiguous()?,
        );
        launch(&Params::full(kernel, &q, &k, &v)?)
    }

    fn grouped(self, kernel: &str) -> Result<Self> {
        check_groups(kernel, self.heads, self.kv_heads)?;
        Ok(self)
    }

    /// Whether every head of q, k and v is 16-byte aligned, so that kernels can read 16 bytes at a time.
    pub fn is_aligned(&self) -> bool {
        let elements = 16 / self.q.dtype().size_in_bytes();
        let (q, kv) = (self.q_strides, self.kv_strides);
        let steps = [q.batch, q.token, kv.batch, kv.token, kv.head, self.head_dim];
        let starts = [self.q, self.k, self.v].map(|x| x.layout().start_offset());
        steps.iter().chain(&starts).all(|x| x % elements == 0)
    }

    /// Adds the parameters that most kernels of attention begin with, but for `y`: see `PARAMS` in `params.cuh`.
    pub fn arguments(&self, launch: Launch<'a>) -> Launch<'a> {
        let (q, kv) = (self.q_strides, self.kv_strides);
        let launch = launch
            .view(self.q)
            .view(self.k)
            .view(self.v)
            .u32(q.batch)
            .u32(q.token)
            .u32(kv.batch)
            .u32(kv.token)
            .u32(kv.head);
        let launch = self.sizes(launch).u32(self.head_dim);
        launch.f32(self.scale())
    }

    /// Adds T, S, the keys that query 0 sees, H and H/Hkv.
    pub fn sizes(&self, launch: Launch<'a>) -> Launch<'a> {
        launch
            .u32(self.queries)
            .u32(self.keys)
            .u32(self.visible_to_first)
            .u32(self.heads)
            .u32(self.heads / self.kv_heads.max(1))
    }

    /// 1/√D
    pub fn scale(&self) -> f64 {
        Self::scale_of(self.head_dim)
    }

    /// 1/√D of heads of `head_dim` channels.
    pub fn scale_of(head_dim: usize) -> f64 {
        1. / (head_dim as f64).sqrt()
    }
}

/// Checks that q (B, T, H, D) is contiguous and fits the cache.
pub(super) fn check_causal(kernel: &str, q: &Tensor, cache: &Cache, position: usize) -> Result<()> {
    let (batch, tokens, heads, head_dim) = q.dims4()?;
    if (batch, head_dim) != (cache.batch, cache.head_dim) {
        let expected = format!("q ({}, T, H, {})", cache.batch, cache.head_dim);
        return Err(mismatch(kernel, expected, format!("{:?}", q.dims())));
    }
    if !q.is_contiguous() {
        let found = format!("strides {:?}", q.stride());
        return Err(mismatch(kernel, "a contiguous q", found));
    }
    check_groups(kernel, heads, cache.kv_heads)?;
    cache.check(kernel, q, position, tokens)
}

fn check_groups(kernel: &str, heads: usize, kv_heads: usize) -> Result<()> {
    match heads.checked_rem(kv_heads) {
        Some(0) => Ok(()),
        _ => Err(mismatch(
            kernel,
            "H, a multiple of Hkv",
            format!("{heads} and {kv_heads}"),
        )),
    }
}

/// The strides of x (B, T, H, D), whose heads and channels are contiguous. A stride is 0 where there is only one.
pub(crate) fn strides(kernel: &str, x: &Tensor) -> Result<Strides> {
    let &[batch, token, head, channel] = x.stride() else {
        return Err(mismatch(kernel, "(B, T, H, D)", format!("{:?}", x.dims())));
    };
    let (sequences, tokens, heads, head_dim) = x.dims4()?;
    // The stride of a dimension of size 1 is never taken.
    if (head_dim > 1 && channel != 1) || (heads > 1 && head != head_dim) {
        let found = format!("strides {:?}", x.stride());
        return Err(mismatch(kernel, "contiguous heads and channels", found));
    }
    Ok(Strides {
        batch: if sequences > 1 { batch } else { 0 },
        token: if tokens > 1 { token } else { 0 },
        head: head_dim,
    })
}
