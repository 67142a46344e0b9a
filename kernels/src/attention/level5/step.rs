//! A decode step: rotation, append and attention, by one launch or by several.

use candle_core::{Result, Tensor};

use super::{PositionedCache, causal_attention_step, step_cluster, step_split};
use crate::attention::params::{Strides, strides};
use crate::dispatch::{Entry, Facts, Layout, Op, Picked, Problem, Registry, Why};
use crate::launch::Launch;
use crate::rope;

/// The operands of a decode step.
pub struct Step<'a> {
    /// (B, T, H, D), T up to 4; a view or not.
    pub q: &'a Tensor,
    /// (B, T, Hkv, D)
    pub k: &'a Tensor,
    /// (B, T, Hkv, D)
    pub v: &'a Tensor,
    /// (positions, D/2)
    pub cos: &'a Tensor,
    /// (positions, D/2)
    pub sin: &'a Tensor,
    /// The cache at the position of the first token.
    pub cache: &'a PositionedCache<'a>,
}

/// Name in the registry of an entry that takes any alignment.
const LAUNCHES: &str = "attention_step_launches";

/// Runs an entry of [`STEP_REGISTRY`]: (B, T, H·D).
pub type RunStep = fn(&Step) -> Result<Tensor>;

/// Implementations of a decode step. Without a table the first that can run is picked: the cluster up to the keys for which it
/// may be the fastest, where there are clusters, and otherwise the splits: one launch on every GPU.
pub static STEP_REGISTRY: Registry<RunStep> = Registry {
    entries: &[
        Entry {
            name: step_cluster::KERNEL,
            can: step_cluster::can,
            run: step_cluster::launch,
        },
        Entry {
            name: step_split::KERNEL,
            can: step_split::can,
            run: step_split::launch,
        },
        Entry {
            name: LAUNCHES,
            can: |p, facts| facts.is_gpu() && p.k <= 128,
            run: launches,
        },
    ],
};

impl Step<'_> {
    /// Strides of q, and of k and v.
    pub(super) fn strides(&self) -> Result<(Strides, Strides)> {
        const KERNEL: &str = "attention_step_level5";
        Ok((strides(KERNEL, self.q)?, strides(KERNEL, self.k)?))
    }

    /// Adds the strides and sizes that both launches of a whole step have after their tensors.
    pub(super) fn sizes<'l>(&self, launch: Launch<'l>) -> Result<Launch<'l>> {
        let (q, kv) = self.strides()?;
        let (_, tokens, heads, head_dim) = self.q.dims4()?;
        let cache = &*self.cache.inner;
        Ok(launch
            .u32(q.batch)
            .u32(q.token)
            .u32(kv.batch)
            .u32(kv.token)
            .u32(tokens)
            .u32(heads)
            .u32(cache.kv_heads)
            .u32(head_dim / 2)
            .u32(cache.capacity))
    }

    /// The registry's problem: a matmul of the queries and the keys of the bucket for each key head.
    fn problem(&self) -> Result<Problem> {
        let (batch, tokens, heads, head_dim) = self.q.dims4()?;
        let kv_heads = self.cache.inner.kv_heads;
        Ok(Problem {
            op: Op::AttentionStep,
            batch: batch * kv_heads,
            m: tokens * heads / kv_heads.max(1),
            n: self.cache.bucket(self.cache.host_position + tokens),
            k: head_dim,
            dtype: self.q.dtype(),
            layout: [Layout::Rows; 2],
        })
    }
}

/// Rotates q (B, T, H, D), T up to 4, and k (B, T, Hkv, D), appends k and v to the cache, and returns softmax(q·kᵀ/√D)·v over
/// the keys up to each query's own: (B, T, H·D). On a GPU, which [`Cache::on_device`](super::Cache::on_device) ensures. cos and
/// sin (positions, D/2) have a row for every position.
///
/// # Errors
/// When shapes, strides, dtypes or devices do not agree, or the cache has no room.
pub fn attention_step(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    cache: &PositionedCache,
) -> Result<Tensor> {
    let step = Step {
        q,
        k,
        v,
        cos,
        sin,
        cache,
    };
    Ok(attention_step_with_info(&step)?.0)
}

/// [`attention_step`], with the entry that ran and why.
///
/// # Errors
/// When shapes, strides, dtypes or devices do not agree, or the cache has no room.
pub fn attention_step_with_info(step: &Step) -> Result<(Tensor, Picked<'static, RunStep>)> {
    rope::level5::check("attention_step_level5", step)?;
    let facts = Facts::of(step.q.device())?;
    let mut picked = STEP_REGISTRY.pick(&step.problem()?, facts)?;
    if picked.entry.name == step_cluster::KERNEL && !step_cluster::fits(step)? {
        const WHY: &str = "a head of q, k or v or a row of the angles is not 16-byte aligned";
        picked = Picked {
            entry: STEP_REGISTRY
                .named(LAUNCHES)
                .expect("an entry of this name"),
            why: Why::Fixed(WHY),
        };
    }
    let _span = picked.span();
    Ok(((picked.entry.run)(step)?, picked))
}

/// The rotation and the append in one launch, attention in another; a third joins the splits of a long cache.
fn launches(step: &Step) -> Result<Tensor> {
    let Step {
        q,
        k,
        v,
        cos,
        sin,
        cache,
    } = *step;
    let q = rope::level5::rope_append_step(q, k, v, cos, sin, cache)?;
    causal_attention_step(&q, cache)
}
