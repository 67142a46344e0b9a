//! Tiles of queries in f32: the launch of `tile_f32.cu`.

use candle_core::{Result, Tensor};

use crate::attention::Params;
use crate::launch::{Launch, Module, module};

static MODULE: Module = module!("attention/level4/tile_f32", sm_75);

/// A `QkTile<D, TM>` of `tile_f32.cu`, and the entry that has it.
pub(in crate::attention) struct TileShape {
    pub entry: &'static str,
    /// Channels of a head at most.
    pub d: usize,
    /// Queries of a thread.
    pub tm: usize,
}

/// For each D the tile with 4 queries per thread, then the one with 1.
pub(in crate::attention) const TILES: [[TileShape; 2]; 5] = [
    [
        tile(16, 4, "attention_d16x64_f32_level4"),
        tile(16, 1, "attention_d16x16_f32_level4"),
    ],
    [
        tile(32, 4, "attention_d32x64_f32_level4"),
        tile(32, 1, "attention_d32x16_f32_level4"),
    ],
    [
        tile(64, 4, "attention_d64x64_f32_level4"),
        tile(64, 1, "attention_d64x16_f32_level4"),
    ],
    [
        tile(80, 4, "attention_d80x64_f32_level4"),
        tile(80, 1, "attention_d80x16_f32_level4"),
    ],
    [
        tile(128, 4, "attention_d128x32_f32_level4"),
        tile(128, 1, "attention_d128x16_f32_level4"),
    ],
];

const fn tile(d: usize, tm: usize, entry: &'static str) -> TileShape {
    TileShape { entry, d, tm }
}

/// Blocks of 64 queries below which part of a GPU would have no block: 16 queries per block then make four times as
/// many.
const MIN_BLOCKS: usize = 64;

impl TileShape {
    /// The narrowest tile for heads of `head_dim` channels, of 16 queries where `blocks` blocks of 64 are too few.
    fn of(head_dim: usize, blocks: usize) -> &'static Self {
        let holds = |[tile, _]: &&[Self; 2]| head_dim <= tile.d;
        let [large, small] = TILES.iter().find(holds).unwrap_or(&TILES[4]);
        if blocks < MIN_BLOCKS { small } else { large }
    }

    fn warps(&self) -> usize {
        if self.d <= 80 || self.tm == 1 { 4 } else { 2 }
    }

    pub fn threads(&self) -> usize {
        32 * self.warps()
    }

    /// Queries of a tile: `BM`.
    pub fn queries(&self) -> usize {
        4 * self.tm * self.warps()
    }

    /// Keys of a tile: `BN`.
    pub fn keys(&self) -> usize {
        if self.d <= 80 { 64 } else { 32 }
    }

    /// Bytes of shared memory: q, then the larger of k and p, which takes its place, then v.
    fn smem(&self) -> usize {
        let (queries, keys) = (self.queries(), self.keys());
        let (pitch, p_pitch) = (self.d + 4, keys + 8);
        let floats = queries * pitch + (keys * pitch).max(queries * p_pitch) + keys * self.d;
        floats * size_of::<f32>()
    }
}

/// One block per tile of queries, for heads of up to 128 channels.
pub(super) fn launch(params: &Params, y: &Tensor) -> Result<()> {
    let blocks = params.queries.div_ceil(64) * params.heads * params.batch;
    let tile = TileShape::of(params.head_dim, blocks);
    let launch = Launch::new(&MODULE, tile.entry)
        .grid(
            params.heads,
            params.queries.div_ceil(tile.queries()),
            params.batch,
        )
        .block(tile.threads(), 1, 1)
        .smem(tile.smem());
    params.arguments(launch).write(y).launch()
}
