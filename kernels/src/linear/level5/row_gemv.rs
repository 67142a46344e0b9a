//! One row of x, all of a row of w in flight: the launch of `row_gemv.cu`.

use candle_core::{DType, Result, Tensor};

use crate::dispatch::{Facts, Op, Problem};
use crate::error::mismatch;
use crate::launch::{Launch, Module, aligned, module};
use crate::linear::gemm::Gemm;

static MODULE: Module = module!("linear/level5/row_gemv", sm_75, sm_90);

/// Lanes of a warp: `WARP` of `row_gemv.cu`.
const WARP: usize = 32;

/// A kernel of `row_gemv.cu`: chunks of 16 bytes per lane, CHUNKS, and warps that share a row, SHARING.
#[derive(Debug, Clone, Copy)]
struct Variant {
    chunks: usize,
    sharing: usize,
    entry: &'static str,
}

const F32: [Variant; 5] = [
    row(4, 1, "linear_f32_level5_row_chunks4"),
    row(6, 1, "linear_f32_level5_row_chunks6"),
    row(12, 1, "linear_f32_level5_row_chunks12"),
    row(4, 4, "linear_f32_level5_row_chunks4_by4"),
    row(8, 8, "linear_f32_level5_row_chunks8_by8"),
];

const BF16: [Variant; 5] = [
    row(2, 1, "linear_bf16_level5_row_chunks2"),
    row(3, 1, "linear_bf16_level5_row_chunks3"),
    row(6, 1, "linear_bf16_level5_row_chunks6"),
    row(2, 4, "linear_bf16_level5_row_chunks2_by4"),
    row(4, 8, "linear_bf16_level5_row_chunks4_by8"),
];

const fn row(chunks: usize, sharing: usize, entry: &'static str) -> Variant {
    Variant {
        chunks,
        sharing,
        entry,
    }
}

impl Variant {
    /// For rows of `k` elements, if one has registers for them and they are whole chunks.
    fn of(dtype: DType, k: usize) -> Option<Self> {
        let kernels: &[Self] = match dtype {
            DType::F32 => &F32,
            DType::BF16 => &BF16,
            _ => return None,
        };
        let bytes = k * dtype.size_in_bytes();
        if bytes == 0 || !bytes.is_multiple_of(16) {
            return None;
        }
        let fits = |kernel: &&Self| bytes <= kernel.chunks * kernel.sharing * WARP * 16;
        kernels.iter().find(fits).copied()
    }

    /// Warps of a block: `WARPS` of `row_gemv.cu`.
    fn warps(self) -> usize {
        self.sharing.max(4)
    }

    /// Rows of w of a block.
    fn rows(self) -> usize {
        self.warps() / self.sharing
    }
}

/// Whether there is a kernel for the problem: one row, with or without a residual.
pub(super) fn can(p: &Problem, facts: &Facts) -> bool {
    let is_sum = matches!(p.op, Op::Linear | Op::LinearResidual);
    is_sum && p.m == 1 && facts.at_least((7, 5)) && Variant::of(p.dtype, p.k).is_some()
}

/// For problems that [`can`] allows.
pub(super) fn launch(gemm: &Gemm) -> Result<Tensor> {
    let (shape, dtype) = (gemm.shape, gemm.x.dtype());
    let Some(kernel) = Variant::of(dtype, shape.k) else {
        let found = format!("K = {} in {}", shape.k, dtype.as_str());
        return Err(mismatch(
            "linear_level5_row_gemv",
            "rows that fit into registers",
            found,
        ));
    };
    let [x, w] = [gemm.x, gemm.w].map(aligned);
    let (x, w) = (x?, w?);
    let launch = Launch::new(&MODULE, kernel.entry)
        .grid(shape.n.div_ceil(kernel.rows()), 1, 1)
        .block(kernel.warps() * WARP, 1, 1)
        .programmatic();
    Gemm {
        x: &x,
        w: &w,
        ..*gemm
    }
    .launch(launch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::directive;

    #[test]
    fn chunks_and_threads_are_those_of_the_kernel() {
        let cu = include_str!("row_gemv.cu");
        for (dtype, kernels) in [("float", F32), ("bf16", BF16)] {
            for kernel in kernels {
                let Variant {
                    chunks,
                    sharing,
                    entry,
                } = kernel;
                let line = format!("ROW_GEMV({entry}, {dtype}, {chunks}, {sharing})");
                assert!(cu.contains(&line), "{line}");
                for text in MODULE.texts() {
                    let threads = directive(text, entry, ".maxntid");
                    assert_eq!(threads, kernel.warps() * WARP, "{entry}");
                }
            }
        }
    }

    #[test]
    fn the_first_kernel_whose_registers_hold_a_row() {
        let entry = |dtype, k| Variant::of(dtype, k).map(|kernel| kernel.entry);
        for (dtype, k, expected) in [
            (DType::F32, 512, "linear_f32_level5_row_chunks4"),
            (DType::F32, 516, "linear_f32_level5_row_chunks6"),
            (DType::F32, 1540, "linear_f32_level5_row_chunks4_by4"),
            (DType::F32, 8192, "linear_f32_level5_row_chunks8_by8"),
            (DType::BF16, 1536, "linear_bf16_level5_row_chunks6"),
            (DType::BF16, 2048, "linear_bf16_level5_row_chunks2_by4"),
            (DType::BF16, 8192, "linear_bf16_level5_row_chunks4_by8"),
        ] {
            assert_eq!(entry(dtype, k), Some(expected), "{dtype:?} {k}");
        }
        for (dtype, k) in [
            (DType::F32, 0),
            (DType::F32, 6),
            (DType::F32, 8196),
            (DType::BF16, 8200),
            (DType::BF16, 12),
            (DType::U32, 8),
        ] {
            assert_eq!(entry(dtype, k), None, "{dtype:?} {k}");
        }
    }
}
