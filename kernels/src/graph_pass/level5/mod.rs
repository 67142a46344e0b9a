//! Level 5: one block per graph, whose nodes never leave it.

mod bf16;
mod f32;
mod prepared;

#[cfg(test)]
pub(super) use bf16::{MAX_LAYERS, TILE};
#[cfg(test)]
pub(super) use prepared::{GROUPS, LAYER_TILES, Weights, prepare};

use candle_core::{DType, Result, Tensor};
use operands::{Csr, GraphBlock, GraphPass, Linear, Norm, Segments};
use trace::span;

use crate::dispatch::{Facts, Feature};
use crate::launch::{Launch, is_aligned};
use crate::output;
use crate::without::Idea;

/// The sizes in `graph.cuh`: nodes of a graph at most, channels of a node's input, of a node and inside the MLP, heads,
/// features of an edge, edges of a graph at most.
pub(super) const NODES: usize = 32;
pub(super) const INPUTS: usize = 64;
pub(super) const CHANNELS: usize = 128;
pub(super) const HIDDEN: usize = 256;
pub(super) const HEADS: usize = 4;
pub(super) const FEATURES: usize = 16;
pub(super) const MAX_EDGES: usize = 448;

/// Threads of a block.
pub(super) const THREADS: usize = 512;

/// Logits (G, classes); see [the formula](super). `None` where the kernels cannot: without a Hopper, for other dtypes or
/// sizes, larger graphs, and edges between two graphs. In f32 also without layers, for weights that are trained
/// or too large, and without the idea `tf32x3`, which is about all of f32 on tensor cores.
///
/// # Errors
/// If tensors are on different devices, or a launch fails.
pub fn graph_pass(pass: &GraphPass) -> Result<Option<Tensor>> {
    let device = pass.x.device();
    if !device.is_cuda() || Idea::GraphPass.is_left_out() {
        return Ok(None);
    }
    if !Facts::of(device)?.has(Feature::Wgmma) {
        return Ok(None);
    }
    let Some(operands) = Operands::of(pass) else {
        return Ok(None);
    };
    let weights = match operands.x.dtype() {
        DType::F32 if Idea::Tf32x3.is_left_out() => return Ok(None),
        DType::F32 => match prepared::of(pass)? {
            None => return Ok(None),
            weights => weights,
        },
        _ => None,
    };
    let _span = span("graph_pass_level5");
    operands.launch(weights).map(Some)
}

