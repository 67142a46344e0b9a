//! Level 3: one block per graph and 32 channels, and a tree over rows in shared memory.

use candle_core::{Result, Tensor};

use super::Size;
use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static F32: Module = module!("segment_mean/level3");
static BF16: Module = module!("segment_mean/level3_bf16");

/// Channels of a block.
const WIDTH: usize = 32;

/// Maximum number of nodes that a block reads at once.
const ROWS: usize = 32;

/// x (N, C), offsets (G + 1) → y (G, C), on a GPU.
pub(super) fn launch(x: &Tensor, offsets: &Tensor, size: Size) -> Result<Tensor> {
    let dtype = x.dtype();
    let Size {
        nodes,
        graphs,
        channels,
    } = size;
    let (module, entry) = by_dtype(
        "segment_mean_level3",
        dtype,
        (&F32, "segment_mean_f32_level3"),
        (&BF16, "segment_mean_bf16_level3"),
    )?;
    let rows = nodes.div_ceil(graphs.max(1)).next_power_of_two().min(ROWS);
    let y = output::tensor((graphs, channels), dtype, x.device())?;
    if y.elem_count() == 0 {
        return Ok(y);
    }
    Launch::new(module, entry)
        .grid(graphs, channels.div_ceil(WIDTH), 1)
        .block(WIDTH, rows, 1)
        .read(x)
        .read(offsets)
        .write(&y)
        .u32(channels)
        .launch()?;
    Ok(y)
}
