//! Tiles on Hopper's tensor cores: the launch of `wgmma.cu`.

use candle_core::{Result, Tensor};

use crate::dispatch::Facts;
use crate::launch::{Launch, Module, aligned, module};
use crate::linear::gemm::{Entries, Epilogue, Gemm};
use crate::linear::output_like;

static MODULE: Module = module!("linear/level5/wgmma", sm_90a);

/// The kernels of one tile: 128 rows of x by so many rows of w.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wgmma {
    pub(super) entries: Entries,
    /// BN: rows of w.
    n: usize,
    /// STAGES of the pipeline.
    stages: usize,
}

/// `Wide` and `Narrow` of `wgmma.cu`.
pub(super) const WGMMAS: [Wgmma; 2] = [
    Wgmma {
        entries: Entries([
            "linear_bf16_level5_128x192",
            "linear_gelu_bf16_level5_128x192",
            "linear_swiglu_bf16_level5_128x192",
        ]),
        n: 192,
        stages: 5,
    },
    Wgmma {
        entries: Entries([
            "linear_bf16_level5_128x128",
            "linear_gelu_bf16_level5_128x128",
            "linear_swiglu_bf16_level5_128x128",
        ]),
        n: 128,
        stages: 6,
    },
];

/// BM, BK, CLUSTER and THREADS of `WgmmaTile`: rows of x of a block, columns of a step, blocks of a cluster, threads of
/// a block.
const BM: usize = 128;
const BK: usize = 64;
const CLUSTER: usize = 2;
const THREADS: usize = 3 * 128;

/// Rows and columns of y in the staging buffer of a consumer warp, and the number of these warps.
const STAGED: [usize; 2] = [16, 64];
const CONSUMER_WARPS: usize = 8;

impl Wgmma {
    /// For bf16 whose rows are whole chunks of 16 bytes.
    pub(super) fn launch(self, gemm: &Gemm) -> Result<Tensor> {
        let (m, n, k) = (gemm.shape.m, gemm.shape.n, gemm.shape.k);
        // With a gate, half of a tile's columns are the up-projection's.
        let halves = if gemm.epilogue == Epilogue::SwiGlu {
            2
        } else {
            1
        };
        let tiles = m.div_ceil(CLUSTER * BM) * n.div_ceil(self.n / halves);
        let clusters = tiles.min(Facts::of(gemm.x.device())?.units / CLUSTER);
        let (x, w) = (aligned(gemm.x)?, aligned(gemm.w)?);
        let b = gemm.b.map(aligned).transpose()?;
        let residual = gemm.residual.map(aligned).transpose()?;
        let y = output_like(gemm.x, n)?;
        let mut launch = Launch::new(&MODULE, self.entries.with(gemm.epilogue))
            .grid(CLUSTER * clusters, 1, 1)
            .block(THREADS, 1, 1)
            .smem(self.smem())
            .boxes(&x, BM, BK)
            .boxes(&w, self.n / CLUSTER, BK)
            .boxes(&y, STAGED[0], STAGED[1] / halves)
            .read_or_null(b.as_ref());
        if gemm.epilogue == Epilogue::Bias {
            launch = launch.read_or_null(residual.as_ref());
        }
        launch.u32(m).u32(n).u32(k).launch()?;
        Ok(y)
    }

    /// SHARED_BYTES: the stages, each with two barriers, and the staging buffers.
    fn smem(self) -> usize {
        let step = 2 * BK * (BM + self.n);
        self.stages * (step + 2 * 8) + 2 * CONSUMER_WARPS * STAGED[0] * STAGED[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::tile::tests::template_of;
    use crate::testing::directive;

    #[test]
    fn tiles_are_those_of_the_kernel() {
        let tile = include_str!("wgmma_tile.cuh");
        let sizes =
            "BM = 128, BN = BN_, BK = 64, STAGES = STAGES_, CLUSTER = 2, THREADS = 3 * 128;";
        assert!(tile.contains(sizes), "as the constants above");
        assert!(tile.contains("OUT_BYTES = 16 * 2 * 64, OUT = STAGES * STEP_BYTES;"));
        assert!(tile.contains("FULL = OUT + CONSUMER_WARPS * OUT_BYTES"));
        assert!(tile.contains("EMPTY = FULL + BARRIER_BYTES * STAGES;"));
        assert!(tile.contains("SHARED_BYTES = EMPTY + BARRIER_BYTES * STAGES;"));
        assert!(tile.contains("CONSUMER_WARPS = 8, BARRIER_BYTES = 8;"));
        for wgmma in WGMMAS {
            let expected = ["WgmmaTile", &wgmma.n.to_string(), &wgmma.stages.to_string()];
            for entry in wgmma.entries.0 {
                assert_eq!(
                    template_of(include_str!("wgmma.cu"), entry),
                    expected,
                    "{entry}"
                );
                assert_eq!(
                    directive(MODULE.texts()[0], entry, ".maxntid"),
                    THREADS,
                    "{entry}"
                );
                assert_eq!(
                    directive(MODULE.texts()[0], entry, ".reqnctapercluster"),
                    CLUSTER,
                    "{entry}"
                );
            }
        }
    }
}
