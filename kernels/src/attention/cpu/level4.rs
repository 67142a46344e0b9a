//! Level 4 on a CPU: explicit lanes, and each load serves a register tile.
//!
//! Against level 3: a lane is a query, so that the softmax of 16 queries goes on at once and nothing is
//! ever summed across lanes; keys come in blocks, of which each element is loaded once for up to 48
//! queries; and the greatest score is found on the way (the online softmax of "Self-attention does not need
//! O(n²) memory", Rabe and Staats 2021, and of "FlashAttention", Dao et al. 2022), so that a block of keys
//! and values is read once, and scores of one block are all there is of them. In decode, with one query a
//! head, a lane is a key and then a channel (`decode`). All four products are one register tile (`tile`).
//!
//! The FLOPs are level 2's, less the half that a causal mask hides; of them a register tile of 8×3 asks
//! 24 for 11 loads. To be faster, bf16 products in the CPU's own matrix instructions.

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

/// softmax(q·kᵀ/√D)·v, every query sees every key: q (B, T, H, D), k and v (B, T, Hkv, D), views or not.
pub fn attention<T: Stored>(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    full(q, k, v, |queries, k, v| {
        block::attend::<T>(queries, Source::Views(k, v))
    })
}

/// Query t sees the keys `0..=position + t` of the cache: q (B, T, H, D).
pub fn causal_attention<T: Stored>(q: &Tensor, cache: &Cache, position: usize) -> Result<Tensor> {
    causal(q, cache, position, |queries, slots: &Slots<T>| {
        let (keys, values) = (&slots.keys, slots.values());
        match queries.tokens {
            1 => decode::attend(queries, keys, values),
            _ => block::attend(queries, Source::Cached(keys, values)),
        }
    })
}
