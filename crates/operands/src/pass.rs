use std::any::Any;
use std::sync::OnceLock;

use candle_core::Tensor;

use crate::{Csr, GraphSizes, Linear, Norm, Segments, Weight};

/// All that a forward pass of the graph transformer reads.
pub struct GraphPass<'a> {
    /// (N, node features)
    pub x: &'a Tensor,
    /// (E, Fe), in the order of `graph`.
    pub edges: &'a Tensor,
    /// Which node points to which.
    pub graph: &'a Csr,
    /// Which node belongs to which graph.
    pub segments: &'a Segments,
    /// How large these graphs are.
    pub sizes: GraphSizes,
    /// (C, node features)
    pub proj_in: &'a Linear,
    /// The blocks, in order.
    pub blocks: Vec<GraphBlock<'a>>,
    /// (C), of a graph's mean.
    pub norm: &'a Norm,
    /// (classes, C)
    pub head: &'a Linear,
    /// H: heads of the attention.
    pub num_heads: usize,
    /// A place of the model's own, for what is made of its weights at first use and kept as long as they are.
    pub prepared: &'a OnceLock<Box<dyn Any + Send + Sync>>,
}

/// The weights of a block of the graph transformer.
#[derive(Clone, Copy)]
pub struct GraphBlock<'a> {
    /// (C), before the attention.
    pub norm1: &'a Norm,
    /// (4C, C): queries, keys, values and the skip connection.
    pub qkv_skip: &'a Linear,
    /// (C, Fe)
    pub edge: &'a Weight,
    /// (C), before the MLP.
    pub norm2: &'a Norm,
    /// (F, C)
    pub up: &'a Linear,
    /// (C, F)
    pub down: &'a Linear,
}

/// The last norm and the head of a decode step, and what the next step needs.
pub struct HeadPass<'a> {
    /// (1, 1, C), of one sequence.
    pub x: &'a Tensor,
    /// (C)
    pub norm: &'a Norm,
    /// (V, C)
    pub head: &'a Linear,
    /// Memory that the step writes besides its logits.
    pub next: &'a NextStep,
}

/// The state that a decode step leaves in the device's memory for the next one.
pub struct NextStep {
    /// (1) u32, to which the step adds 1.
    pub position: Tensor,
    /// One u32 for the most probable token, or for V where a logit is NaN; `None` where the step does not choose.
    pub token: Option<Tensor>,
    /// (4) u32, zeros before and after each step, for the maximum over the logits.
    pub scratch: Tensor,
}

/// The weights of a block of the language model.
#[derive(Clone, Copy)]
pub struct DecoderBlock<'a> {
    /// (C), before the attention.
    pub norm_before: &'a Norm,
    /// (H·D + 2·Hkv·D, C): queries, keys and values.
    pub qkv: &'a Linear,
    /// (C, H·D)
    pub out: &'a Linear,
    /// (C), before the MLP.
    pub norm_after: &'a Norm,
    /// (2F, C): the rows of the gate above those of the up-projection.
    pub gate_up: &'a Linear,
    /// (C, F)
    pub down: &'a Linear,
}

/// All that the blocks of a vision transformer read.
pub struct EncoderPass<'a> {
    /// (B, T, C): patches with the class token and positions.
    pub x: &'a Tensor,
    /// The blocks, in order.
    pub blocks: Vec<EncoderBlock<'a>>,
    /// H: heads of the attention.
    pub num_heads: usize,
    /// A place of the model's own, for what is made of its weights at first use and kept as long as they are.
    pub prepared: &'a OnceLock<Box<dyn Any + Send + Sync>>,
}

/// The weights of a block of the vision transformer.
#[derive(Clone, Copy)]
pub struct EncoderBlock<'a> {
    /// (C), before the attention.
    pub norm_before: &'a Norm,
    /// (3C, C): queries, keys and values.
    pub qkv: &'a Linear,
    /// (C, C)
    pub out: &'a Linear,
    /// (C), before the MLP.
    pub norm_after: &'a Norm,
    /// (F, C)
    pub up: &'a Linear,
    /// (C, F)
    pub down: &'a Linear,
}
