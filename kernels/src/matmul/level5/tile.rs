//! Small tiles on a GPU: the launch of `tile.cu`.

use candle_core::{DType, Result, Tensor};

use super::Call;
use crate::dispatch::{Facts, Problem};
use crate::error::mismatch;
use crate::launch::{Launch, MOST_BLOCKS, Module, module};
use crate::output;

static MODULE: Module = module!("matmul/level5/tile", sm_75);

/// A kernel of `tile.cu`: its entry, its tile and its threads. A test compares them with the `.cu` and the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockTile {
    /// Entry.
    pub entry: &'static str,
    /// BM: rows of C.
    m: usize,
    /// BN: columns of C.
    n: usize,
    /// THREADS of one matrix.
    threads: usize,
    /// MATRICES of a block.
    matrices: usize,
}

impl BlockTile {
    const fn new(
        entry: &'static str,
        (m, n): (usize, usize),
        threads: usize,
        matrices: usize,
    ) -> Self {
        Self {
            entry,
            m,
            n,
            threads,
            matrices,
        }
    }

    /// Computes a call on a GPU: (…, M, N).
    pub(super) fn launch(self, call: &Call) -> Result<Tensor> {
        let Problem { batch, m, n, k, .. } = call.problem;
        let c = output::tensor(call.dims(), DType::F32, call.a.device())?;
        if c.elem_count() == 0 {
            return Ok(c);
        }
        let mut launch = Launch::new(&MODULE, self.entry)
            .grid(
                n.div_ceil(self.n),
                m.div_ceil(self.m),
                batch.div_ceil(self.matrices),
            )
            .block(self.threads, self.matrices, 1)
            .view(call.a)
            .view(call.b)
            .read_or_null(call.bias)
            .write(&c);
        for size in [batch, m, n, k] {
            launch = launch.u32(size);
        }
        for view in call.views {
            if view.extent() > u32::MAX as usize {
                let found = format!("{} elements", view.extent());
                return Err(mismatch(self.entry, "matrices below 2³² elements", found));
            }
            launch = launch.u32(view.batch).u32(view.row).u32(view.column);
        }
        launch.launch()?;
        Ok(c)
    }
}

/// All tiles of `tile.cu`. The first seven are for a single matrix, too.
pub(crate) const TILES: [BlockTile; 9] = [
    BlockTile::new("matmul_f32_level5_16x16_k32", (16, 16), 256, 1),
    BlockTile::new("matmul_f32_level5_16x16_k64", (16, 16), 256, 1),
    BlockTile::new("matmul_f32_level5_16x16_k128", (16, 16), 256, 1),
    BlockTile::new("matmul_f32_level5_16x16_k256", (16, 16), 512, 1),
    BlockTile::new("matmul_f32_level5_32x16_k128", (32, 16), 512, 1),
    BlockTile::new("matmul_f32_level5_32x32_k64", (32, 32), 256, 1),
    BlockTile::new("matmul_f32_level5_32x32_k32", (32, 32), 64, 1),
    BlockTile::new("matmul_f32_level5_64x64_k16", (64, 64), 128, 1),
    BlockTile::new("matmul_f32_level5_warp_16x16", (16, 16), 32, 4),
];

/// Where a tile of `tile.cu` can run.
pub(crate) fn can(p: &Problem, facts: &Facts) -> bool {
    p.dtype == DType::F32
        && facts.at_least((7, 5))
        && p.m.div_ceil(16) <= MOST_BLOCKS[1] as usize
        && p.batch <= MOST_BLOCKS[2] as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::tile::tests::template_of;
    use crate::testing::directive;

    #[test]
    fn tiles_are_those_of_the_kernel() {
        for tile in TILES {
            // Small<BM, BN, BK, TM, TN, SLICES, MATRICES = 1>
            let template = template_of(include_str!("tile.cu"), tile.entry);
            let number = |i: usize| template.get(i).map_or(1, |n| n.parse().expect("a number"));
            let found = [tile.m, tile.n, tile.matrices];
            assert_eq!(found, [1, 2, 7].map(number), "{}", tile.entry);
            let threads = directive(MODULE.texts()[0], tile.entry, ".maxntid");
            assert_eq!(tile.threads * tile.matrices, threads, "{}", tile.entry);
        }
    }
}
