//! A product of a few rows, K split over the warps of a block: the launch of `level5_decode.cu`.

use candle_core::{DType, Result, Tensor};

use crate::element::no_kernel;
use crate::launch::{Launch, Module, module};
use crate::linear::level4::{Op, Product};

static MODULE: Module = module!("linear_level5_decode", "../level5_decode.ptx");

/// Rows of x at the most.
pub const ROWS: usize = 4;

/// Threads of a block.
const THREADS: usize = 128;

/// What a block computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Columns of y: 1 or 4.
    pub columns: usize,
}

/// `linear_f32_level5_rows4_1`: up to 1 or 4 rows, 1 or 4 columns a block.
macro_rules! entry {
    ($op:literal, $dtype:expr, $m:expr, $columns:expr) => {
        match ($dtype, $m, $columns) {
            (DType::F32, ..=1, 1) => Ok(concat!($op, "_f32_level5_row_1")),
            (DType::F32, ..=1, _) => Ok(concat!($op, "_f32_level5_row_4")),
            (DType::F32, _, 1) => Ok(concat!($op, "_f32_level5_rows4_1")),
            (DType::F32, _, _) => Ok(concat!($op, "_f32_level5_rows4_4")),
            (DType::BF16, ..=1, 1) => Ok(concat!($op, "_bf16_level5_row_1")),
            (DType::BF16, ..=1, _) => Ok(concat!($op, "_bf16_level5_row_4")),
            (DType::BF16, _, 1) => Ok(concat!($op, "_bf16_level5_rows4_1")),
            (DType::BF16, _, _) => Ok(concat!($op, "_bf16_level5_rows4_4")),
            (other, _, _) => Err(no_kernel(concat!($op, "_level5"), other)),
        }
    };
}

impl Split {
    /// For up to [`ROWS`] rows of x.
    pub(super) fn run(self, product: &Product) -> Result<Tensor> {
        let (m, n, dtype) = (product.shape.m, product.shape.n, product.x.dtype());
        let entry = match product.op {
            Op::Linear => entry!("linear", dtype, m, self.columns)?,
            Op::Gelu => entry!("linear_gelu", dtype, m, self.columns)?,
            Op::SwiGlu => entry!("linear_swiglu", dtype, m, self.columns)?,
        };
        let blocks = if m == 0 { 0 } else { n.div_ceil(self.columns) };
        let launch = Launch::new(&MODULE, entry)
            .grid(blocks, 1, 1)
            .block(THREADS, 1, 1);
        product.launch(launch)
    }
}
