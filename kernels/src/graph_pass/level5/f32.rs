//! In f32: the launch of `f32.cu`.

use candle_core::Tensor;

use super::Operands;
use super::prepared::Weights;
use crate::launch::{Launch, Module, module};

static MODULE: Module = module!("graph_pass/level5/f32", sm_90a);

/// `Shared::BYTES`
pub const SMEM: usize = 226_528;

/// The fields of `Params` in `f32.cuh`, in its order.
pub fn launch<'a>(operands: &'a Operands, weights: &'a Weights, y: &'a Tensor) -> Launch<'a> {
    let ((proj_in, proj_in_b), (head, head_b)) = (operands.proj_in, operands.head);
    let [norm_w, norm_b] = operands.norm;
    let launch = Launch::new(&MODULE, "graph_pass_f32_level5")
        .smem(SMEM)
        .read(&weights.tiles)
        .read(&weights.vectors)
        .read(&weights.edge_fragments)
        .read(operands.x)
        .read(operands.edges);
    let operands_of_ends = [proj_in, proj_in_b, norm_w, norm_b, head, head_b];
    let launch = operands_of_ends.into_iter().fold(launch, Launch::read);
    operands.with_graphs(launch, y)
}
