//! A few rows of x, each warp with a few rows of w: the launch of `gemv.cu`.

use candle_core::{Result, Tensor};

use crate::element::by_dtype;
use crate::error::mismatch;
use crate::launch::{Launch, Module, module};
use crate::linear::gemm::{Entries, Gemm};

pub(super) static MODULE: Module = module!("linear/level4/gemv", sm_75);

/// Maximum number of rows of x: w is read once for all of them.
pub(in crate::linear) const MAX_ROWS: usize = 8;

/// Warps of a block: `WARPS` of `gemv.cu`.
const WARPS: usize = 4;

/// The kernels for up to M rows of x.
struct Gemv {
    /// M: maximum number of rows of x.
    m: usize,
    /// Rows of w per warp: `ROWS_OF_W<M>` of `gemv.cu`.
    rows_of_w: usize,
    f32: Entries,
    bf16: Entries,
}

const GEMVS: [Gemv; 3] = [
    Gemv {
        m: 1,
        rows_of_w: 2,
        f32: Entries([
            "linear_f32_level4_row",
            "linear_gelu_f32_level4_row",
            "linear_swiglu_f32_level4_row",
        ]),
        bf16: Entries([
            "linear_bf16_level4_row",
            "linear_gelu_bf16_level4_row",
            "linear_swiglu_bf16_level4_row",
        ]),
    },
    Gemv {
        m: 4,
        rows_of_w: 2,
        f32: Entries([
            "linear_f32_level4_rows4",
            "linear_gelu_f32_level4_rows4",
            "linear_swiglu_f32_level4_rows4",
        ]),
        bf16: Entries([
            "linear_bf16_level4_rows4",
            "linear_gelu_bf16_level4_rows4",
            "linear_swiglu_bf16_level4_rows4",
        ]),
    },
    Gemv {
        m: MAX_ROWS,
        rows_of_w: 4,
        f32: Entries([
            "linear_f32_level4_rows8",
            "linear_gelu_f32_level4_rows8",
            "linear_swiglu_f32_level4_rows8",
        ]),
        bf16: Entries([
            "linear_bf16_level4_rows8",
            "linear_gelu_bf16_level4_rows8",
            "linear_swiglu_bf16_level4_rows8",
        ]),
    },
];

/// For up to [`MAX_ROWS`] rows of x.
pub(in crate::linear) fn launch(gemm: &Gemm) -> Result<Tensor> {
    let m = gemm.shape.m;
    let Some(gemv) = GEMVS.iter().find(|gemv| m <= gemv.m) else {
        let expected = format!("at most {MAX_ROWS} rows of x");
        return Err(mismatch("linear_level4", expected, format!("{m}")));
    };
    let entries = by_dtype("linear_level4", gemm.x.dtype(), gemv.f32, gemv.bf16)?;
    let blocks = if m == 0 {
        0
    } else {
        gemm.rows_of_w().div_ceil(WARPS * gemv.rows_of_w)
    };
    let launch = Launch::new(&MODULE, entries.with(gemm.epilogue))
        .grid(blocks, 1, 1)
        .block(32 * WARPS, 1, 1);
    gemm.launch(launch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::directive;

    #[test]
    fn warps_and_rows_of_w_are_those_of_the_kernel() {
        let cu = include_str!("gemv.cu");
        assert!(cu.contains("constexpr int ROWS_OF_W = M > 4 ? 4 : 2;"));
        for gemv in &GEMVS {
            assert_eq!(gemv.rows_of_w, if gemv.m > 4 { 4 } else { 2 });
            for (dtype, entries) in [("float", gemv.f32), ("bf16", gemv.bf16)] {
                for entry in entries.0 {
                    assert!(
                        cu.contains(&format!("({entry}, {dtype}, {})", gemv.m)),
                        "{entry}"
                    );
                    assert_eq!(
                        directive(MODULE.texts()[0], entry, ".maxntid"),
                        32 * WARPS,
                        "{entry}"
                    );
                }
            }
        }
    }
}
