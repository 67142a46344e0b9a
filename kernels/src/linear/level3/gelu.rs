//! The tile with GELU before it is written: the launch of `gelu.ptx`.

use candle_core::{Result, Tensor};

use super::linear::launch_tile;
use crate::element::by_dtype;
use crate::launch::{Module, module};
use crate::linear::Shape;

static F32: Module = module!("linear/level3/gelu");
static BF16: Module = module!("linear/level3/gelu_bf16");

/// `operands` are those after x, in the order of the parameters.
pub(super) fn launch(x: &Tensor, operands: &[Option<&Tensor>], shape: Shape) -> Result<Tensor> {
    let kernel = by_dtype(
        "linear_gelu_level3",
        x.dtype(),
        (&F32, "linear_gelu_f32_level3"),
        (&BF16, "linear_gelu_bf16_level3"),
    )?;
    launch_tile(kernel, x, operands, shape)
}
