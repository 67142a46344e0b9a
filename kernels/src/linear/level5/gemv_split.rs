//! A few rows of x, K split over the warps of a block: the launch of `gemv_split.cu`.

use candle_core::{Result, Tensor};

use crate::element::by_dtype;
use crate::error::mismatch;
use crate::launch::{Launch, Module, module};
use crate::linear::gemm::{Entries, Gemm};

static MODULE: Module = module!("linear/level5/gemv_split", sm_75, sm_90);

/// Maximum number of rows of x.
pub const MAX_ROWS: usize = 4;

/// Threads of a block: `THREADS` of `gemv_split.cu`.
const THREADS: usize = 128;

/// The kernels whose blocks compute so many columns of y.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GemvSplit {
    /// COLUMNS of `gemv_split.cu`: 1 or 4.
    columns: usize,
    /// For one row of x, and for up to [`MAX_ROWS`].
    f32: [Entries; 2],
    bf16: [Entries; 2],
}

/// M of `gemv_split.cu` for each of the entries of a [`GemvSplit`].
const ROWS: [usize; 2] = [1, MAX_ROWS];

pub(super) const GEMV_SPLITS: [GemvSplit; 2] = [
    GemvSplit {
        columns: 1,
        f32: [
            Entries([
                "linear_f32_level5_row_1",
                "linear_gelu_f32_level5_row_1",
                "linear_swiglu_f32_level5_row_1",
            ]),
            Entries([
                "linear_f32_level5_rows4_1",
                "linear_gelu_f32_level5_rows4_1",
                "linear_swiglu_f32_level5_rows4_1",
            ]),
        ],
        bf16: [
            Entries([
                "linear_bf16_level5_row_1",
                "linear_gelu_bf16_level5_row_1",
                "linear_swiglu_bf16_level5_row_1",
            ]),
            Entries([
                "linear_bf16_level5_rows4_1",
                "linear_gelu_bf16_level5_rows4_1",
                "linear_swiglu_bf16_level5_rows4_1",
            ]),
        ],
    },
    GemvSplit {
        columns: 4,
        f32: [
            Entries([
                "linear_f32_level5_row_4",
                "linear_gelu_f32_level5_row_4",
                "linear_swiglu_f32_level5_row_4",
            ]),
            Entries([
                "linear_f32_level5_rows4_4",
                "linear_gelu_f32_level5_rows4_4",
                "linear_swiglu_f32_level5_rows4_4",
            ]),
        ],
        bf16: [
            Entries([
                "linear_bf16_level5_row_4",
                "linear_gelu_bf16_level5_row_4",
                "linear_swiglu_bf16_level5_row_4",
            ]),
            Entries([
                "linear_bf16_level5_rows4_4",
                "linear_gelu_bf16_level5_rows4_4",
                "linear_swiglu_bf16_level5_rows4_4",
            ]),
        ],
    },
];

impl GemvSplit {
    /// For up to [`MAX_ROWS`] rows of x.
    pub(super) fn launch(self, gemm: &Gemm) -> Result<Tensor> {
        let (m, n) = (gemm.shape.m, gemm.shape.n);
        let Some(rows) = ROWS.iter().position(|&rows| m <= rows) else {
            let expected = format!("at most {MAX_ROWS} rows of x");
            return Err(mismatch("linear_level5", expected, format!("{m}")));
        };
        let entries = by_dtype("linear_level5", gemm.x.dtype(), self.f32, self.bf16)?[rows];
        let blocks = if m == 0 { 0 } else { n.div_ceil(self.columns) };
        let launch = Launch::new(&MODULE, entries.with(gemm.epilogue))
            .grid(blocks, 1, 1)
            .block(THREADS, 1, 1)
            .programmatic();
        gemm.launch(launch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::directive;

    #[test]
    fn columns_and_threads_are_those_of_the_kernel() {
        let cu = include_str!("gemv_split.cu");
        for split in GEMV_SPLITS {
            for (dtype, all) in [("float", split.f32), ("bf16", split.bf16)] {
                for (rows, entries) in ROWS.into_iter().zip(all) {
                    for entry in entries.0 {
                        let line = format!("({entry}, {dtype}, {rows}, {})", split.columns);
                        assert!(cu.contains(&line), "{entry}");
                        assert_eq!(
                            directive(MODULE.texts()[0], entry, ".maxntid"),
                            THREADS,
                            "{entry}"
                        );
                    }
                }
            }
        }
    }
}
