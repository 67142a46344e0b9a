//! The graph transformer.
//!
//! Attention over edges with features is "Masked label prediction", Shi et al. 2021, as PyTorch
//! Geometric's `TransformerConv` computes it; the block around it is that of the other two models.
//!
//! The methods of `ops` are in `levels/levelN/src/ops.rs`, for each level N.

use std::any::Any;
use std::sync::OnceLock;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use data::BadInput;
use data::features::{edge_features, node_features};

use crate::config::ConfigFile;
use crate::largest::{self, MAX_ELEMENTS, Size};
use crate::layers::{layer_norm, linear, stacked};
use crate::whole_pass::{GraphBlock, GraphPass};
use crate::{Csr, GraphSizes, Heads, Linear, Norm, Ops, Scores, Segments, Weight};

/// Where the tensors of the layers are, each below its number.
pub const LAYERS: &str = "blocks";

/// The ops that a forward pass calls, in the order of [`Ops`].
pub const OPS: &[&str] = &[
    "linear",
    "norm_linear",
    "norm_qkv_skip",
    "edge_attention",
    "linear_residual",
    "norm_gelu",
    "segment_mean",
];

/// The largest number of classes, whose names are made before the weights are read.
const MAX_CLASSES: usize = 1 << 20;

/// The architecture's numbers, as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Channels of a node's input.
    pub node_features: usize,
    /// Fe: channels of an edge's input.
    pub edge_features: usize,
    /// C: channels of a node.
    pub hidden_size: usize,
    /// H.
    pub num_attention_heads: usize,
    /// Blocks.
    pub num_hidden_layers: usize,
    /// F: channels inside the MLP.
    pub intermediate_size: usize,
    /// Classes of graphs.
    pub num_classes: usize,
    /// Inside the square root of every LayerNorm.
    pub layer_norm_eps: f64,
    /// Names of the classes.
    pub labels: Vec<String>,
}

impl Config {
    /// Reads `config.json`; what is not implemented is refused by name.
    ///
    /// # Errors
    /// [`BadInput`] with the key of the first value that is missing, wrong or not implemented.
    pub fn from_file(file: &ConfigFile) -> std::result::Result<Self, BadInput> {
        file.architecture("GraphTransformer", "graph_transformer")
            .or_else(|e| {
                file.get("architectures")
                    .or(file.get("model_type"))
                    .map_or(Ok(()), |_| Err(e))
            })?;
        file.only("hidden_act", "gelu")?;
        file.no_variant()?;
        file.only("concat", true)?;
        file.only("beta", false)?;
        file.divides("num_attention_heads", "hidden_size")?;
        let num_classes = file.size("num_classes")?;
        if num_classes > MAX_CLASSES {
            return Err(file.complain("num_classes", format!("at most {MAX_CLASSES}")));
        }
        let label = |i: usize| {
            let key = format!("id2label.{i}");
            let name = file.get(&key).map(|name| name.as_str().map(str::to_string));
            match name {
                Some(name) => name.ok_or_else(|| file.complain(&key, "a name")),
                None => Ok(format!("class {i}")),
            }
        };
        let labels: Vec<String> = (0..num_classes)
            .map(label)
            .collect::<std::result::Result<_, _>>()?;
        file.is_object("id2label")?;
        let names = file.get("id2label").and_then(|names| names.as_object());
        if names.is_some_and(|names| names.len() != num_classes) {
            let expected = format!("a name for each of the {num_classes} classes");
            return Err(file.complain("id2label", expected));
        }
        Ok(Self {
            node_features: file.size("node_features")?,
            edge_features: file.size("edge_features")?,
            hidden_size: file.size("hidden_size")?,
            num_attention_heads: file.size("num_attention_heads")?,
            num_hidden_layers: file.size("num_hidden_layers")?,
            intermediate_size: file.size("intermediate_size")?,
            num_classes,
            layer_norm_eps: file.epsilon_or("layer_norm_eps", 1e-5)?,
            labels,
        })
    }

