//! The tiles of the GPU kernels that compute one tile of y per block.

use candle_core::{DType, Result};

use crate::element::no_kernel;

/// Sizes of a tile, and resources of the block that computes it: an `FmaTile` or an `MmaTile` of the `.cu`.
///
/// Tests compare them with the text of the `.cu` and with its PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileShape {
    /// BM: rows of x.
    pub m: usize,
    /// BN: rows of w.
    pub n: usize,
    /// THREADS of a block.
    pub threads: usize,
    /// Dynamic shared memory of a block, in bytes.
    pub smem: usize,
}

/// Level 4 in f32, from the largest: `Large` and `Small` of `tile_f32.cu`, whose shared memory is static.
pub const TILES_F32: [TileShape; 2] = [
    TileShape::new((64, 64), 128, 0),
    TileShape::new((32, 32), 128, 0),
];

/// Level 4 in bf16, from the largest: `Large`, `Medium` and `Small` of `mma.cu`.
pub const TILES_BF16: [TileShape; 3] = [
    TileShape::new((128, 128), 128, 3 * 64 * 2),
    TileShape::new((64, 64), 128, 3 * 64 * 2),
    TileShape::new((32, 64), 128, 3 * 128 * 2),
];

/// Blocks from which on a tile is worth its size: about two for each of the 132 SMs of an H100 or H200. With fewer,
/// a smaller tile is faster: it computes less for each byte that it reads, but leaves fewer SMs idle.
const ENOUGH_BLOCKS: usize = 256;

impl TileShape {
    /// `row_bytes`: dynamic shared memory for each row of x and of w, STAGES·BK elements of it.
    pub(super) const fn new((m, n): (usize, usize), threads: usize, row_bytes: usize) -> Self {
        Self {
            m,
            n,
            threads,
            smem: row_bytes * (m + n),
        }
    }

    /// Number of blocks for `m` rows of x and `n` rows of w.
    pub fn blocks(&self, m: usize, n: usize) -> usize {
        m.div_ceil(self.m) * n.div_ceil(self.n)
    }
}

/// The tiles of level 4 for a dtype, from the largest.
///
/// # Errors
/// When it is neither f32 nor bf16.
pub fn tiles(kernel: &str, dtype: DType) -> Result<&'static [TileShape]> {
    match dtype {
        DType::F32 => Ok(&TILES_F32),
        DType::BF16 => Ok(&TILES_BF16),
        other => Err(no_kernel(kernel, other)),
    }
}

/// The index of the largest of `tiles` that has enough blocks for `m` rows of x and `n` rows of w, else of the smallest.
pub fn choose(tiles: &[TileShape], m: usize, n: usize) -> usize {
    let enough = |tile: &TileShape| tile.blocks(m, n) >= ENOUGH_BLOCKS;
    tiles.iter().position(enough).unwrap_or(tiles.len() - 1)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::launch::Module;
    use crate::testing::directive;

    #[test]
    fn a_large_gemm_has_large_tiles_and_a_small_one_small_tiles() {
        for tiles in [&TILES_F32[..], &TILES_BF16] {
            assert_eq!(choose(tiles, 4096, 4096), 0);
            assert_eq!(choose(tiles, 9, 9), tiles.len() - 1);
        }
    }

    /// The template arguments of the tile of an entry in the text of a `.cu`: from `LINEAR(entry, Large, 2)` and
    /// `using Large = MmaTile<MmaBf16, 128, 128, 64, 3, 2, 2>;` the texts `MmaTile`, `MmaBf16`, `128` ….
    pub(crate) fn template_of<'a>(cu: &'a str, entry: &str) -> Vec<&'a str> {
        let call = format!("({entry}, ");
        let (_, after) = cu.split_once(&call).expect("the entry's line in the .cu");
        let end = after.find([',', ')']).expect("arguments");
        let tile = format!("using {} = ", &after[..end]);
        let (_, after) = cu.split_once(&tile).expect("the tile's line in the .cu");
        let (template, _) = after.split_once(">;").expect("a template");
        template.split(['<', ',']).map(str::trim).collect()
    }

    /// The tile of `entry` has these sizes in the `.cu` and these threads in the PTX.
    pub(crate) fn assert_as_compiled(tile: TileShape, cu: &str, module: &Module, entry: &str) {
        let template = template_of(cu, entry);
        let number = |i: usize| template[i].parse::<usize>().expect("a number");
        let (sizes, smem) = match template[0] {
            // FmaTile<BM, BN, BK, TM, SLICES>
            "FmaTile" => ((number(1), number(2)), 0),
            // MmaTile<MmaOp, BM, BN, BK, STAGES, …>
            "MmaTile" => {
                let (m, n, k, stages) = (number(2), number(3), number(4), number(5));
                let bytes = if template[1] == "MmaBf16" { 2 } else { 4 };
                ((m, n), stages * bytes * k * (m + n))
            }
            other => panic!("{entry}: a {other}"),
        };
        assert_eq!((tile.m, tile.n), sizes, "{entry}: BM and BN");
        assert_eq!(tile.smem, smem, "{entry}: shared memory");
        let threads = directive(module.texts()[0], entry, ".maxntid");
        assert_eq!(tile.threads, threads, "{entry}: threads");
    }
}
