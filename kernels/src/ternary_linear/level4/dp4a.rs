//! Activations rounded to 8 bits: the launches of `dp4a.cu`, one for few rows of x, two for many or long ones.

use candle_core::{DType, Result, Tensor};

use super::{ROWS, THREADS, row_blocks};
use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;
use crate::ternary_linear::{Sizes, Ternary};

static MODULE: Module = module!("ternary_linear/level4/dp4a", sm_75);

/// Rows of x of a warp in the tile kernel: `TILE_TM` of `dp4a.cu`.
const TILE_TM: usize = 8;

/// Rows of x up to which each block rounds its row of x itself: one launch in place of two.
const MAX_ROWS_IN_ONE_LAUNCH: usize = 4;

/// Shared memory that every GPU grants a block.
const MAX_SMEM: usize = 48 << 10;

/// x (M, K), w (N, K) → y (M, N), on a GPU.
pub(super) fn launch(x: &Tensor, w: &Ternary, sizes: &Sizes) -> Result<Tensor> {
    let y = output::tensor(sizes.y.as_slice(), x.dtype(), x.device())?;
    // A byte for each activation, rounded up to what a warp reads at a time.
    let q_bytes = 4 * w.stride().next_multiple_of(512);
    // The two static arrays of `round_row` are there, too: 64 bytes.
    if sizes.m <= MAX_ROWS_IN_ONE_LAUNCH && q_bytes + 64 <= MAX_SMEM {
        let entry = by_dtype(
            "ternary_linear_dp4a_level4",
            x.dtype(),
            "ternary_linear_dp4a_f32_level4",
            "ternary_linear_dp4a_bf16_level4",
        )?;
        row_blocks(&MODULE, entry, x, w, sizes, &y)
            .smem(q_bytes)
            .launch()?;
    } else {
        launch_tiles(x, w, sizes, q_bytes, &y)?;
    }
    Ok(y)
}

/// Two launches: the first rounds x, the second multiplies.
fn launch_tiles(x: &Tensor, w: &Ternary, sizes: &Sizes, q_bytes: usize, y: &Tensor) -> Result<()> {
    let quantize = by_dtype(
        "ternary_linear_quantize_level4",
        x.dtype(),
        "ternary_linear_quantize_f32_level4",
        "ternary_linear_quantize_bf16_level4",
    )?;
    let dp4a = by_dtype(
        "ternary_linear_dp4a_tile_level4",
        x.dtype(),
        "ternary_linear_dp4a_tile_f32_level4",
        "ternary_linear_dp4a_tile_bf16_level4",
    )?;
    let m = sizes.m.next_multiple_of(TILE_TM);
    let q = output::tensor((m, q_bytes), DType::U8, x.device())?;
    let rows = output::tensor((m, 2), DType::U32, x.device())?; // an f32 and an i32 each
    Launch::new(&MODULE, quantize)
        .grid(m, 1, 1)
        .block(THREADS, 1, 1)
        .read(x)
        .write(&q)
        .write(&rows)
        .u32(sizes.m)
        .u32(sizes.k)
        .u32(w.stride())
        .launch()?;
    Launch::new(&MODULE, dp4a)
        .grid(m / TILE_TM, sizes.n.div_ceil(ROWS), 1)
        .block(THREADS, 1, 1)
        .read(&q)
        .read(&rows)
        .read(w.codes())
        .read(w.scales())
        .write(y)
        .u32(sizes.m)
        .u32(sizes.n)
        .u32(w.stride())
        .launch()
}
