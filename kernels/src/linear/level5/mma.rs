//! Tiles on tensor cores: the launch of `mma.cu`.

use candle_core::{DType, Result, Tensor};

use super::entries::Entries;
use crate::launch::{Launch, Module, module};
use crate::linear::level4::Product;

static MODULE: Module = module!("linear/level5/mma", sm_80);

/// What a block computes, and what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mma {
    pub(super) entries: Entries,
    /// Of x, w and y.
    pub dtype: DType,
    /// Rows of x and of w.
    m: usize,
    n: usize,
    threads: usize,
    /// Dynamic shared memory of a block, in bytes.
    smem: usize,
}

const fn mma(
    entries: Entries,
    dtype: DType,
    (m, n): (usize, usize),
    threads: usize,
    columns: usize,
) -> Mma {
    Mma {
        entries,
        dtype,
        m,
        n,
        threads,
        smem: bytes(dtype) * columns * (m + n),
    }
}

/// Of an element.
const fn bytes(dtype: DType) -> usize {
    match dtype {
        DType::F32 => 4,
        _ => 2,
    }
}

/// Rows and columns of a tile, threads, columns of all steps of its ring: as in `mma.cu`.
pub(super) const MMAS: [Mma; 6] = [
    mma(
        Entries([
            "linear_tf32x3_level5_128x64",
            "linear_gelu_tf32x3_level5_128x64",
            "linear_swiglu_tf32x3_level5_128x64",
        ]),
        DType::F32,
        (128, 64),
        128,
        4 * 32,
    ),
    mma(
        Entries([
            "linear_tf32x3_level5_64x32",
            "linear_gelu_tf32x3_level5_64x32",
            "linear_swiglu_tf32x3_level5_64x32",
        ]),
        DType::F32,
        (64, 32),
        128,
        3 * 64,
    ),
    mma(
        Entries([
            "linear_tf32x3_level5_32x32_k64",
            "linear_gelu_tf32x3_level5_32x32_k64",
            "linear_swiglu_tf32x3_level5_32x32_k64",
        ]),
        DType::F32,
        (32, 32),
        128,
        4 * 64,
    ),
    mma(
        Entries([
            "linear_tf32x3_level5_32x32_k128",
            "linear_gelu_tf32x3_level5_32x32_k128",
            "linear_swiglu_tf32x3_level5_32x32_k128",
        ]),
        DType::F32,
        (32, 32),
        256,
        3 * 128,
    ),
    mma(
        Entries([
            "linear_bf16_level5_32x32_k128",
            "linear_gelu_bf16_level5_32x32_k128",
            "linear_swiglu_bf16_level5_32x32_k128",
        ]),
        DType::BF16,
        (32, 32),
        128,
        4 * 128,
    ),
    mma(
        Entries([
            "linear_bf16_level5_32x32_k256",
            "linear_gelu_bf16_level5_32x32_k256",
            "linear_swiglu_bf16_level5_32x32_k256",
        ]),
        DType::BF16,
        (32, 32),
        256,
        3 * 256,
    ),
];

impl Mma {
    pub(super) fn run(self, product: &Product) -> Result<Tensor> {
        let (m, n) = (product.shape.m, product.sums());
        let launch = Launch::new(&MODULE, self.entries.of(product.op))
            .grid(m.div_ceil(self.m) * n.div_ceil(self.n), 1, 1)
            .block(self.threads, 1, 1)
            .smem(self.smem);
        product.launch(launch)
    }
}
