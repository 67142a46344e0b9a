//! One row of x, all of a row of w in flight: the launch of `row_gemv.cu`.

use candle_core::{DType, Result, Tensor};

use crate::dispatch::{Facts, Op, Problem};
use crate::error::mismatch;
use crate::launch::{Launch, Module, aligned, module};
use crate::linear::gemm::Gemm;

static MODULE: Module = module!("linear/level5/row_gemv", sm_75, sm_90);

/// Lanes of a warp: `WARP` of `row_gemv.cu`.
const WARP: usize = 32;

/// A kernel of `row_gemv.cu`.
#[derive(Debug, Clone, Copy)]
struct Variant {
    entry: &'static str,
    /// Chunks of 16 bytes per lane: CHUNKS.
    chunks: usize,
    /// How a block divides its rows.
    rows: Rows,
}

#[derive(Debug, Clone, Copy)]
enum Rows {
    /// Each of [`WARPS`] warps has one.
    OfWarps,
    /// SHARING warps share R at a time, and BLOCKS blocks fit on an SM: a `LONG_ROW_GEMV`.
    Shared {
        sharing: usize,
        at_a_time: usize,
        blocks: usize,
    },
}

/// Warps of a block whose warps have a row each: `WARPS` of `row_gemv.cu`.
const WARPS: usize = 4;

const F32: [Variant; 5] = [
    row("linear_f32_level5_row_chunks4", 4),
    row("linear_f32_level5_row_chunks6", 6),
    row("linear_f32_level5_row_chunks12", 12),
    long_row("linear_f32_level5_row_chunks4_by4", 4, 4, 2, 6),
    long_row("linear_f32_level5_row_chunks4_by16", 4, 16, 1, 2),
];

const BF16: [Variant; 6] = [
    row("linear_bf16_level5_row_chunks2", 2),
    row("linear_bf16_level5_row_chunks3", 3),
    row("linear_bf16_level5_row_chunks6", 6),
    row("linear_bf16_level5_row_chunks8", 8),
    long_row("linear_bf16_level5_row_chunks4_by4", 4, 4, 3, 4),
    long_row("linear_bf16_level5_row_chunks4_by8", 4, 8, 3, 2),
];

const fn row(entry: &'static str, chunks: usize) -> Variant {
    Variant {
        entry,
        chunks,
        rows: Rows::OfWarps,
    }
}

const fn long_row(
    entry: &'static str,
    chunks: usize,
    sharing: usize,
    at_a_time: usize,
    blocks: usize,
) -> Variant {
    Variant {
        entry,
        chunks,
        rows: Rows::Shared {
            sharing,
            at_a_time,
            blocks,
        },
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
        let fits = |kernel: &&Self| bytes <= kernel.chunks * kernel.sharing() * WARP * 16;
        kernels.iter().find(fits).copied()
    }

    /// Warps that share a row.
    fn sharing(self) -> usize {
        match self.rows {
            Rows::OfWarps => 1,
            Rows::Shared { sharing, .. } => sharing,
        }
    }

    /// Warps of a block.
    fn warps(self) -> usize {
        match self.sharing() {
            1 => WARPS,
            sharing => sharing,
        }
    }

    /// Blocks for `n` rows of w on a GPU with `sms` SMs.
    fn grid(self, n: usize, sms: usize) -> usize {
        match self.rows {
            Rows::OfWarps => n.div_ceil(WARPS),
            Rows::Shared {
                at_a_time, blocks, ..
            } => n.div_ceil(at_a_time).min(sms * blocks),
        }
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
    let sms = Facts::of(x.device())?.units;
    let launch = Launch::new(&MODULE, kernel.entry)
        .grid(kernel.grid(shape.n, sms), 1, 1)
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
        for (dtype, kernels) in [("float", &F32[..]), ("bf16", &BF16[..])] {
            for &kernel in kernels {
                let Variant {
                    entry,
                    chunks,
                    rows,
                } = kernel;
                let line = match rows {
                    Rows::OfWarps => format!("\nROW_GEMV({entry}, {dtype}, {chunks})"),
                    Rows::Shared {
                        sharing,
                        at_a_time,
                        blocks,
                    } => format!(
                        "LONG_ROW_GEMV({entry}, {dtype}, {chunks}, {sharing}, {at_a_time}, {blocks})"
                    ),
                };
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
            (DType::F32, 8192, "linear_f32_level5_row_chunks4_by16"),
            (DType::BF16, 1536, "linear_bf16_level5_row_chunks6"),
            (DType::BF16, 2048, "linear_bf16_level5_row_chunks8"),
            (DType::BF16, 2056, "linear_bf16_level5_row_chunks4_by4"),
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

    #[test]
    fn long_rows_have_no_more_blocks_than_the_gpu_holds() {
        let grid = |dtype, k, n| Variant::of(dtype, k).map(|kernel| kernel.grid(n, 132));
        for (k, n, expected) in [
            (2048, 2048, 512),
            (8192, 2048, 264),
            (8192, 5, 2),
            (8192, 1, 1),
        ] {
            assert_eq!(grid(DType::BF16, k, n), Some(expected), "{k} {n}");
        }
    }
}
