//! One row of x, one warp per row of w: the launch of `row_gemv.cu`.

use candle_core::{DType, Result, Tensor};

use crate::dispatch::{Facts, Op, Problem};
use crate::error::mismatch;
use crate::launch::{Launch, Module, aligned, module};
use crate::linear::gemm::Gemm;

static MODULE: Module = module!("linear/level5/row_gemv", sm_75, sm_90);

/// Lanes of a warp, and warps of a block: `WARP` and `WARPS` of `row_gemv.cu`.
const WARP: usize = 32;
const WARPS: usize = 4;

/// A kernel for rows of w of up to so many chunks of 16 bytes per lane: CHUNKS of `row_gemv.cu`.
type Kernel = (usize, &'static str);

const F32: [Kernel; 3] = [
    (4, "linear_f32_level5_row_chunks4"),
    (6, "linear_f32_level5_row_chunks6"),
    (12, "linear_f32_level5_row_chunks12"),
];

const BF16: [Kernel; 4] = [
    (2, "linear_bf16_level5_row_chunks2"),
    (3, "linear_bf16_level5_row_chunks3"),
    (6, "linear_bf16_level5_row_chunks6"),
    (16, "linear_bf16_level5_row_chunks16"),
];

/// The kernel for rows of `k` elements, if one has registers for them and they are whole chunks.
fn kernel(dtype: DType, k: usize) -> Option<&'static str> {
    let kernels: &[Kernel] = match dtype {
        DType::F32 => &F32,
        DType::BF16 => &BF16,
        _ => return None,
    };
    let bytes = k * dtype.size_in_bytes();
    if bytes == 0 || !bytes.is_multiple_of(16) {
        return None;
    }
    let fits = |kernel: &&Kernel| bytes <= kernel.0 * WARP * 16;
    kernels.iter().find(fits).map(|(_, entry)| *entry)
}

/// Whether there is a kernel for the problem: one row, with or without a residual.
pub(super) fn can(p: &Problem, facts: &Facts) -> bool {
    let is_sum = matches!(p.op, Op::Linear | Op::LinearResidual);
    is_sum && p.m == 1 && facts.at_least((7, 5)) && kernel(p.dtype, p.k).is_some()
}

/// For problems that [`can`] allows.
pub(super) fn launch(gemm: &Gemm) -> Result<Tensor> {
    let (shape, dtype) = (gemm.shape, gemm.x.dtype());
    let Some(entry) = kernel(dtype, shape.k) else {
        let found = format!("K = {} in {}", shape.k, dtype.as_str());
        return Err(mismatch(
            "linear_level5_row_gemv",
            "rows that fit into registers",
            found,
        ));
    };
    let [x, w] = [gemm.x, gemm.w].map(aligned);
    let (x, w) = (x?, w?);
    let launch = Launch::new(&MODULE, entry)
        .grid(shape.n.div_ceil(WARPS), 1, 1)
        .block(WARPS * WARP, 1, 1)
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
        for (dtype, kernels) in [("float", &F32[..]), ("bf16", &BF16)] {
            for (chunks, entry) in kernels {
                let line = format!("LINEAR({entry}, {dtype}, {chunks})");
                assert!(cu.contains(&line), "{line}");
                for text in MODULE.texts() {
                    assert_eq!(directive(text, entry, ".maxntid"), WARPS * WARP, "{entry}");
                }
            }
        }
    }

    #[test]
    fn rows_beyond_the_registers_have_no_kernel() {
        assert_eq!(
            kernel(DType::F32, 512),
            Some("linear_f32_level5_row_chunks4")
        );
        assert_eq!(
            kernel(DType::F32, 516),
            Some("linear_f32_level5_row_chunks6")
        );
        assert_eq!(
            kernel(DType::BF16, 4096),
            Some("linear_bf16_level5_row_chunks16")
        );
        for (dtype, k) in [
            (DType::F32, 0),
            (DType::F32, 6),
            (DType::F32, 1540),
            (DType::BF16, 4104),
            (DType::BF16, 12),
            (DType::U32, 8),
        ] {
            assert_eq!(kernel(dtype, k), None, "{dtype:?} {k}");
        }
    }
}
