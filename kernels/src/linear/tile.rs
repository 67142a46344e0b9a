//! The tiles that the level 4 kernels of products come in, on a GPU.

use candle_core::{DType, Result};

use crate::element::no_kernel;

/// What a block computes, and what it takes.
#[derive(Debug, Clone, Copy)]
pub struct Tile {
    /// Rows of x.
    pub m: usize,
    /// Rows of w.
    pub n: usize,
    /// Threads of a block.
    pub threads: usize,
    /// Dynamic shared memory of a block, in bytes.
    pub smem: usize,
}

/// In the order of the entry points' names: `_64x64`, `_32x32`.
const F32: [Tile; 2] = [Tile::new(64, 64, 0), Tile::new(32, 32, 0)];

/// In the order of the entry points' names: `_128x128`, `_64x64`, `_32x64`. The shared memory holds
/// three steps, of 64, 64 and 128 columns.
const BF16: [Tile; 3] = [
    Tile::new(128, 128, 3 * 64),
    Tile::new(64, 64, 3 * 64),
    Tile::new(32, 64, 3 * 128),
];

/// Blocks with which a tile is worth its size: two for each SM of an H100 or H200. With fewer a
/// smaller tile, which computes less for each byte that it reads, wins by the SMs that it does not
/// leave idle.
const ENOUGH_BLOCKS: usize = 256;

impl Tile {
    /// 128 threads, and shared memory for `columns` columns of bf16 of its rows.
    const fn new(m: usize, n: usize, columns: usize) -> Self {
        Self {
            m,
            n,
            threads: 128,
            smem: 2 * columns * (m + n),
        }
    }

    /// The entry point of `op` in a number format: `linear_f32_level4_64x64`.
    pub fn entry(&self, op: &str, dtype: &str) -> String {
        format!("{op}_{dtype}_level4_{}x{}", self.m, self.n)
    }

    /// Blocks for `m` rows of x and `n` of w.
    pub fn blocks(&self, m: usize, n: usize) -> usize {
        m.div_ceil(self.m) * n.div_ceil(self.n)
    }
}

/// The tiles of a number format, from the largest.
///
/// # Errors
/// When it is neither f32 nor bf16.
pub fn tiles(kernel: &str, dtype: DType) -> Result<&'static [Tile]> {
    match dtype {
        DType::F32 => Ok(&F32),
        DType::BF16 => Ok(&BF16),
        other => Err(no_kernel(kernel, other)),
    }
}

/// The largest of `tiles` that has enough blocks for `m` rows of x and `n` of w, else the smallest:
/// which one it is.
pub fn choose(tiles: &[Tile], m: usize, n: usize) -> usize {
    let enough = |tile: &Tile| tile.blocks(m, n) >= ENOUGH_BLOCKS;
    tiles.iter().position(enough).unwrap_or(tiles.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_product_has_large_tiles_and_a_small_one_small_tiles() {
        for tiles in [&F32[..], &BF16] {
            assert_eq!(choose(tiles, 4096, 4096), 0);
            assert_eq!(choose(tiles, 9, 9), tiles.len() - 1);
        }
    }
}