    /// Refuses a pass over `[nodes, edges, graphs]` if one of its tensors would be too large.
    ///
    /// # Errors
    /// [`BadInput`] about `input`, with the keys of the largest tensor.
    pub fn check_pass(
        &self,
        input: &str,
        [nodes, edges, graphs]: [usize; 3],
        scores: Scores,
    ) -> std::result::Result<(), BadInput> {
        let nodes = ("nodes", nodes);
        let edges = ("edges", edges);
        let hidden = ("`hidden_size`", self.hidden_size);
        let sizes: [Size; 5] = [
            &[nodes, ("`node_features`", self.node_features)],
            &[nodes, ("4", 4), hidden],
            &[nodes, ("`intermediate_size`", self.intermediate_size)],
            &[edges, ("`edge_features`", self.edge_features)],
            &[("graphs", graphs), ("`num_classes`", self.num_classes)],
        ];
        largest::check(input, MAX_ELEMENTS, &sizes)?;
        scores.check(input, self.num_hidden_layers, &[&[edges, hidden]])
    }

    /// H and D.
    pub fn heads(&self) -> Heads {
        let d = self.hidden_size / self.num_attention_heads;
        Heads::full(self.num_attention_heads, d)
    }
}

/// One or more graphs, ready for [`GraphTransformer::forward`].
pub struct GraphBatch {
    /// (N, node_features)
    pub x: Tensor,
    /// (E, edge_features), in the order of `graph`.
    pub edges: Tensor,
    /// Which node points to which.
    pub graph: Csr,
    /// Which node belongs to which graph.
    pub segments: Segments,
    /// How large the graphs are.
    pub sizes: GraphSizes,
}

impl GraphBatch {
    /// The same graphs with other features, x (N, node_features) and edges (E, edge_features).
    pub fn with(&self, x: Tensor, edges: Tensor) -> Self {
        Self {
            x,
            edges,
            graph: self.graph.clone(),
            segments: self.segments.clone(),
            sizes: self.sizes,
        }
    }

    /// `graphs` side by side, with the features that the model of `config` takes.
    ///
    /// # Errors
    /// [`BadInput`] for features of another width than the model's (see [`data::features`]).
    pub fn of(
        graphs: &[data::graph::Graph],
        config: &Config,
        dtype: DType,
        device: &Device,
    ) -> crate::Result<Self> {
        let (width, edge_width) = (config.node_features, config.edge_features);
        let (mut x, mut features, mut edges, mut batch) = (vec![], vec![], vec![], vec![]);
        for (g, graph) in (0u32..).zip(graphs) {
            let first = batch.len() as u32;
            x.extend(node_features(graph, width)?);
            features.extend(edge_features(graph, edge_width)?);
            edges.extend(graph.edges.iter().map(|edge| edge.map(|node| first + node)));
            batch.extend(std::iter::repeat_n(g, graph.num_nodes));
        }
        let x = Tensor::from_vec(x, (batch.len(), width), device)?.to_dtype(dtype)?;
        let features = Tensor::from_vec(features, (edges.len(), edge_width), device)?;
        Self::new(x, &edges, &features.to_dtype(dtype)?, &batch, graphs.len())
    }

    /// From x (N, node_features), `edges` (source, destination) in any order with their features
    /// (E, edge_features), and the graph of each node.
    ///
    /// # Errors
    /// [`BadInput`] for an edge to a node that is not there, or when the counts disagree.
    pub fn new(
        x: Tensor,
        edges: &[[u32; 2]],
        edge_features: &Tensor,
        batch: &[u32],
        num_graphs: usize,
    ) -> crate::Result<Self> {
        let (num_nodes, _) = x.dims2()?;
        let (num_edges, _) = edge_features.dims2()?;
        let rows = |what, expected: usize, found: usize| {
            if expected == found {
                Ok(())
            } else {
                Err(BadInput::new(what, format!("{expected} rows"), found))
            }
        };
        rows("edge_attr", edges.len(), num_edges)?;
        rows("batch", num_nodes, batch.len())?;
        let device: &Device = x.device();
        let (csr, order) = Csr::new(num_nodes, edges, device)?;
        Ok(Self {
            edges: reorder(edge_features, &order)?,
            segments: Segments::new(num_graphs, batch, device)?,
            sizes: GraphSizes::new(num_graphs, batch, edges)?,
            graph: csr,
            x,
        })
    }
}

/// Rows of `features` (E, Fe) in the order that [`Csr::new`] returned.
fn reorder(features: &Tensor, order: &[u32]) -> Result<Tensor> {
    if order.is_empty() {
        return Ok(features.clone());
    }
    features.index_select(&Tensor::new(order, features.device())?, 0)
}

