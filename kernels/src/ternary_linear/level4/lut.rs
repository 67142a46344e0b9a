//! Sums of two activations that the weights look up: the launch of `lut.cu`.

use candle_core::{Result, Tensor};

use super::row_blocks;
use crate::element::by_dtype;
use crate::launch::{Module, module};
use crate::output;
use crate::ternary_linear::{Sizes, Ternary};

static MODULE: Module = module!("ternary_linear/level4/lut", sm_75);

/// x (M, K), w (N, K) → y (M, N), on a GPU.
pub(super) fn launch(x: &Tensor, w: &Ternary, sizes: &Sizes) -> Result<Tensor> {
    let y = output::tensor(sizes.y.as_slice(), x.dtype(), x.device())?;
    let entry = by_dtype(
        "ternary_linear_lut_level4",
        x.dtype(),
        "ternary_linear_lut_f32_level4",
        "ternary_linear_lut_bf16_level4",
    )?;
    row_blocks(&MODULE, entry, x, w, sizes, &y).launch()?;
    Ok(y)
}
