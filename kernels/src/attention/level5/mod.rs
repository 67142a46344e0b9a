//! Level 5: which kernel computes attention for this shape on this device.
//!
//! - [`attention`], of all keys: the fastest kernel of [`REGISTRY`], by the tables of [`dispatch`](crate::dispatch).
//! - [`causal_attention`], of a prompt, at a position that the host knows: this level's kernels for tensor cores where they
//!   can, otherwise level 4.
//! - [`attention_step`], of a few queries, with the rotation and the append: the fastest of [`STEP_REGISTRY`], which are one launch
//!   of clusters (`step_cluster.cu`), one launch of blocks on every GPU (`step_split.cu`), and the launches of `rope` and of
//!   [`causal_attention_step`] (`decode.cu`). All read the position from the device's memory, so that a recorded decode step
//!   can be repeated.

pub(super) mod decode;
mod position;
mod step;
mod step_cluster;
pub(in crate::attention) mod step_split;
pub mod tile_tf32x3;
pub mod tile_wgmma;

pub use position::{Cache, Position, PositionedCache};
pub use step::{RunStep, STEP_REGISTRY, Step, attention_step, attention_step_with_info};

use candle_core::{DType, Result, Tensor};

use super::{Params, level3, level3_launch, level4};
use crate::dispatch::{Entry, Facts, Layout, Op, Picked, Problem, Registry};
use crate::without;

/// q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D)
pub type RunAttention = fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>;

/// All kernels for full attention, this level's first. A kernel for another GPU is one more entry.
pub static REGISTRY: Registry<RunAttention> = Registry {
    entries: &[
        Entry {
            name: tile_wgmma::KERNEL,
            can: |p, facts| tile_wgmma::can(facts, p.dtype, p.k),
            run: tile_wgmma::attention,
        },
        Entry {
            name: tile_tf32x3::KERNEL,
            can: |p, facts| tile_tf32x3::can(facts, p.dtype, p.k),
            run: tile_tf32x3::attention,
        },
        Entry {
            name: "attention_level4",
            can: can_level4,
            run: level4::attention,
        },
        Entry {
            name: "attention_level3",
            can: can_level3,
            run: level3::attention,
        },
    ],
};

fn can_level4(p: &Problem, facts: &Facts) -> bool {
    let fits = !facts.is_gpu() || p.k <= 128;
    fits && facts.computes_by_mma(p.dtype)
}

fn can_level3(p: &Problem, facts: &Facts) -> bool {
    let fits = !facts.is_gpu() || p.n <= level3_launch::most_keys(p.k);
    fits && facts.computes(p.dtype)
}

/// softmax(q·kᵀ/√D)·v: q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D). Tokens and sequences may be strided.
///
/// # Errors
/// When shapes, strides of k and v, or devices do not agree, operands are not all f32 or all bf16, the heads and
/// channels of one are not contiguous, H is no multiple of Hkv, or no kernel can.
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    Ok(attention_with_info(q, k, v)?.0)
}

/// [`attention`], with the entry that ran and why.
///
/// # Errors
/// When shapes, strides, dtypes or devices do not agree, or no kernel can.
pub fn attention_with_info(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
) -> Result<(Tensor, Picked<'static, RunAttention>)> {
    let picked = REGISTRY.pick(&problem(q, k)?, Facts::of(q.device())?)?;
    let _span = picked.span();
    Ok(((picked.entry.run)(q, k, v)?, picked))
}

/// The registry's problem: a matmul of queries and keys for each head.
fn problem(q: &Tensor, k: &Tensor) -> Result<Problem> {
    let (batch, queries, heads, head_dim) = q.dims4()?;
    Ok(Problem {
        op: Op::Attention,
        batch: batch * heads,
        m: queries,
        n: k.dim(1)?,
        k: head_dim,
        dtype: q.dtype(),
        layout: [Layout::Rows; 2],
    })
}

/// A kernel of this level for prompts, on tensor cores.
struct PromptKernel {
    name: &'static str,
    can: fn(&Facts, DType, usize) -> bool,
    launch: fn(&Params) -> Result<Tensor>,
}

const PROMPT_KERNELS: [PromptKernel; 2] = [
    PromptKernel {
        name: tile_wgmma::KERNEL,
        can: tile_wgmma::can,
        launch: tile_wgmma::launch,
    },
    PromptKernel {
        name: tile_tf32x3::KERNEL,
        can: tile_tf32x3::can,
        launch: tile_tf32x3::launch,
    },
];

/// softmax(q·kᵀ/√D)·v of a prompt, over the keys `0..=position + t` of the cache: q (B, T, H, D) → (B, T, H·D)
///
/// In bf16 on a Hopper GPU and in f32 on tensor cores this level's kernels compute it, otherwise level 4; a span says
/// which.
///
/// # Errors
/// When q and the cache do not agree in shape, dtype or device, q is not contiguous, H is no multiple of Hkv, the
/// cache has fewer than position + T positions, or, on a GPU, D is above 128, or there are more than 4 queries in bf16 and
/// the compute capability is below 8.0.
pub fn causal_attention(q: &Tensor, cache: &super::Cache, position: usize) -> Result<Tensor> {
    let (_, tokens, _, d) = q.dims4()?;
    let (facts, dtype) = (Facts::of(q.device())?, q.dtype());
    let why = || format!("{tokens} tokens in {} of D = {d}", dtype.as_str());
    let can = |kernel: &&PromptKernel| {
        let may_run = without::allows(kernel.name) && (kernel.can)(facts, dtype, d);
        tokens > level4::MAX_DECODE_QUERIES && may_run
    };
    if let Some(kernel) = PROMPT_KERNELS.iter().find(can) {
        let params = Params::causal(kernel.name, q, cache, position)?;
        if params.is_aligned() {
            let _span = trace::span_because(kernel.name, why);
            return (kernel.launch)(&params);
        }
    }
    let _span = trace::span_because("causal_attention_level4", why);
    level4::causal_attention(q, cache, position)
}

/// [`causal_attention`] at the device's position: softmax(q·kᵀ/√D)·v over the keys up to each query's own,
/// q (B, T, H, D), T up to 4, → (B, T, H·D). On a GPU, which [`Cache::on_device`] ensures.
///
/// # Errors
/// When shapes, dtypes or devices do not agree.
pub fn causal_attention_step(q: &Tensor, cache: &PositionedCache) -> Result<Tensor> {
    const KERNEL: &str = "causal_attention_level5";
    let _span = trace::span(KERNEL);
    let of = |q| Params::causal(KERNEL, q, cache.inner, cache.host_position);
    let params = of(q)?;
    if params.is_aligned() {
        return decode::launch(&params, cache);
    }
    // The cache is 16-byte aligned, and so is a copy of q.
    decode::launch(&of(&q.force_contiguous()?)?, cache)
}
