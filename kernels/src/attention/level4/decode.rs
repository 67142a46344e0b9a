//! Few queries: the launches of `decode.cu`, whose keys are split over blocks.

use candle_core::{DType, Result, Tensor};

use crate::attention::Params;
use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("attention/level4/decode", sm_75);

/// Threads of a block: `THREADS` of `decode.cuh`.
pub(in crate::attention) const THREADS: usize = 256;

/// Queries that share a key head and that one block computes: `ROWS` of the entries named x4.
pub(in crate::attention) const ROWS: usize = 4;

/// Entries for one dtype and heads of up to 32, 64 and 128 channels: for one row that reads the same keys, and for up
/// to [`ROWS`].
pub(in crate::attention) type Entries = [[&'static str; 2]; 3];

pub(in crate::attention) const F32: Entries = [
    [
        "attention_decode_d32x1_f32_level4",
        "attention_decode_d32x4_f32_level4",
    ],
    [
        "attention_decode_d64x1_f32_level4",
        "attention_decode_d64x4_f32_level4",
    ],
    [
        "attention_decode_d128x1_f32_level4",
        "attention_decode_d128x4_f32_level4",
    ],
];

pub(in crate::attention) const BF16: Entries = [
    [
        "attention_decode_d32x1_bf16_level4",
        "attention_decode_d32x4_bf16_level4",
    ],
    [
        "attention_decode_d64x1_bf16_level4",
        "attention_decode_d64x4_bf16_level4",
    ],
    [
        "attention_decode_d128x1_bf16_level4",
        "attention_decode_d128x4_bf16_level4",
    ],
];

/// Keys of a split at most, as long as there are fewer than [`TARGET_BLOCKS`] blocks: a longer cache gets more splits.
pub(in crate::attention) const TARGET_KEYS_PER_SPLIT: usize = 256;

/// Blocks from which on a longer cache gets longer splits instead of more of them. 512 are a few for each SM of a large
/// GPU: all of it has work, and each further split is one more part to combine.
pub(in crate::attention) const TARGET_BLOCKS: usize = 512;

/// How the keys of a launch are split over its blocks.
pub(in crate::attention) struct KvSplit<'a> {
    pub splits: usize,
    pub keys_per_split: usize,
    /// Blocks of one split of one sequence: for each key head, its rows [`ROWS`] at a time.
    pub blocks_per_split: usize,
    /// Queries that read the same keys: T·H/Hkv.
    pub rows: usize,
    /// Partial results of the splits, which `combine` reads, (B·T·H, splits, D + 2): Σ p·v, the maximum score and the
    /// sum of exponentials. None where there is one split, because it writes the result itself.
    pub partial: Option<&'a Tensor>,
}

impl KvSplit<'_> {
    /// Returns the entry for this number of rows and for heads of `head_dim` channels.
    pub fn entry(&self, entries: &Entries, head_dim: usize) -> &'static str {
        let d = [32, 64].iter().position(|&d| head_dim <= d).unwrap_or(2);
        entries[d][usize::from(self.rows > 1)]
    }
}

/// Splits the first `keys` keys, calls `launch` to compute the splits, and combines their parts into `y`.
///
/// A launch that is recorded for positions yet to come is split for more keys than it sees now: `keys` ≥ `params.keys`.
pub(in crate::attention) fn launch_split_kv(
    params: &Params,
    y: &Tensor,
    keys: usize,
    launch: impl FnOnce(KvSplit) -> Result<()>,
) -> Result<()> {
    let rows = params.queries * params.heads / params.kv_heads;
    let blocks_per_split = params.kv_heads * rows.div_ceil(ROWS);
    let max_splits = TARGET_BLOCKS.div_ceil((blocks_per_split * params.batch).max(1));
    let splits = keys.div_ceil(TARGET_KEYS_PER_SPLIT).clamp(1, max_splits);
    let shape = (
        params.batch * params.queries * params.heads,
        splits,
        params.head_dim + 2,
    );
    let partial = (splits > 1).then(|| output::tensor(shape, DType::F32, y.device()));
    let partial = partial.transpose()?;
    launch(KvSplit {
        splits,
        keys_per_split: keys.div_ceil(splits),
        blocks_per_split,
        rows,
        partial: partial.as_ref(),
    })?;
    match &partial {
        Some(partial) => combine(partial, y),
        None => Ok(()),
    }
}

/// For up to 128 channels per head, with 16-byte aligned rows of q, k and v.
pub(super) fn launch(params: &Params, y: &Tensor) -> Result<()> {
    let entries = by_dtype("attention_decode", y.dtype(), &F32, &BF16)?;
    launch_split_kv(params, y, params.keys, |split| {
        let launch = Launch::new(&MODULE, split.entry(entries, params.head_dim))
            .grid(split.splits, split.blocks_per_split, params.batch)
            .block(THREADS, 1, 1);
        let launch = params.arguments(launch).write(y).u32(split.keys_per_split);
        launch.write_or_null(split.partial).launch()
    })
}

/// Combines the splits of each row: one block per row of y.
fn combine(partial: &Tensor, y: &Tensor) -> Result<()> {
    let (rows, splits, pitch) = partial.dims3()?;
    let entry = by_dtype(
        "attention_combine_level4",
        y.dtype(),
        "attention_combine_f32_level4",
        "attention_combine_bf16_level4",
    )?;
    Launch::new(&MODULE, entry)
        .grid(rows, 1, 1)
        .block(THREADS, 1, 1)
        .read(partial)
        .write(y)
        .u32(splits)
        .u32(pitch - 2)
        .launch()
}
