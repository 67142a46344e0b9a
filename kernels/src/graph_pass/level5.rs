//! All of the graph transformer in one launch: the launch of `level5.cu`.

use candle_core::{DType, Result, Tensor};
use operands::{Csr, GraphBlock, GraphPass, Linear, Norm, Segments};

use crate::launch::{Launch, Module, is_aligned, module};
use crate::output;

pub(super) static MODULE: Module = module!("graph_pass/level5", sm_90a);

pub(super) const ENTRY: &str = "graph_pass_bf16_level5";

/// The sizes in `level5.cuh`: nodes of a graph at most, channels of a node's input, of a node and inside the MLP, heads,
/// features of an edge, blocks and edges of a graph at most.
pub(super) const NODES: usize = 32;
pub(super) const INPUTS: usize = 64;
pub(super) const CHANNELS: usize = 128;
pub(super) const HIDDEN: usize = 256;
pub(super) const HEADS: usize = 4;
pub(super) const FEATURES: usize = 16;
pub(super) const MAX_LAYERS: usize = 8;
pub(super) const MAX_EDGES: usize = 448;

/// Threads of a block.
pub(super) const THREADS: usize = 512;

/// Rows and columns of a tile of weights; STAGES of them are in shared memory.
pub(super) const TILE: [usize; 2] = [128, 64];

/// `Shared::BYTES`
pub(super) const SMEM: usize = 230_832;

/// A layer's operands, each of its own shape.
pub(super) struct Layer<'a> {
    /// Weights that TMA reads: qkv_skip, up and down.
    matrices: [&'a Tensor; 3],
    /// Norms, biases and the edges' weight, in the order of `Layer` in `level5.cuh`.
    vectors: [&'a Tensor; 8],
}

impl<'a> Layer<'a> {
    fn of(block: &GraphBlock<'a>, eps: f64) -> Option<Self> {
        let (norm1, norm2) = (layer_norm(block.norm1, eps)?, layer_norm(block.norm2, eps)?);
        let (qkv_skip, qkv_skip_b) = linear(block.qkv_skip, 4 * CHANNELS, CHANNELS)?;
        let (up, up_b) = linear(block.up, HIDDEN, CHANNELS)?;
        let (down, down_b) = linear(block.down, CHANNELS, HIDDEN)?;
        let edge = fits(block.edge.tensor(), &[CHANNELS, FEATURES])?;
        let ([norm1_w, norm1_b], [norm2_w, norm2_b]) = (norm1, norm2);
        Some(Self {
            matrices: [qkv_skip, up, down],
            vectors: [
                norm1_w, norm1_b, norm2_w, norm2_b, qkv_skip_b, up_b, down_b, edge,
            ],
        })
    }
}

/// The operands of a pass that the kernel can compute.
pub(super) struct Operands<'a> {
    x: &'a Tensor,
    edges: &'a Tensor,
    graph: &'a Csr,
    segments: &'a Segments,
    proj_in: (&'a Tensor, &'a Tensor),
    norm: [&'a Tensor; 2],
    head: (&'a Tensor, &'a Tensor),
    classes: usize,
    eps: f64,
    layers: Vec<Layer<'a>>,
}

impl<'a> Operands<'a> {
    /// `None` if the kernel cannot compute `pass`.
    pub fn of(pass: &GraphPass<'a>) -> Option<Self> {
        let (sizes, graph, segments) = (pass.sizes, pass.graph, pass.segments);
        let small = sizes.max_nodes <= NODES && sizes.max_edges <= MAX_EDGES;
        let can = sizes.are_separate && small && pass.num_heads == HEADS && graph.num_nodes > 0;
        if !can || pass.blocks.len() > MAX_LAYERS {
            return None;
        }
        let Norm::Layer { eps, .. } = *pass.norm else {
            return None;
        };
        indices(&graph.row_ptr, graph.num_nodes + 1)?;
        indices(&graph.col_idx, graph.num_edges)?;
        indices(&segments.offsets, segments.num_segments + 1)?;
        let classes = pass.head.weight.tensor().dim(0).ok().filter(|n| *n > 0)?;
        let layers = pass.blocks.iter().map(|block| Layer::of(block, eps));
        Some(Self {
            x: fits(pass.x, &[graph.num_nodes, INPUTS])?,
            edges: fits(pass.edges, &[graph.num_edges, FEATURES])?,
            graph,
            segments,
            proj_in: linear(pass.proj_in, CHANNELS, INPUTS)?,
            norm: layer_norm(pass.norm, eps)?,
            head: linear(pass.head, classes, CHANNELS)?,
            classes,
            eps,
            layers: layers.collect::<Option<_>>()?,
        })
    }

    /// Logits (G, classes).
    pub fn launch(&self) -> Result<Tensor> {
        let graphs = self.segments.num_segments;
        let y = output::tensor((graphs, self.classes), DType::BF16, self.x.device())?;
        self.arguments(graphs, &y).launch()?;
        Ok(y)
    }

    /// The fields of `Params` in `level5.cuh`, in its order; layers that are not there are 0.
    pub(super) fn arguments<'b>(&'b self, graphs: usize, y: &'b Tensor) -> Launch<'b> {
        let [rows, columns] = TILE;
        let ((proj_in, proj_in_b), (head, head_b)) = (self.proj_in, self.head);
        let mut launch = Launch::new(&MODULE, ENTRY)
            .grid(graphs, 1, 1)
            .block(THREADS, 1, 1)
            .smem(SMEM)
            .one_struct()
            .boxes(self.x, NODES, columns)
            .boxes(proj_in, rows, columns);
        let [norm_w, norm_b] = self.norm;
        for x in [proj_in_b, self.edges, norm_w, norm_b, head, head_b] {
            launch = launch.read(x);
        }
        launch = launch
            .read(&self.segments.offsets)
            .read(&self.graph.row_ptr)
            .read(&self.graph.col_idx)
            .write(y)
            .u32(self.layers.len())
            .u32(self.classes)
            .f32(self.eps);
        for layer in &self.layers {
            for w in layer.matrices {
                launch = launch.boxes(w, rows, columns);
            }
            for x in layer.vectors {
                launch = launch.read(x);
            }
        }
        launch
    }
}

/// `x` if the kernel can read it: bf16 of these dimensions, contiguous and 16-byte aligned.
fn fits<'a>(x: &'a Tensor, dims: &[usize]) -> Option<&'a Tensor> {
    let fits = x.dtype() == DType::BF16 && x.dims() == dims;
    (fits && x.is_contiguous() && is_aligned(&[x])).then_some(x)
}

/// The same for `len` indices.
fn indices(x: &Tensor, len: usize) -> Option<()> {
    (x.dtype() == DType::U32 && x.dims() == [len] && x.is_contiguous()).then_some(())
}

/// Weight (n, k) and bias (n).
fn linear(w: &Linear, n: usize, k: usize) -> Option<(&Tensor, &Tensor)> {
    Some((
        fits(w.weight.tensor(), &[n, k])?,
        fits(w.bias.as_ref()?, &[n])?,
    ))
}

/// Weight and bias of a LayerNorm whose `eps` is that of the others.
fn layer_norm(norm: &Norm, expected: f64) -> Option<[&Tensor; 2]> {
    match norm {
        Norm::Layer { weight, bias, eps } if *eps == expected => {
            Some([fits(weight, &[CHANNELS])?, fits(bias, &[CHANNELS])?])
        }
        _ => None,
    }
}
