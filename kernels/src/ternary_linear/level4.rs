//! Level 4: look-up tables in shared memory, or 8-bit activations and dp4a.

use candle_core::{DType, Result, Tensor};

use super::{Ternary, cpu};
use crate::element::{dispatch, entry};
use crate::launch::{Launch, Module, module};
use crate::output;

static LUT: Module = module!("ternary_linear_lut_level4", "level4_lut.ptx");
static DP4A: Module = module!("ternary_linear_dp4a_level4", "level4_dp4a.ptx");

/// Rows of weights of a block, and its threads: `WARPS`·`TN` and `WARPS`·32 of the `.cu` files.
const LUT_ROWS: usize = 32;
const LUT_THREADS: usize = 256;
const DP4A_ROWS: usize = 16;
const DP4A_THREADS: usize = 128;
const QUANTIZE_THREADS: usize = 1024;

/// Rows of x of a warp where there are several: `TILE_TM` of `level4_dp4a.cu`.
const TILE_TM: usize = 4;

/// y (…, N) like x (…, K), by tables of the sums of neighbouring activations.
///
/// # Errors
/// When shapes, formats or devices do not agree, or when x is not contiguous.
pub fn lut(x: &Tensor, w: &Ternary) -> Result<Tensor> {
    let sizes = super::check("ternary_linear_lut_level4", x, w)?;
    if x.device().is_cpu() {
        return dispatch!(
            "ternary_linear_lut_level4",
            x.dtype(),
            cpu::lut(x, w, &sizes)
        );
    }
    let y = output::tensor(sizes.y, x.dtype(), x.device())?;
    Launch::new(&LUT, entry!("ternary_linear_lut", x.dtype(), "level4")?)
        .grid(sizes.m, sizes.n.div_ceil(LUT_ROWS), 1)
        .block(LUT_THREADS, 1, 1)
        .read(x)
        .read(w.codes())
        .read(w.scales())
        .write(&y)
        .u32(sizes.n)
        .u32(sizes.k)
        .u32(w.stride())
        .run()?;
    Ok(y)
}

/// y (…, N) like x (…, K), with each row of x rounded to 8 bits.
///
/// # Errors
/// When shapes, formats or devices do not agree, or when x is not contiguous.
pub fn dp4a(x: &Tensor, w: &Ternary) -> Result<Tensor> {
    let sizes = super::check("ternary_linear_dp4a_level4", x, w)?;
    if x.device().is_cpu() {
        return dispatch!(
            "ternary_linear_dp4a_level4",
            x.dtype(),
            cpu::dp4a(x, w, &sizes)
        );
    }
    let (tile, entry) = match sizes.m {
        1 => (1, entry!("ternary_linear_dp4a", x.dtype(), "level4")?),
        _ => (
            TILE_TM,
            entry!("ternary_linear_dp4a_tile", x.dtype(), "level4")?,
        ),
    };
    let (q, scale, sum) = quantize(x, sizes.m, sizes.k, 4 * w.stride())?;
    let y = output::tensor(sizes.y, x.dtype(), x.device())?;
    Launch::new(&DP4A, entry)
        .grid(sizes.m.div_ceil(tile), sizes.n.div_ceil(DP4A_ROWS), 1)
        .block(DP4A_THREADS, 1, 1)
        .read(&q)
        .read(&scale)
        .read(&sum)
        .read(w.codes())
        .read(w.scales())
        .write(&y)
        .u32(sizes.m)
        .u32(sizes.n)
        .u32(w.stride())
        .run()?;
    Ok(y)
}

/// q (M, K4) in bytes, its scale (M) and its sums (M) in two's complement.
fn quantize(x: &Tensor, m: usize, k: usize, k4: usize) -> Result<(Tensor, Tensor, Tensor)> {
    let entry = entry!("ternary_linear_quantize", x.dtype(), "level4")?;
    let q = output::tensor((m, k4), DType::U8, x.device())?;
    let scale = output::tensor(m, DType::F32, x.device())?;
    let sum = output::tensor(m, DType::U32, x.device())?;
    Launch::new(&DP4A, entry)
        .grid(m, 1, 1)
        .block(QUANTIZE_THREADS, 1, 1)
        .read(x)
        .write(&q)
        .write(&scale)
        .write(&sum)
        .u32(k)
        .u32(k4)
        .run()?;
    Ok((q, scale, sum))
}
