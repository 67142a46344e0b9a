//! Level 5 in bf16 on a Hopper, for more than a few queries: the launch of `tile_wgmma.cu`.

use candle_core::{DType, Result, Tensor};

use crate::attention::Params;
use crate::attention::params::{Strides, strides};
use crate::dispatch::{Facts, Feature};
use crate::error::unsupported;
use crate::launch::{HeadLayout, Launch, Module, module};
use crate::output;

/// Name of `tile_wgmma.cu` in the registry, in tables and in traces.
pub(super) const KERNEL: &str = "attention_level5";

static MODULE: Module = module!("attention/level5/tile_wgmma", sm_90a);

/// A `HopperTile` of `tile.cuh`.
pub(in crate::attention) struct TileShape {
    pub entry: &'static str,
    /// Channels of a head at most.
    pub d: usize,
    /// Consumer warpgroups, each 64 queries.
    pub groups: usize,
    /// Keys of a tile.
    pub keys: usize,
    /// Blocks on an SM at once.
    pub blocks: usize,
}

pub(in crate::attention) const TILES: [TileShape; 2] = [
    TileShape {
        entry: "attention_d64x64_bf16_level5",
        d: 64,
        groups: 1,
        keys: 80,
        blocks: 3,
    },
    TileShape {
        entry: "attention_d128x128_bf16_level5",
        d: 128,
        groups: 2,
        keys: 128,
        blocks: 1,
    },
];

/// Tokens of y that a warp writes at once.
const WRITTEN: usize = 16;

/// Stages of k and v in shared memory: `STAGES` of `tile.cuh`.
pub(in crate::attention) const STAGES: usize = 2;

impl TileShape {
    fn of(head_dim: usize) -> Option<&'static Self> {
        TILES.iter().find(|tile| head_dim <= tile.d)
    }

    fn queries(&self) -> usize {
        64 * self.groups
    }

    /// The consumer warpgroups and the producer.
    pub fn threads(&self) -> usize {
        128 * (self.groups + 1)
    }

    /// Bytes of shared memory: two stages of q, [`STAGES`] of k and v, and two barriers of 8 bytes for each stage.
    fn smem(&self) -> usize {
        let (q, kv) = (2 * self.queries() * self.d, 2 * self.keys * self.d);
        2 * (q + 2 * 8) + 2 * STAGES * (kv + 2 * 8)
    }
}

/// Whether a GPU can, in this dtype: heads of up to 128 channels in whole chunks of 16 bytes.
pub(in crate::attention) fn can(facts: &Facts, dtype: DType, head_dim: usize) -> bool {
    let hopper = facts.has(Feature::Wgmma) && !facts.simulated;
    let fits = head_dim.is_multiple_of(8) && TileShape::of(head_dim).is_some();
    hopper && dtype == DType::BF16 && fits && head_dim > 0
}

/// softmax(q·kᵀ/√D)·v: q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D). Tensors that are not
/// 16-byte aligned are copied.
///
/// # Errors
/// When shapes, strides, dtypes or devices do not agree.
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let _span = trace::span(KERNEL);
    Params::run_aligned(KERNEL, q, k, v, launch)
}

/// For problems that [`can`] accepts, with 16-byte aligned rows of q, k and v.
pub(super) fn launch(params: &Params) -> Result<Tensor> {
    let Some(tile) = TileShape::of(params.head_dim) else {
        return Err(unsupported(KERNEL, "D ≤ 128", params.head_dim, 3));
    };
    let dims = (params.batch, params.queries, params.heads * params.head_dim);
    let y = output::tensor(dims, params.q.dtype(), params.q.device())?;
    let work_tiles = params.queries.div_ceil(tile.queries()) * params.heads * params.batch;
    let at_once = Facts::of(params.q.device())?.units * tile.blocks;
    let heads = |tokens, heads, Strides { batch, token, head }: Strides| HeadLayout {
        dims: [params.batch, tokens, heads, params.head_dim],
        steps: [batch, token, head],
    };
    let kv = heads(params.keys, params.kv_heads, params.kv_strides);
    let written = y.reshape((params.batch, params.queries, params.heads, params.head_dim))?;
    let written = heads(params.queries, params.heads, strides(KERNEL, &written)?);
    let launch = Launch::new(&MODULE, tile.entry)
        .grid(work_tiles.min(at_once), 1, 1)
        .block(tile.threads(), 1, 1)
        .smem(tile.smem())
        .heads(
            params.q,
            heads(params.queries, params.heads, params.q_strides),
            tile.queries(),
        )
        .heads(params.k, kv, tile.keys)
        .heads(params.v, kv, tile.keys)
        .heads(&y, written, WRITTEN)
        .u32(params.batch);
    params.sizes(launch).f32(params.scale()).launch()?;
    Ok(y)
}
