//! Level 4: 16 bytes a lane, shuffles between lanes, and long graphs split over blocks.

use candle_core::{DType, Result, Tensor};
use operands::Segments;
use trace::span;

use super::{Size, cpu};
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static MODULE: Module = module!("segment_mean/level4", sm_75);

/// Threads of a block.
const THREADS: usize = 256;

/// Lanes of a warp.
const WARP: usize = 32;

/// Channels in one load of a lane.
const VECTOR: usize = 4;

/// Nodes of a graph, on average, that one block takes.
const SHARE: usize = 512;

/// Blocks a graph is split over, at the most.
const SPLITS: usize = 256;

/// y (G, C); see [the formula](super). Graphs of more than `SHARE` nodes on average take a second launch.
///
/// # Errors
/// When shapes, dtypes or devices do not agree.
pub fn segment_mean(x: &Tensor, segments: &Segments) -> Result<Tensor> {
    let _span = span("segment_mean_level4");
    let size = super::check("segment_mean_level4", x, segments)?;
    let offsets = &segments.offsets;
    let dtype = x.dtype();
    if on_cpu(x.device()) {
        return dispatch!("segment_mean_level4", dtype, cpu::level4(x, offsets, size));
    }
    let y = output::tensor((size.graphs, size.channels), dtype, x.device())?;
    if y.elem_count() == 0 {
        return Ok(y);
    }
    let lanes = lanes(size.channels);
    let splits = size.nodes.div_ceil(SHARE * size.graphs).clamp(1, SPLITS);
    if splits == 1 {
        let entry = by_dtype(
            "segment_mean_level4",
            dtype,
            "segment_mean_f32_level4",
            "segment_mean_bf16_level4",
        )?;
        launch(entry, size, 1)
            .read(x)
            .read(offsets)
            .write(&y)
            .u32(size.channels)
            .u32(lanes)
            .run()?;
        return Ok(y);
    }
    let part = (size.graphs, splits, size.channels);
    let sums = output::tensor(part, DType::F32, x.device())?;
    let entry = by_dtype(
        "segment_mean_split_level4",
        dtype,
        "segment_mean_split_f32_level4",
        "segment_mean_split_bf16_level4",
    )?;
    launch(entry, size, splits)
        .read(x)
        .read(offsets)
        .write(&sums)
        .u32(size.channels)
        .u32(lanes)
        .run()?;
    let entry = by_dtype(
        "segment_mean_join_level4",
        dtype,
        "segment_mean_join_f32_level4",
        "segment_mean_join_bf16_level4",
    )?;
    launch(entry, size, 1)
        .read(&sums)
        .read(offsets)
        .write(&y)
        .u32(splits)
        .u32(size.channels)
        .u32(lanes)
        .run()?;
    Ok(y)
}

/// Lanes that share a node's channels: a power of two, a whole warp if there are enough.
fn lanes(channels: usize) -> usize {
    channels.div_ceil(VECTOR).next_power_of_two().min(WARP)
}

/// A block a graph, as many channels as its lanes hold, and a share of the graph's nodes.
fn launch(entry: &'static str, size: Size, splits: usize) -> Launch<'static> {
    let width = VECTOR * lanes(size.channels);
    Launch::new(&MODULE, entry)
        .grid(size.graphs, size.channels.div_ceil(width), splits)
        .block(THREADS, 1, 1)
}
