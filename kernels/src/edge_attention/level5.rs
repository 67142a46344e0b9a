//! Level 5: many blocks share a node of very many edges.

use candle_core::{DType, Result, Tensor};
use operands::{Csr, Weight};

use super::level4::{self, Shares, WARP, WARPS, is_wide};
use super::{Params, Size};
use crate::element::by_dtype;
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static MODULE: Module = module!("edge_attention/level5", sm_75);

const KERNEL: &str = "edge_attention_level5";

/// Edges of a chunk, and of a node that one block computes at most: `CHUNK` of `level5.cu`.
pub(super) const CHUNK: usize = 1024;

/// Floats of a lane's part of a node: `RECORD` float4s in `level5.cu`.
pub(super) const RECORD: usize = 3 * 4;

/// y (N, H·D); see [the formula](super). Level 4's, but on a GPU where a node has more than 1024 edges and a head up
/// to 128 channels.
///
/// # Errors
/// Those of level 4.
#[allow(clippy::too_many_arguments)]
pub fn edge_attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    skip: &Tensor,
    residual: &Tensor,
    edges: &Tensor,
    w: &Weight,
    graph: &Csr,
) -> Result<Tensor> {
    let params = Params {
        q,
        k,
        v,
        skip,
        residual,
        edges,
        w: w.tensor(),
        graph,
    };
    let size = params.check(KERNEL)?;
    let why = || format!("at most {} edges per node", graph.max_degree);
    if on_cpu(q.device()) || graph.max_degree <= CHUNK || is_wide(size.head_dim) {
        let _span = trace::span_because(level4::KERNEL, why);
        return level4::run(&params, size);
    }
    let _span = trace::span_because(KERNEL, why);
    launch(&params, size)
}

fn launch(params: &Params, size: Size) -> Result<Tensor> {
    let (dtype, shares) = (params.q.dtype(), Shares::of(size)?);
    let (chunks, groups) = (
        size.edges.div_ceil(CHUNK),
        size.heads.div_ceil(shares.heads_a_warp()),
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
