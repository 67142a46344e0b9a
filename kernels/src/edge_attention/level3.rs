//! Level 3: the blocks of a head take its nodes in turn; a tree in shared memory sums each score.

use candle_core::{Result, Tensor};

use super::{Params, Size};
use crate::element::by_dtype;
use crate::error::unsupported;
use crate::launch::{Launch, Module, module};
use crate::output;

static F32: Module = module!("edge_attention/level3");
static BF16: Module = module!("edge_attention/level3_bf16");

const KERNEL: &str = "edge_attention_level3";

/// Threads of a block, unless a head has more channels than that.
const THREADS: usize = 256;

/// Threads of a block at most, so channels of a head at most.
pub(super) const MAX_THREADS: usize = 1024;

/// Blocks per head: each reads its head's part of w once and then takes every `BLOCKS`-th node.
const BLOCKS: usize = 1024;

/// Bytes of shared memory that a block has on every GPU without asking for more.
const SMEM: usize = 48 << 10;

pub(super) fn launch(params: &Params, size: Size) -> Result<Tensor> {
    let Size {
        nodes,
        heads,
        head_dim,
        features,
        ..
    } = size;
    let dtype = params.q.dtype();
    if head_dim > MAX_THREADS {
        let expected = format!("at most {MAX_THREADS} channels a head");
        return Err(unsupported(KERNEL, expected, head_dim, 2));
    }
    let (module, entry) = by_dtype(
        "edge_attention_level3",
        dtype,
        (&F32, "edge_attention_f32_level3"),
        (&BF16, "edge_attention_bf16_level3"),
    )?;
    // A row of threads takes an edge: a power of two of them, for the tree.
    let width = head_dim.next_power_of_two();
    let rows = (THREADS / width)
        .min(params.graph.max_degree.next_power_of_two())
        .max(1);
    // An odd distance puts the same feature of 32 channels into 32 banks of shared memory.
    let padded = features | 1;
    let tree = (width * rows + 2 * rows) * size_of::<f32>();
    let staged = head_dim * padded * dtype.size_in_bytes();
    let fits = tree + staged <= SMEM;
    let y = output::tensor((nodes, heads * head_dim), dtype, params.q.device())?;
    if y.elem_count() == 0 {
        return Ok(y);
    }
    Launch::new(module, entry)
        .grid(nodes.min(BLOCKS), heads, 1)
        .block(width, rows, 1)
        .smem(if fits { tree + staged } else { tree })
        .view(params.q)
        .view(params.k)
        .view(params.v)
        .view(params.skip)
        .read(params.residual)
        .read(params.edges)
        .read(params.w)
        .read(&params.graph.row_ptr)
        .read(&params.graph.col_idx)
        .write(&y)
        .u32(nodes)
        .u32(head_dim)
        .u32(features)
        .u32(if fits { padded } else { 0 })
        .u32(params.q.stride()[0])
        .u32(params.k.stride()[0])
        .u32(params.v.stride()[0])
        .u32(params.skip.stride()[0])
        .f32(std::f64::consts::LOG2_E / (head_dim as f64).sqrt())
        .launch()?;
    Ok(y)
}
