//! In bf16: the launch of `bf16.cu`.

use candle_core::Tensor;

use super::{NODES, Operands};
use crate::launch::{Launch, Module, module};

static MODULE: Module = module!("graph_pass/level5/bf16", sm_90a);

/// Layers that `Params` in `bf16.cuh` has room for.
pub const MAX_LAYERS: usize = 8;

/// Rows and columns of a tile of weights; STAGES of them are in shared memory.
pub const TILE: [usize; 2] = [128, 64];

/// `Shared::BYTES`
pub const SMEM: usize = 230_832;

/// The fields of `Params` in `bf16.cuh`, in its order; layers that are not there are 0.
pub fn launch<'a>(operands: &'a Operands, y: &'a Tensor) -> Launch<'a> {
    let [rows, columns] = TILE;
    let ((proj_in, proj_in_b), (head, head_b)) = (operands.proj_in, operands.head);
    let mut launch = Launch::new(&MODULE, "graph_pass_bf16_level5")
        .smem(SMEM)
        .boxes(operands.x, NODES, columns)
        .boxes(proj_in, rows, columns);
    let [norm_w, norm_b] = operands.norm;
    for x in [proj_in_b, operands.edges, norm_w, norm_b, head, head_b] {
        launch = launch.read(x);
    }
    launch = operands.with_graphs(launch, y);
    for layer in &operands.layers {
        for w in layer.matrices {
            launch = launch.boxes(w, rows, columns);
        }
        for x in layer.vectors {
            launch = launch.read(x);
        }
    }
    launch
}
