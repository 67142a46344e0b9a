//! One row of x with gate and up: the launch of `gemv_swiglu.ptx`.

use candle_core::{Result, Tensor};

use super::gemv::launch_row;
use crate::element::by_dtype;
use crate::launch::{Module, module};
use crate::linear::Shape;

static F32: Module = module!("linear/level3/gemv_swiglu");
static BF16: Module = module!("linear/level3/gemv_swiglu_bf16");

/// `operands` are those after x, in the order of the parameters.
pub(super) fn launch(x: &Tensor, operands: &[Option<&Tensor>], shape: Shape) -> Result<Tensor> {
    let kernel = by_dtype(
        "linear_swiglu_level3",
        x.dtype(),
        (&F32, "linear_swiglu_row_f32_level3"),
        (&BF16, "linear_swiglu_row_bf16_level3"),
    )?;
    launch_row(kernel, x, operands, shape)
}
