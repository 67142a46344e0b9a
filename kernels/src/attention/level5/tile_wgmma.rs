//! Level 5 in bf16 on a Hopper, for more than a few queries: the launch of `tile_wgmma.cu`.

use candle_core::{DType, Result, Tensor};

use crate::attention::Params;
use crate::attention::params::{Strides, strides};
use crate::dispatch::{Facts, Feature};
use crate::error::unsupported;
use crate::launch::{Heads, Launch, Module, module};
use crate::output;

pub(super) const KERNEL: &str = "attention_level5";

static MODULE: Module = module!("attention/level5/tile_wgmma", sm_90a);

/// A `Tile` of `tile.cuh`.
struct Tile {
    entry: &'static str,
    /// Channels of a head, at the most.
    d: usize,
    /// Consumer warpgroups, each 64 queries.
    groups: usize,
    /// Keys of a tile.
    keys: usize,
    /// On a multiprocessor at once.
    blocks: usize,
}

const TILES: [Tile; 2] = [
    Tile {
        entry: "attention_d64x64_bf16_level5",
        d: 64,
        groups: 1,
        keys: 80,
        blocks: 3,
    },
    Tile {
        entry: "attention_d128x128_bf16_level5",
        d: 128,
        groups: 2,
        keys: 128,
        blocks: 1,
    },
];

/// Tokens of y that a warp writes at once, and places of the ring.
const WRITTEN: usize = 16;
const STAGES: usize = 2;

impl Tile {
    fn of(head_dim: usize) -> Option<&'static Self> {
        TILES.iter().find(|tile| head_dim <= tile.d)
    }

    fn queries(&self) -> usize {
        64 * self.groups
    }

    /// Bytes: q twice, a ring of k and v, and two barriers of 8 bytes for each place.
    fn smem(&self) -> usize {
        let (q, kv) = (2 * self.queries() * self.d, 2 * self.keys * self.d);
        2 * (q + 2 * 8) + 2 * STAGES * (kv + 2 * 8)
    }
}

/// Whether a GPU can, in this format: heads of up to 128 channels in whole chunks of 16 bytes.
pub(in crate::attention) fn can(facts: &Facts, dtype: DType, head_dim: usize) -> bool {
    let hopper = facts.has(Feature::WarpGroupProducts) && !facts.simulated;
    let fits = head_dim.is_multiple_of(8) && Tile::of(head_dim).is_some();
    hopper && dtype == DType::BF16 && fits && head_dim > 0
}

/// softmax(q·kᵀ/√D)·v: q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D). What does not begin at a multiple of 16
/// bytes is copied.
///
/// # Errors
/// When shapes, strides, formats or devices do not agree.
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let _span = trace::span(KERNEL);
    Params::run_whole(KERNEL, q, k, v, run)
}

/// For what [`can`], where all begins at a multiple of 16 bytes.
pub(super) fn run(x: &Params) -> Result<Tensor> {
    let Some(tile) = Tile::of(x.head_dim) else {
        return Err(unsupported(KERNEL, "D ≤ 128", x.head_dim, 3));
    };
    let dims = (x.batch, x.queries, x.heads * x.head_dim);
    let y = output::tensor(dims, x.q.dtype(), x.q.device())?;
    let work_tiles = x.queries.div_ceil(tile.queries()) * x.heads * x.batch;
    let room = Facts::of(x.q.device())?.units * tile.blocks;
    let heads = |tokens, heads, Strides { batch, token, head }: Strides| Heads {
        dims: [x.batch, tokens, heads, x.head_dim],
        steps: [batch, token, head],
    };
    let kv = heads(x.keys, x.kv_heads, x.kv_strides);
    let written = y.reshape((x.batch, x.queries, x.heads, x.head_dim))?;
    let written = heads(x.queries, x.heads, strides(KERNEL, &written)?);
    let launch = Launch::new(&MODULE, tile.entry)
        .grid(work_tiles.min(room), 1, 1)
        .block(128 * (tile.groups + 1), 1, 1)
        .smem(tile.smem())
        .heads(x.q, heads(x.queries, x.heads, x.q_strides), tile.queries())
        .heads(x.k, kv, tile.keys)
        .heads(x.v, kv, tile.keys)
        .heads(&y, written, WRITTEN)
        .u32(x.batch);
    x.sizes(launch).f32(x.scale()).run()?;
    Ok(y)
}
