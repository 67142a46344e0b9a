//! Level 4: a warp a node, lanes over channels, edge features folded.

use candle_core::{Result, Tensor};

use super::{Graph, Operands, Size, cpu, level3};
use crate::element::{dispatch, entry};
use crate::error::unsupported;
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static MODULE: Module = module!("edge_attention_level4", "level4.ptx");

const KERNEL: &str = "edge_attention_level4";

const WARP: usize = 32;

/// Warps of a block.
const WARPS: usize = 8;

/// Channels, and features, in one load of a lane.
const VECTOR: usize = 4;

/// Loads of a lane that cover a head in `edge_attention_wide_*`; one does in `edge_attention_*`.
const WIDE: usize = 4;

/// Bytes of w, transposed and in f32, that a block keeps in shared memory; a larger w is read from global
/// memory. With what the kernel has besides, below the 48 KiB that every GPU grants unasked.
const STAGED: usize = 40 << 10;

/// y (N, H·D); see [the formula](super). D up to 512 and Fe up to 128 on a GPU.
///
/// # Errors
/// When shapes, formats or devices do not agree, or a node's channels do not lie side by side.
#[allow(clippy::too_many_arguments)]
pub fn edge_attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    skip: &Tensor,
    edges: &Tensor,
    w: &Tensor,
    graph: Graph,
) -> Result<Tensor> {
    let operands = Operands {
        q,
        k,
        v,
        skip,
        edges,
        w,
        graph,
    };
    let size = operands.check(KERNEL)?;
    if on_cpu(q.device()) {
        let dtype = q.dtype();
        return dispatch!(
            "edge_attention_level4",
            dtype,
            cpu::level4::edge_attention(&operands, size)
        );
    }
    launch(&operands, size)
}

fn launch(o: &Operands, size: Size) -> Result<Tensor> {
    let Size {
        nodes,
        heads,
        head_dim,
        features,
        ..
    } = size;
    let dtype = o.q.dtype();
    if head_dim > WARP * VECTOR * WIDE {
        let expected = format!("at most {} channels a head", WARP * VECTOR * WIDE);
        let level = if head_dim <= level3::MAX_THREADS {
            3
        } else {
            2
        };
        return Err(unsupported(KERNEL, expected, head_dim, level));
    }
    if features > WARP * VECTOR {
        let expected = format!("at most {} features an edge", WARP * VECTOR);
        return Err(unsupported(KERNEL, expected, features, 3));
    }
    let entry = match head_dim > WARP * VECTOR {
        false => entry!("edge_attention", dtype, "level4")?,
        true => entry!("edge_attention_wide", dtype, "level4")?,
    };
    // Lanes that share a head of a node: enough to hold its channels, and its folded features.
    let lanes = head_dim.max(features).div_ceil(VECTOR).next_power_of_two();
    let lanes = lanes.clamp(8, WARP);
    let a_block = WARPS * (WARP / lanes);
    // A feature's weights for all channels, each head's filled up to whole vectors; an odd number of
    // vectors, so that neighbouring features start in other banks of shared memory.
    let padded = VECTOR * ((heads * head_dim.div_ceil(VECTOR)) | 1);
    let staged = features * padded * size_of::<f32>();
    let fits = staged <= STAGED;
    let y = output::tensor((nodes, heads * head_dim), dtype, o.q.device())?;
    if y.elem_count() == 0 {
        return Ok(y);
    }
    Launch::new(&MODULE, entry)
        .grid((nodes * heads).div_ceil(a_block), 1, 1)
        .block(WARP * WARPS, 1, 1)
        .smem(if fits { staged } else { 0 })
        .view(o.q)
        .view(o.k)
        .view(o.v)
        .view(o.skip)
        .read(o.edges)
        .read(o.w)
        .read(o.graph.row_ptr)
        .read(o.graph.col_idx)
        .write(&y)
        .u32(nodes)
        .u32(heads)
        .u32(head_dim)
        .u32(features)
        .u32(lanes)
        .u32(if fits { padded } else { 0 })
        .u32(o.graph.max_degree)
        .u32(o.q.stride()[0])
        .u32(o.k.stride()[0])
        .u32(o.v.stride()[0])
        .u32(o.skip.stride()[0])
        .f32(std::f64::consts::LOG2_E / (head_dim as f64).sqrt())
        .run()?;
    Ok(y)
}
