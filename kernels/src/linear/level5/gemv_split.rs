//! A product of a few rows, K split over the warps of a block: the launch of `gemv_split.cu`.

use candle_core::{Result, Tensor};

use crate::element::dtype_name;
use crate::launch::{Launch, Module, module};
use crate::linear::level4::Product;

static MODULE: Module = module!("linear/level5/gemv_split", sm_75);

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

impl Split {
    /// For up to [`ROWS`] rows of x.
    pub(super) fn run(self, product: &Product) -> Result<Tensor> {
        let (m, n, dtype) = (product.shape.m, product.shape.n, product.x.dtype());
        let (op, dtype) = (product.op.name(), dtype_name("linear_level5", dtype)?);
        let rows = if m <= 1 { "row" } else { "rows4" };
        let entry = format!("{op}_{dtype}_level5_{rows}_{}", self.columns);
        let blocks = if m == 0 { 0 } else { n.div_ceil(self.columns) };
        let launch = Launch::new(&MODULE, entry)
            .grid(blocks, 1, 1)
            .block(THREADS, 1, 1);
        product.launch(launch)
    }
}
