//! Level 4 on a CPU: explicit SIMD lanes, with loads that serve a register tile.
//!
//! Compared with level 3: each lane is a query, so the softmax of 16 queries runs at once and nothing is
//! summed across lanes. Keys come in blocks, and each element is loaded once for up to 48 queries. The
//! maximum score is updated block by block (the online softmax of "Self-attention does not need O(n²)
//! memory", Rabe and Staats 2021, and of "FlashAttention", Dao et al. 2022), so a block of keys and values is
//! read once, and only its scores are stored. In decode, with one query per head, each lane is a key and then
//! a channel (`decode`). All four matmuls use one register tile (`tile`).
//!
//! The FLOPs are level 2's, minus the half that a causal mask hides; a register tile of 8×3 performs 24
//! multiply-adds per 11 loads. To be faster, use the CPU's matrix instructions in bf16.

mod block;
mod decode;
mod panel;
mod tile;

pub use panel::Stored;
#[cfg(test)]
pub use tile::{Elements, Product};

use candle_core::{Result, Tensor};

use super::{Slots, causal, full};
use crate::attention::Cache;
use panel::Source;

/// Returns softmax(q·kᵀ/√D)·v, where every query attends to every key: q (B, T, H, D), k and v (B, T, Hkv,
/// D), as views or contiguous.
pub fn attention<T: Stored>(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    full(q, k, v, |queries, k, v| {
        block::attend::<T>(queries, Source::Views(k, v))
    })
}

/// Causal attention: query t attends to the keys `0..=position + t` of the cache; q (B, T, H, D).
pub fn causal_attention<T: Stored>(q: &Tensor, cache: &Cache, position: usize) -> Result<Tensor> {
    causal(q, cache, position, |queries, slots: &Slots<T>| {
        let (keys, values) = (&slots.keys, slots.values());
        match queries.tokens {
            1 => decode::attend(queries, keys, values),
            _ => block::attend(queries, Source::Cached(keys, values)),
        }
    })
}
