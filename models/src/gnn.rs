//! The graph transformer.
//!
//! Attention over edges with features is "Masked label prediction", Shi et al. 2021, as PyTorch
//! Geometric's `TransformerConv` computes it; the block around it is that of the other two models.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use data::BadInput;
use data::features::{edge_features, node_features};

use crate::config::ConfigFile;
use crate::weight::{linear, norm};
use crate::{Csr, Heads, Ops, Segments, Weight, graph};

/// Where the tensors of the layers are, each below its number.
pub const LAYERS: &str = "blocks";

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
    pub fn from_file(file: &ConfigFile) -> std::result::Result<Self, BadInput> {
        file.architecture("GraphTransformer", "graph_transformer")
            .or_else(|e| {
                file.get("architectures")
                    .or(file.get("model_type"))
                    .map_or(Ok(()), |_| Err(e))
            })?;
        file.only("hidden_act", "gelu")?;
        file.divides("num_attention_heads", "hidden_size")?;
        let num_classes = file.size("num_classes")?;
        let label = |i: usize| {
            let key = format!("id2label.{i}");
            let name = file.get(&key).map(|name| name.as_str().map(str::to_string));
            match name {
                Some(name) => name.ok_or_else(|| file.complain(&key, "a name")),
                None => Ok(format!("class {i}")),
            }
        };
        Ok(Self {
            node_features: file.size("node_features")?,
            edge_features: file.size("edge_features")?,
            hidden_size: file.size("hidden_size")?,
            num_attention_heads: file.size("num_attention_heads")?,
            num_hidden_layers: file.size("num_hidden_layers")?,
            intermediate_size: file.size("intermediate_size")?,
            num_classes,
            layer_norm_eps: file.positive_or("layer_norm_eps", 1e-5)?,
            labels: (0..num_classes)
                .map(label)
                .collect::<std::result::Result<_, _>>()?,
        })
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
}

impl GraphBatch {
    /// The same graphs with other features, x (N, node_features) and edges (E, edge_features).
    pub fn with(&self, x: Tensor, edges: Tensor) -> Self {
        Self {
            x,
            edges,
            graph: self.graph.clone(),
            segments: self.segments.clone(),
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
        let rows = |what, expected: usize, found: usize| match expected == found {
            true => Ok(()),
            false => Err(BadInput::new(what, format!("{expected} rows"), found)),
        };
        rows("edge_attr", edges.len(), num_edges)?;
        rows("batch", num_nodes, batch.len())?;
        let device: &Device = x.device();
        let (csr, order) = Csr::new(num_nodes, edges, device)?;
        Ok(Self {
            edges: graph::reorder(edge_features, &order)?,
            segments: Segments::new(num_graphs, batch, device)?,
            graph: csr,
            x,
        })
    }
}

struct Block {
    norm1: (Tensor, Tensor),    // (C), (C)
    qkv_skip: (Weight, Tensor), // (4C, C), (4C)
    edge: Weight,               // (C, Fe)
    norm2: (Tensor, Tensor),    // (C), (C)
    up: (Weight, Tensor),       // (F, C), (F)
    down: (Weight, Tensor),     // (C, F), (C)
}

impl Block {
    fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let (c, f) = (config.hidden_size, config.intermediate_size);
        let conv = vb.pp("conv");
        let parts = ["lin_query", "lin_key", "lin_value", "lin_skip"].map(|part| conv.pp(part));
        let weights: Vec<Tensor> = parts
            .iter()
            .map(|p| p.get((c, c), "weight"))
            .collect::<Result<_>>()?;
        let biases: Vec<Tensor> = parts
            .iter()
            .map(|p| p.get(c, "bias"))
            .collect::<Result<_>>()?;
        Ok(Self {
            norm1: norm(vb.pp("norm1"), c)?,
            qkv_skip: (Weight::stack(&weights)?, Tensor::cat(&biases, 0)?),
            edge: Weight::new(conv.get((c, config.edge_features), "lin_edge.weight")?),
            norm2: norm(vb.pp("norm2"), c)?,
            up: linear(vb.pp("mlp.0"), f, c)?,
            down: linear(vb.pp("mlp.2"), c, f)?,
        })
    }

    // ANCHOR: block
    /// x and delta (N, C): the stream, and what the block before has yet to add to it.
    fn forward(
        &self,
        ops: &dyn Ops,
        config: &Config,
        batch: &GraphBatch,
        x: &Tensor,
        delta: Option<&Tensor>,
    ) -> Result<(Tensor, Tensor)> {
        let eps = config.layer_norm_eps;
        let (w, b) = &self.norm1;
        let (x, h) = ops.add_layer_norm(x, delta, w, b, eps)?; // (N, C)
        let (w, b) = &self.qkv_skip;
        let (q, k, v, skip) = ops.qkv_skip(&h, w, b, config.heads())?; // (N, H, D)
        let delta =
            ops.edge_attention(&q, &k, &v, &skip, &batch.edges, &self.edge, &batch.graph)?; // (N, C)

        let (w, b) = &self.norm2;
        let (x, h) = ops.add_layer_norm(&x, Some(&delta), w, b, eps)?;
        let h = ops.linear_gelu(&h, &self.up.0, &self.up.1)?; // (N, F)
        let delta = ops.linear(&h, &self.down.0, Some(&self.down.1))?; // (N, C)
        Ok((x, delta))
    }
    // ANCHOR_END: block
}

/// A graph transformer with its weights.
pub struct GraphTransformer {
    config: Config,
    proj_in: (Weight, Tensor), // (C, node_features), (C)
    blocks: Vec<Block>,
    norm: (Tensor, Tensor), // (C), (C)
    head: (Weight, Tensor), // (classes, C), (classes)
}

impl GraphTransformer {
    /// Loads the weights that `config` asks for; errors name the tensor.
    pub fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let c = config.hidden_size;
        let block = |i| Block::load(vb.pp(LAYERS).pp(i), config);
        Ok(Self {
            proj_in: linear(vb.pp("proj_in"), c, config.node_features)?,
            blocks: (0..config.num_hidden_layers)
                .map(block)
                .collect::<Result<_>>()?,
            norm: norm(vb.pp("norm"), c)?,
            head: linear(vb.pp("head"), config.num_classes, c)?,
            config: config.clone(),
        })
    }

    /// The architecture's numbers.
    pub fn config(&self) -> &Config {
        &self.config
    }

    // ANCHOR: forward
    /// Graphs of N nodes in all → logits (G, classes)
    pub fn forward(&self, ops: &dyn Ops, batch: &GraphBatch) -> Result<Tensor> {
        let (w, b) = &self.proj_in;
        let mut x = ops.linear(&batch.x, w, Some(b))?; // (N, C)
        let mut delta = None;
        for block in &self.blocks {
            let (sum, next) = block.forward(ops, &self.config, batch, &x, delta.as_ref())?;
            (x, delta) = (sum, Some(next));
        }
        let delta = delta.map_or_else(|| x.zeros_like(), Ok)?;
        let pooled = ops.segment_mean(&x, &delta, &batch.segments)?; // (G, C)
        let (w, b) = &self.norm;
        let (_, h) = ops.add_layer_norm(&pooled, None, w, b, self.config.layer_norm_eps)?;
        ops.linear(&h, &self.head.0, Some(&self.head.1)) // (G, classes)
    }
    // ANCHOR_END: forward
}
