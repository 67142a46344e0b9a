//! Level 4: a warp a row, held in registers.

use candle_core::{Result, Tensor};

use super::cpu;
use crate::element::{dispatch, entry};
use crate::launch::{Launch, Module, module, of_dtype, on_cpu};
use crate::output;

static F32: Module = module!("add_rms_norm_level4", "level4.ptx");
static BF16: Module = module!("add_rms_norm_level4_sm80", "level4_sm80.ptx");

/// (s, y), both like x; without a residual s is x itself.
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn add_rms_norm(
    x: &Tensor,
    residual: Option<&Tensor>,
    w: &Tensor,
    eps: f64,
) -> Result<(Tensor, Tensor)> {
    let (rows, c) = super::check("add_rms_norm_level4", x, residual, w)?;
    if on_cpu(x.device()) {
        return dispatch!(
            "add_rms_norm_level4",
            x.dtype(),
            cpu::level4(x, residual, w, eps)
        );
    }
    let like_x = || output::tensor(x.shape(), x.dtype(), x.device());
    let (s, y) = (residual.map(|_| like_x()).transpose()?, like_x()?);
    let module = of_dtype(x.dtype(), &F32, &BF16);
    Launch::new(module, entry!("add_rms_norm", x.dtype(), "level4")?)
        .held_rows(rows, c, x.dtype().size_in_bytes())
        .read(x)
        .read_or_null(residual)
        .read(w)
        .write_or_null(s.as_ref())
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(eps)
        .run()?;
    Ok((s.unwrap_or_else(|| x.clone()), y))
}
