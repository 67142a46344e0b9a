//! Level 5: many blocks share a node of very many edges.

use candle_core::{DType, Result, Tensor};

use super::level4_launch::{Shares, WARP, WARPS};
use super::{Params, Size};
use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("edge_attention/level5", sm_75);

/// Edges of a chunk, and of a node that one block computes at most: `CHUNK` of `level5.cu`.
pub(super) const CHUNK: usize = 1024;

/// Floats of a lane's part of a node: `RECORD` float4s in `level5.cu`.
pub(super) const RECORD: usize = 3 * 4;

pub(super) fn launch(params: &Params, size: Size) -> Result<Tensor> {
    let (dtype, shares) = (params.q.dtype(), Shares::of(size)?);
    let (chunks, groups) = (
        size.edges.div_ceil(CHUNK),
        size.heads.div_ceil(shares.heads_per_warp()),
    );
    let y = output::tensor(
        (size.nodes, size.heads * size.head_dim),
        dtype,
        params.q.device(),
    )?;
    let parts = (2 * chunks, groups, RECORD * WARP);
    let parts = output::tensor(parts, DType::F32, params.q.device())?;

    let entry = by_dtype(
        "edge_attention_level5",
        dtype,
        "edge_attention_f32_level5",
        "edge_attention_bf16_level5",
    )?;
    let launch = Launch::new(&MODULE, entry);
    let launch = launch.grid(shares.blocks(size), 1, 1);
    shares.arguments(launch, params, size, &y).launch()?;

    let entry = by_dtype(
        "edge_attention_part_level5",
        dtype,
        "edge_attention_part_f32_level5",
        "edge_attention_part_bf16_level5",
    )?;
    let launch = Launch::new(&MODULE, entry);
    let launch = shares.arguments(launch.grid(chunks, groups, 1), params, size, &y);
    launch.write(&parts).u32(size.edges).launch()?;

    let entry = by_dtype(
        "edge_attention_join_level5",
        dtype,
        "edge_attention_join_f32_level5",
        "edge_attention_join_bf16_level5",
    )?;
    let launch = Launch::new(&MODULE, entry);
    let launch = launch.grid(chunks.div_ceil(WARPS), groups, 1);
    let launch = shares.arguments(launch, params, size, &y);
    launch.read(&parts).u32(size.edges).launch()?;
    Ok(y)
}
