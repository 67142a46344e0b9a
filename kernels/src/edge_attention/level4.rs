//! Level 4: 8, 16 or 32 lanes share a head of a node, edge features folded.

use candle_core::{Result, Tensor};

use super::{Params, Size, level3_launch};
use crate::element::by_dtype;
use crate::error::unsupported;
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("edge_attention/level4", sm_75);

const KERNEL: &str = "edge_attention_level4";

pub(super) const WARP: usize = 32;

/// Warps of a block.
pub(super) const WARPS: usize = 8;

/// Channels, and features, in one load of a lane.
pub(super) const PER_LOAD: usize = 4;

/// Loads of a lane that cover a head in `edge_attention_wide_*`; one does in `edge_attention_*`.
const WIDE: usize = 4;

/// Bytes of w, transposed and in f32, that a block copies to shared memory; a larger w is read from global memory.
/// Together with the kernel's own arrays that is below the 48 KiB that a block always has.
const STAGED: usize = 40 << 10;

pub(super) fn launch(params: &Params, size: Size) -> Result<Tensor> {
    let Size {
        nodes,
        heads,
        head_dim,
        ..
    } = size;
    let dtype = params.q.dtype();
    let shares = Shares::of(size)?;
    let entry = if is_wide(head_dim) {
        by_dtype(
            "edge_attention_wide_level4",
            dtype,
            "edge_attention_wide_f32_level4",
            "edge_attention_wide_bf16_level4",
        )?
    } else {
        by_dtype(
            "edge_attention_level4",
            dtype,
            "edge_attention_f32_level4",
            "edge_attention_bf16_level4",
        )?
    };
    let y = output::tensor((nodes, heads * head_dim), dtype, params.q.device())?;
    if y.elem_count() > 0 {
        let launch = Launch::new(&MODULE, entry).grid(shares.blocks(size), 1, 1);
        shares.arguments(launch, params, size, &y).launch()?;
    }
    Ok(y)
}

/// Whether one load of each lane does not cover a head.
pub(super) fn is_wide(head_dim: usize) -> bool {
    head_dim > WARP * PER_LOAD
}

/// How nodes are shared out over lanes, and how w lies in shared memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    /// Lanes that share a head of a node: enough to hold its channels, and its folded features.
    lanes: usize,
    /// From one feature of the transposed w to the next in shared memory; 0 where w does not fit there.
    padded: usize,
}

impl Shares {
    /// # Errors
    /// When a head does not fit a warp's registers, or the features of an edge its lanes.
    pub(super) fn of(size: Size) -> Result<Self> {
        let (head_dim, features) = (size.head_dim, size.features);
        if head_dim > WARP * PER_LOAD * WIDE {
            let expected = format!("at most {} channels a head", WARP * PER_LOAD * WIDE);
            let level = if head_dim <= level3_launch::MAX_THREADS {
                3
            } else {
                2
            };
            return Err(unsupported(KERNEL, expected, head_dim, level));
        }
        if features > WARP * PER_LOAD {
            let expected = format!("at most {} features an edge", WARP * PER_LOAD);
            return Err(unsupported(KERNEL, expected, features, 3));
        }
        let lanes = head_dim
            .max(features)
            .div_ceil(PER_LOAD)
            .next_power_of_two();
        // A feature's weights for all channels, each head's filled up to whole loads; an odd number of
        // loads, so that neighbouring features start in other banks of shared memory.
        let padded = PER_LOAD * ((size.heads * head_dim.div_ceil(PER_LOAD)) | 1);
        let fits = features * padded * size_of::<f32>() <= STAGED;
        Ok(Self {
            lanes: lanes.clamp(8, WARP),
            padded: if fits { padded } else { 0 },
        })
    }

    /// Heads that a warp has at once.
    pub(super) fn heads_per_warp(self) -> usize {
        WARP / self.lanes
    }

    /// Blocks for all heads of all nodes.
    pub(super) fn blocks(self, size: Size) -> usize {
        (size.nodes * size.heads).div_ceil(WARPS * self.heads_per_warp())
    }

    /// Adds the block, its shared memory and the parameters up to the scale.
    pub(super) fn arguments<'a>(
        self,
        launch: Launch<'a>,
        params: &Params<'a>,
        size: Size,
        y: &'a Tensor,
    ) -> Launch<'a> {
        launch
            .block(WARP * WARPS, 1, 1)
            .smem(size.features * self.padded * size_of::<f32>())
            .view(params.q)
            .view(params.k)
            .view(params.v)
            .view(params.skip)
            .read(params.residual)
            .read(params.edges)
            .read(params.w)
            .read(&params.graph.row_ptr)
            .read(&params.graph.col_idx)
            .write(y)
            .u32(size.nodes)
            .u32(size.heads)
            .u32(size.head_dim)
            .u32(size.features)
            .u32(self.lanes)
            .u32(self.padded)
            .u32(params.graph.max_degree)
            .u32(params.q.stride()[0])
            .u32(params.k.stride()[0])
            .u32(params.v.stride()[0])
            .u32(params.skip.stride()[0])
            .f32(std::f64::consts::LOG2_E / (size.head_dim as f64).sqrt())
    }
}
