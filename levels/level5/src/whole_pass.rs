//! Whole passes: what one launch, or a few, compute beyond a method of [`Ops`](models::Ops).

use candle_core::{Result, Tensor};
use kernels::level5 as k;
use models::{EncoderPass, WholePass};

use crate::Level5;

impl WholePass for Level5 {
    /// 5 launches per block, and 1 before the first, on Hopper in bf16 for one image in the sizes of `s16`.
    fn encoder_pass(&self, pass: &EncoderPass) -> Result<Option<Tensor>> {
        k::encoder_pass(pass)
    }
}
