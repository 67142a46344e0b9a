//! Level 5: full attention, by the kernel that was the fastest for this shape on this device.

use candle_core::{Result, Tensor};

use super::{tile_tf32x3, tile_wgmma};
use crate::attention::{level3, level4};
use crate::dispatch::{Entry, Facts, Feature, Layout, Op, Picked, Problem, Registry};

/// q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D)
pub type Kernel = fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>;

/// All that compute full attention, those of this level first. A kernel for another GPU is an entry more.
pub static REGISTRY: Registry<Kernel> = Registry {
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
    fits && facts.computes(p.dtype, facts.has(Feature::Bf16))
}

fn can_level3(p: &Problem, facts: &Facts) -> bool {
    let fits = !facts.is_gpu() || p.n <= level3::most_keys(p.k);
    fits && facts.computes(p.dtype, facts.at_least((7, 5)))
}

/// softmax(q·kᵀ/√D)·v: q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D)
///
/// # Errors
/// When shapes, strides, formats or devices do not agree, or no kernel can.
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    Ok(attention_with_info(q, k, v)?.0)
}

/// [`attention`], with the entry that ran and why.
///
/// # Errors
/// When shapes, strides, formats or devices do not agree, or no kernel can.
pub fn attention_with_info(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
) -> Result<(Tensor, Picked<'static, Kernel>)> {
    let picked = REGISTRY.pick(&problem(q, k)?, Facts::of(q.device())?)?;
    let _span = picked.span();
    Ok(((picked.entry.run)(q, k, v)?, picked))
}

/// What the registry is asked: a product for each head, its queries, keys and channels.
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
