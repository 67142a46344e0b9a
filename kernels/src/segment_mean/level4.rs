//! Level 4: four channels per lane, shuffles between lanes, and long graphs split over blocks; a fallback for rows that are
//! not aligned.

use candle_core::{DType, Result, Tensor};

use super::Size;
use crate::element::by_dtype;
use crate::launch::{Launch, Module, is_aligned, module};
use crate::output;

static MODULE: Module = module!("segment_mean/level4", sm_75);
static FALLBACK: Module = module!("segment_mean/fallback", sm_75);

/// Threads of a block.
pub(super) const THREADS: usize = 256;

/// Lanes of a warp.
pub(super) const WARP: usize = 32;

/// Channels in one load of a lane.
pub(super) const CHANNELS_PER_LOAD: usize = 4;

/// Nodes of a graph, on average, that one block sums.
const NODES_PER_SPLIT: usize = 512;

/// Maximum number of blocks that a graph is split over.
const MAX_SPLITS: usize = 256;

/// x (N, C), offsets (G + 1) → y (G, C), on a GPU.
pub(super) fn launch(x: &Tensor, offsets: &Tensor, size: Size) -> Result<Tensor> {
    let y = output::tensor((size.graphs, size.channels), x.dtype(), x.device())?;
    if y.elem_count() == 0 {
        return Ok(y);
    }
    if !(size.channels.is_multiple_of(CHANNELS_PER_LOAD) && is_aligned(&[x])) {
        launch_fallback(x, offsets, size, &y)?;
        return Ok(y);
    }
    let splits = size
        .nodes
        .div_ceil(NODES_PER_SPLIT * size.graphs)
        .clamp(1, MAX_SPLITS);
    if splits > 1 {
        launch_split(x, offsets, size, splits, &y)?;
        return Ok(y);
    }
    let entry = by_dtype(
        "segment_mean_level4",
        x.dtype(),
        "segment_mean_f32_level4",
        "segment_mean_bf16_level4",
    )?;
    graph_blocks(entry, size, 1)
        .read(x)
        .read(offsets)
        .write(&y)
        .u32(size.channels)
        .u32(lanes_per_node(size.channels))
        .launch()?;
    Ok(y)
}

/// Two launches: the sums of each graph's splits, then y.
fn launch_split(x: &Tensor, offsets: &Tensor, size: Size, splits: usize, y: &Tensor) -> Result<()> {
    let lanes_per_node = lanes_per_node(size.channels);
    let shape = (size.graphs, splits, size.channels);
    let sums = output::tensor(shape, DType::F32, x.device())?;
    let entry = by_dtype(
        "segment_mean_split_level4",
        x.dtype(),
        "segment_mean_split_f32_level4",
        "segment_mean_split_bf16_level4",
    )?;
    graph_blocks(entry, size, splits)
        .read(x)
        .read(offsets)
        .write(&sums)
        .u32(size.channels)
        .u32(lanes_per_node)
        .launch()?;
    let entry = by_dtype(
        "segment_mean_join_level4",
        x.dtype(),
        "segment_mean_join_f32_level4",
        "segment_mean_join_bf16_level4",
    )?;
    graph_blocks(entry, size, 1)
        .read(&sums)
        .read(offsets)
        .write(y)
        .u32(splits)
        .u32(size.channels)
        .u32(lanes_per_node)
        .launch()
}

/// One launch, a lane per channel.
fn launch_fallback(x: &Tensor, offsets: &Tensor, size: Size, y: &Tensor) -> Result<()> {
    let entry = by_dtype(
        "segment_mean_level4",
        x.dtype(),
        "segment_mean_f32_level4_fallback",
        "segment_mean_bf16_level4_fallback",
    )?;
    Launch::new(&FALLBACK, entry)
        .grid(size.graphs, size.channels.div_ceil(WARP), 1)
        .block(THREADS, 1, 1)
        .read(x)
        .read(offsets)
        .write(y)
        .u32(size.channels)
        .launch()
}

/// Lanes that share a node's channels: a power of two, a whole warp if there are enough channels.
fn lanes_per_node(channels: usize) -> usize {
    channels
        .div_ceil(CHANNELS_PER_LOAD)
        .next_power_of_two()
        .min(WARP)
}

/// A launch with one block for each graph, each split of its nodes, and as many channels as the lanes of a node read.
fn graph_blocks(entry: &'static str, size: Size, splits: usize) -> Launch<'static> {
    let width = CHANNELS_PER_LOAD * lanes_per_node(size.channels);
    Launch::new(&MODULE, entry)
        .grid(size.graphs, size.channels.div_ceil(width), splits)
        .block(THREADS, 1, 1)
}
