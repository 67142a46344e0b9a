//! Level 4: the row held in the registers of one warp, or of several; a fallback for rows that do not fit there.

use candle_core::{Result, Tensor};

use crate::element::by_dtype;
use crate::launch::{Launch, Module, fits_in_registers, is_aligned, module};
use crate::output;

static MODULE: Module = module!("rms_norm/level4", sm_75, sm_80);
static FALLBACK: Module = module!("rms_norm/fallback", sm_75);

/// x (rows, C), w (C) → y, on a GPU.
pub(super) fn launch(x: &Tensor, w: &Tensor, eps: f64, rows: usize, c: usize) -> Result<Tensor> {
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let size = x.dtype().size_in_bytes();
    let launch = if fits_in_registers(c, size) && is_aligned(&[x, w, &y]) {
        let entry = by_dtype(
            "rms_norm_level4",
            x.dtype(),
            "rms_norm_f32_level4",
            "rms_norm_bf16_level4",
        )?;
        Launch::new(&MODULE, entry).rows_in_registers(rows, c, size)
    } else {
        let entry = by_dtype(
            "rms_norm_level4",
            x.dtype(),
            "rms_norm_f32_level4_fallback",
            "rms_norm_bf16_level4_fallback",
        )?;
        Launch::new(&FALLBACK, entry).rows_from_memory(rows, c, size)
    };
    launch
        .read(x)
        .read(w)
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(eps)
        .launch()?;
    Ok(y)
}
