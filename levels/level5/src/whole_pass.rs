//! Whole passes: what one launch, or a few, compute beyond a method of [`Ops`](models::Ops).

use candle_core::{Result, Tensor};
use kernels::level5 as k;
use models::{EncoderPass, GraphPass, HeadPass, WholePass};

use crate::Level5;

impl WholePass for Level5 {
    /// 1 launch in bf16 on a Hopper, one block per graph of at most 32 nodes, for the sizes of the preset `base`.
    fn graph_pass(&self, pass: &GraphPass) -> Result<Option<Tensor>> {
        k::graph_pass(pass)
    }

    /// 5 launches per block and 1 before the first in bf16 on a Hopper, for one image in the sizes of the preset `s16`.
    fn encoder_pass(&self, pass: &EncoderPass) -> Result<Option<Tensor>> {
        k::encoder_pass(pass)
    }

    /// 1 launch, that of `norm_linear`: it also finds the most probable token and advances the position.
    fn head_pass(&self, pass: &HeadPass) -> Result<Option<Tensor>> {
        k::head_pass(pass)
    }
}
