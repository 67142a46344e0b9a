//! Tiles of queries in bf16 on tensor cores: the launch of `tile_mma.cu`.

use candle_core::{Result, Tensor};

use crate::attention::Params;
use crate::launch::{Launch, Module, module};

static MODULE: Module = module!("attention/level4/tile_mma", sm_80);

/// Queries of a tile, keys of a tile and threads of a block: `BM`, `BN` and `THREADS` of `tile_mma.cu`.
pub(in crate::attention) const QUERIES: usize = 64;
pub(in crate::attention) const KEYS: usize = 64;
pub(in crate::attention) const THREADS: usize = 128;

/// Elements between two rows in shared memory, in addition to D: `PITCH`.
pub(in crate::attention) const PADDING: usize = 8;

/// For heads of up to so many channels, the entry.
pub(in crate::attention) const ENTRIES: [(usize, &str); 5] = [
    (16, "attention_d16x64_bf16_level4"),
    (32, "attention_d32x64_bf16_level4"),
    (64, "attention_d64x64_bf16_level4"),
    (80, "attention_d80x64_bf16_level4"),
    (128, "attention_d128x64_bf16_level4"),
];

/// One block per tile of queries, for heads of up to 128 channels.
pub(super) fn launch(params: &Params, y: &Tensor) -> Result<()> {
    let holds = |(d, _): &&(usize, &str)| params.head_dim <= *d;
    let &(d, entry) = ENTRIES.iter().find(holds).unwrap_or(&ENTRIES[4]);
    // q, and twice k and v: one tile of keys is loaded while the other is multiplied.
    let rows = QUERIES + 2 * 2 * KEYS;
    let launch = Launch::new(&MODULE, entry)
        .grid(params.heads, params.queries.div_ceil(QUERIES), params.batch)
        .block(THREADS, 1, 1)
        .smem(rows * (d + PADDING) * size_of::<u16>());
    params.arguments(launch).write(y).launch()
}
