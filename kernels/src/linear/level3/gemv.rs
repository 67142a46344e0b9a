//! A warp per element of y, for one row of x: the launch of `gemv.ptx`.

use candle_core::{Result, Tensor};

use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::linear::{Shape, output_like};

static F32: Module = module!("linear/level3/gemv");
static BF16: Module = module!("linear/level3/gemv_bf16");

/// `operands` are those after x, in the order of the parameters.
pub(super) fn launch(x: &Tensor, operands: &[Option<&Tensor>], shape: Shape) -> Result<Tensor> {
    let kernel = by_dtype(
        "linear_level3",
        x.dtype(),
        (&F32, "linear_row_f32_level3"),
        (&BF16, "linear_row_bf16_level3"),
    )?;
    launch_row(kernel, x, operands, shape)
}

/// Lanes of a warp, and warps of a block in `gemv.ptx`, each with an element of y.
const WARP: usize = 32;
const WARPS: usize = 4;

/// A launch with the warps of `gemv.ptx`. `operands` are those after x, in the order of the parameters.
pub(super) fn launch_row(
    (module, entry): (&'static Module, &'static str),
    x: &Tensor,
    operands: &[Option<&Tensor>],
    Shape { n, k, .. }: Shape,
) -> Result<Tensor> {
    let y = output_like(x, n)?;
    let mut launch = Launch::new(module, entry)
        .grid(n.div_ceil(WARPS), 1, 1)
        .block(WARP, WARPS, 1)
        .read(x);
    for operand in operands {
        launch = launch.read_or_null(*operand);
    }
    launch.write(&y).u32(n).u32(k).launch()?;
    Ok(y)
}