struct Block {
    norm1: Norm,      // (C)
    qkv_skip: Linear, // (4C, C)
    edge: Weight,     // (C, Fe)
    norm2: Norm,      // (C)
    up: Linear,       // (F, C)
    down: Linear,     // (C, F)
}

impl Block {
    fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let (c, f, eps) = (
            config.hidden_size,
            config.intermediate_size,
            config.layer_norm_eps,
        );
        let conv = vb.pp("conv");
        let qkv_skip =
            ["lin_query", "lin_key", "lin_value", "lin_skip"].map(|part| (conv.pp(part), c));
        Ok(Self {
            norm1: layer_norm(vb.pp("norm1"), c, eps)?,
            qkv_skip: stacked(&qkv_skip, c, true)?,
            edge: Weight::new(conv.get((c, config.edge_features), "lin_edge.weight")?),
            norm2: layer_norm(vb.pp("norm2"), c, eps)?,
            up: linear(vb.pp("mlp.0"), f, c)?,
            down: linear(vb.pp("mlp.2"), c, f)?,
        })
    }

    fn borrow(&self) -> GraphBlock<'_> {
        GraphBlock {
            norm1: &self.norm1,
            qkv_skip: &self.qkv_skip,
            edge: &self.edge,
            norm2: &self.norm2,
            up: &self.up,
            down: &self.down,
        }
    }

    /// x (N, C) → (N, C)
    fn forward(
        &self,
        ops: &dyn Ops,
        x: &Tensor,
        heads: Heads,
        GraphBatch { edges, graph, .. }: &GraphBatch,
    ) -> Result<Tensor> {
        let (q, k, v, skip) = ops.norm_qkv_skip(x, &self.norm1, &self.qkv_skip, heads)?; // (N, H, D)
        let x = ops.edge_attention(&q, &k, &v, &skip, x, edges, &self.edge, graph)?; // (N, C)
        let h = ops.norm_gelu(&x, &self.norm2, &self.up)?; // (N, F)
        ops.linear_residual(&h, &self.down, &x) // (N, C)
    }
}

/// A graph transformer with its weights.
pub struct GraphTransformer {
    config: Config,
    proj_in: Linear, // (C, node_features)
    blocks: Vec<Block>,
    norm: Norm,   // (C)
    head: Linear, // (classes, C)
    prepared: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl GraphTransformer {
    /// Loads the weights that `config` asks for; errors name the tensor.
    ///
    /// # Errors
    /// If a weight is missing or of another shape.
    pub fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let c = config.hidden_size;
        let block = |i| Block::load(vb.pp(LAYERS).pp(i), config);
        Ok(Self {
            proj_in: linear(vb.pp("proj_in"), c, config.node_features)?,
            blocks: (0..config.num_hidden_layers)
                .map(block)
                .collect::<Result<_>>()?,
            norm: layer_norm(vb.pp("norm"), c, config.layer_norm_eps)?,
            head: linear(vb.pp("head"), config.num_classes, c)?,
            config: config.clone(),
            prepared: OnceLock::new(),
        })
    }

    /// The architecture's numbers.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// All that a pass over `batch` reads.
    fn graph_pass<'a>(&'a self, batch: &'a GraphBatch) -> GraphPass<'a> {
        GraphPass {
            x: &batch.x,
            edges: &batch.edges,
            graph: &batch.graph,
            segments: &batch.segments,
            sizes: batch.sizes,
            proj_in: &self.proj_in,
            blocks: self.blocks.iter().map(Block::borrow).collect(),
            norm: &self.norm,
            head: &self.head,
            num_heads: self.config.num_attention_heads,
            prepared: &self.prepared,
        }
    }

    /// Graphs of N nodes in all → logits (G, classes)
    ///
    /// # Errors
    /// The errors of `ops`.
    pub fn forward(&self, ops: &dyn Ops, batch: &GraphBatch) -> Result<Tensor> {
        if let Some(logits) = ops.graph_pass(&self.graph_pass(batch))? {
            return Ok(logits);
        }
        let mut x = ops.linear(&batch.x, &self.proj_in)?; // (N, C)
        for (i, block) in self.blocks.iter().enumerate() {
            let _part = trace::part(|| format!("block {i}"));
            x = block.forward(ops, &x, self.config.heads(), batch)?;
        }
        let pooled = ops.segment_mean(&x, &batch.segments)?; // (G, C)
        ops.norm_linear(&pooled, &self.norm, &self.head) // (G, classes)
    }
}
