//! Tiles on tensor cores: the launch of `level5_sm80.cu`.

use candle_core::{DType, Result, Tensor};

use crate::launch::{Launch, Module, module};
use crate::linear::level4::{Op, Product};

static MODULE: Module = module!("linear_level5_sm80", "../level5_sm80.ptx");

/// What a block computes, and what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mma {
    /// In the registry.
    pub name: &'static str,
    /// Of x, w and y.
    pub dtype: DType,
    /// For [`Op::Linear`], [`Op::Gelu`] and [`Op::SwiGlu`].
    entries: [&'static str; 3],
    /// Rows of x and of w.
    m: usize,
    n: usize,
    threads: usize,
    /// Dynamic shared memory of a block, in bytes.
    smem: usize,
}

/// `mma!("tf32x3_level5_128x64", …)`: the kernels whose names end so.
macro_rules! mma {
    ($kernels:literal, $dtype:ident, $m:literal x $n:literal, $threads:literal, $columns:expr) => {
        Mma {
            name: concat!("linear_", $kernels),
            dtype: DType::$dtype,
            entries: [
                concat!("linear_", $kernels),
                concat!("linear_gelu_", $kernels),
                concat!("linear_swiglu_", $kernels),
            ],
            m: $m,
            n: $n,
            threads: $threads,
            smem: bytes(DType::$dtype) * $columns * ($m + $n),
        }
    };
}

/// Of an element.
const fn bytes(dtype: DType) -> usize {
    match dtype {
        DType::F32 => 4,
        _ => 2,
    }
}

/// Rows and columns of a tile, threads, columns of all steps of its ring: as in `level5_sm80.cu`.
pub(super) const MMAS: [Mma; 6] = [
    mma!("tf32x3_level5_128x64", F32, 128 x 64, 128, 4 * 32),
    mma!("tf32x3_level5_64x32", F32, 64 x 32, 128, 3 * 64),
    mma!("tf32x3_level5_32x32_k64", F32, 32 x 32, 128, 4 * 64),
    mma!("tf32x3_level5_32x32_k128", F32, 32 x 32, 256, 3 * 128),
    mma!("bf16_level5_32x32_k128", BF16, 32 x 32, 128, 4 * 128),
    mma!("bf16_level5_32x32_k256", BF16, 32 x 32, 256, 3 * 256),
];

impl Mma {
    pub(super) fn run(self, product: &Product) -> Result<Tensor> {
        let (m, n) = (product.shape.m, product.sums());
        let entry = match product.op {
            Op::Linear => self.entries[0],
            Op::Gelu => self.entries[1],
            Op::SwiGlu => self.entries[2],
        };
        let launch = Launch::new(&MODULE, entry)
            .grid(m.div_ceil(self.m) * n.div_ceil(self.n), 1, 1)
            .block(self.threads, 1, 1)
            .smem(self.smem);
        product.launch(launch)
    }
}