/// A layer's operands, each of its own shape.
pub(super) struct Layer<'a> {
    /// qkv_skip, up and down.
    matrices: [&'a Tensor; 3],
    /// Norms, biases and the edges' weight, in the order of `Layer` in `bf16.cuh`.
    vectors: [&'a Tensor; 8],
}

impl<'a> Layer<'a> {
    fn of(block: &GraphBlock<'a>, dtype: DType, eps: f64) -> Option<Self> {
        let norm = |norm| layer_norm(norm, dtype, eps);
        let linear = |w, n, k| linear(w, dtype, n, k);
        let (qkv_skip, qkv_skip_b) = linear(block.qkv_skip, 4 * CHANNELS, CHANNELS)?;
        let (up, up_b) = linear(block.up, HIDDEN, CHANNELS)?;
        let (down, down_b) = linear(block.down, CHANNELS, HIDDEN)?;
        let edge = fits(block.edge.tensor(), dtype, &[CHANNELS, FEATURES])?;
        let ([norm1_w, norm1_b], [norm2_w, norm2_b]) = (norm(block.norm1)?, norm(block.norm2)?);
        Some(Self {
            matrices: [qkv_skip, up, down],
            vectors: [
                norm1_w, norm1_b, norm2_w, norm2_b, qkv_skip_b, up_b, down_b, edge,
            ],
        })
    }
}

/// The operands of a pass that the kernels can read.
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
    /// `None` if there is no kernel for `pass`.
    pub fn of(pass: &GraphPass<'a>) -> Option<Self> {
        let (sizes, graph, segments) = (pass.sizes, pass.graph, pass.segments);
        let small = sizes.max_nodes <= NODES && sizes.max_edges <= MAX_EDGES;
        let can = sizes.are_separate && small && pass.num_heads == HEADS && graph.num_nodes > 0;
        let dtype = pass.x.dtype();
        let layers = match dtype {
            DType::BF16 => 0..=bf16::MAX_LAYERS,
            DType::F32 => 1..=bf16::MAX_LAYERS, // it requests tiles before it knows their number
            _ => return None,
        };
        if !can || !layers.contains(&pass.blocks.len()) {
            return None;
        }
        let Norm::Layer { eps, .. } = *pass.norm else {
            return None;
        };
        indices(&graph.row_ptr, graph.num_nodes + 1)?;
        indices(&graph.col_idx, graph.num_edges)?;
        indices(&segments.offsets, segments.num_segments + 1)?;
        let classes = pass.head.weight.tensor().dim(0).ok().filter(|n| *n > 0)?;
        let layers = (pass.blocks.iter()).map(|block| Layer::of(block, dtype, eps));
        Some(Self {
            x: fits(pass.x, dtype, &[graph.num_nodes, INPUTS])?,
            edges: fits(pass.edges, dtype, &[graph.num_edges, FEATURES])?,
            graph,
            segments,
            proj_in: linear(pass.proj_in, dtype, CHANNELS, INPUTS)?,
            norm: layer_norm(pass.norm, dtype, eps)?,
            head: linear(pass.head, dtype, classes, CHANNELS)?,
            classes,
            eps,
            layers: layers.collect::<Option<_>>()?,
        })
    }

    /// Logits (G, classes). In f32 the layers' weights are those that were prepared.
    fn launch(&self, weights: Option<&prepared::Weights>) -> Result<Tensor> {
        let graphs = self.segments.num_segments;
        let y = output::tensor((graphs, self.classes), self.x.dtype(), self.x.device())?;
        self.arguments(weights, graphs, &y).launch()?;
        Ok(y)
    }

    /// The fields of `Params` in order.
    pub(super) fn arguments<'b>(
        &'b self,
        weights: Option<&'b prepared::Weights>,
        graphs: usize,
        y: &'b Tensor,
    ) -> Launch<'b> {
        let launch = match weights {
            Some(weights) => f32::launch(self, weights, y),
            None => bf16::launch(self, y),
        };
        launch.grid(graphs, 1, 1).block(THREADS, 1, 1).one_struct()
    }

    /// Adds the fields from the graphs' offsets to eps, which both kernels have.
    fn with_graphs<'b>(&'b self, launch: Launch<'b>, y: &'b Tensor) -> Launch<'b> {
        launch
            .read(&self.segments.offsets)
            .read(&self.graph.row_ptr)
            .read(&self.graph.col_idx)
            .write(y)
            .u32(self.layers.len())
            .u32(self.classes)
            .f32(self.eps)
    }
}

/// `x` if a kernel can read it: of this dtype and these dimensions, contiguous and 16-byte aligned.
fn fits<'a>(x: &'a Tensor, dtype: DType, dims: &[usize]) -> Option<&'a Tensor> {
    let fits = x.dtype() == dtype && x.dims() == dims;
    (fits && x.is_contiguous() && is_aligned(&[x])).then_some(x)
}

/// The same for `len` indices.
fn indices(x: &Tensor, len: usize) -> Option<()> {
    (x.dtype() == DType::U32 && x.dims() == [len] && x.is_contiguous()).then_some(())
}

/// Weight (n, k) and bias (n).
fn linear(w: &Linear, dtype: DType, n: usize, k: usize) -> Option<(&Tensor, &Tensor)> {
    Some((
        fits(w.weight.tensor(), dtype, &[n, k])?,
        fits(w.bias.as_ref()?, dtype, &[n])?,
    ))
}

/// Weight and bias of a LayerNorm whose `eps` is that of the others.
fn layer_norm(norm: &Norm, dtype: DType, expected: f64) -> Option<[&Tensor; 2]> {
    match norm {
        Norm::Layer { weight, bias, eps } if *eps == expected => {
            let fits = |x| fits(x, dtype, &[CHANNELS]);
            Some([fits(weight)?, fits(bias)?])
        }
        _ => None,
    }
}
