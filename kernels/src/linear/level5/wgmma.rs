//! Tiles on Hopper's tensor cores: the launch of `wgmma.cu`.

use candle_core::{Result, Tensor};

use super::entries::Entries;
use crate::dispatch::Facts;
use crate::launch::{Launch, Module, aligned_to_16_bytes, module};
use crate::linear::level4::{Op, Product};
use crate::linear::output_like;

static MODULE: Module = module!("linear/level5/wgmma", sm_90a);

/// What a block computes: 128 rows of x by so many of w.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wgmma {
    pub(super) entries: Entries,
    /// Rows of w.
    n: usize,
    /// Steps of the ring.
    stages: usize,
}

/// As in `wgmma.cu`.
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

/// Rows of x of a block, columns of a step, blocks of a cluster, threads of a block.
const ROWS: usize = 128;
const STEP: usize = 64;
const CLUSTER: usize = 2;
const THREADS: usize = 384;

/// Rows and columns of y that a warp writes at once, and the warps that do.
const WRITTEN: [usize; 2] = [16, 64];
const WRITERS: usize = 8;

impl Wgmma {
    /// Of bf16 in whole chunks of 16 bytes.
    pub(super) fn run(self, product: &Product) -> Result<Tensor> {
        let (m, n, k) = (product.shape.m, product.shape.n, product.shape.k);
        // With a gate, half of a tile's columns are the up-projection's.
        let halves = if product.op == Op::SwiGlu { 2 } else { 1 };
        let tiles = m.div_ceil(CLUSTER * ROWS) * n.div_ceil(self.n / halves);
        let clusters = tiles.min(Facts::of(product.x.device())?.units / CLUSTER);
        let (x, w) = (
            aligned_to_16_bytes(product.x)?,
            aligned_to_16_bytes(product.w)?,
        );
        let b = product.b.map(aligned_to_16_bytes).transpose()?;
        let residual = product.residual.map(aligned_to_16_bytes).transpose()?;
        let y = output_like(product.x, n)?;
        let mut launch = Launch::new(&MODULE, self.entries.of(product.op))
            .grid(CLUSTER * clusters, 1, 1)
            .block(THREADS, 1, 1)
            .smem(self.smem())
            .boxes(&x, ROWS, STEP)
            .boxes(&w, self.n / CLUSTER, STEP)
            .boxes(&y, WRITTEN[0], WRITTEN[1] / halves)
            .read_or_null(b.as_ref());
        if product.op == Op::Linear {
            launch = launch.read_or_null(residual.as_ref());
        }
        launch.u32(m).u32(n).u32(k).run()?;
        Ok(y)
    }

    /// Bytes: the ring, what the warps write, two barriers a step of the ring.
    fn smem(self) -> usize {
        let step = 2 * STEP * (ROWS + self.n);
        self.stages * (step + 2 * 8) + 2 * WRITERS * WRITTEN[0] * WRITTEN[1]
    }
}
