//! Level 3: a block a row, and a tree in shared memory.

use candle_core::{Result, Tensor};

use super::cpu;
use crate::element::{dispatch, entry};
use crate::launch::{Launch, Module, module, of_dtype, on_cpu};
use crate::output;

static F32: Module = module!("add_rms_norm_level3", "level3.ptx");
static BF16: Module = module!("add_rms_norm_level3_bf16", "level3_bf16.ptx");

/// Threads of a block: the tree in `level3.ptx` starts with 256 sums.
const THREADS: usize = 256;

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
    let (rows, c) = super::check("add_rms_norm_level3", x, residual, w)?;
    if on_cpu(x.device()) {
        return dispatch!(
            "add_rms_norm_level3",
            x.dtype(),
            cpu::level3(x, residual, w, eps)
        );
    }
    let like_x = || output::tensor(x.shape(), x.dtype(), x.device());
    let (s, y) = (residual.map(|_| like_x()).transpose()?, like_x()?);
    let module = of_dtype(x.dtype(), &F32, &BF16);
    Launch::new(module, entry!("add_rms_norm", x.dtype(), "level3")?)
        .grid(rows, 1, 1)
        .block(THREADS, 1, 1)
        .read(x)
        .read_or_null(residual)
        .read(w)
        .write_or_null(s.as_ref())
        .write(&y)
        .u32(c)
        .f32(eps)
        .run()?;
    Ok((s.unwrap_or_else(|| x.clone()), y))
}
