//! The small graph transformer: which of ten families drew a graph.

use candle_core::{DType, Device, Tensor};
use candle_nn::{VarBuilder, loss};
use data::families::{self, FAMILIES};
use level1::Level1;
use models::Scores;
use models::gnn::{Config, GraphBatch, GraphTransformer};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::optim::Hyper;
use crate::task::Task;
use crate::vit::id2label;

/// Graphs of a part of a batch.
const SHARD: usize = 8;

/// Graphs without end, no two alike.
pub struct Gnn {
    config: Config,
}

impl Gnn {
    /// The configuration that ships.
    pub fn new() -> Self {
        let config = Config {
            node_features: 16,
            edge_features: 4,
            hidden_size: 64,
            num_attention_heads: 4,
            num_hidden_layers: 4,
            intermediate_size: 128,
            num_classes: FAMILIES.len(),
            layer_norm_eps: 1e-5,
            labels: FAMILIES.map(String::from).to_vec(),
        };
        Self { config }
    }
}

impl Task for Gnn {
    /// Graphs, and the family of each (G).
    type Shard = (GraphBatch, Tensor);

    const SHARDS: usize = 4;
    const STEPS: usize = 1000;

    fn name(&self) -> &'static str {
        "gnn"
    }

    fn hyper(&self) -> Hyper {
        Hyper {
            learning_rate: 2e-3,
            weight_decay: 0.05,
        }
    }

    fn num_layers(&self) -> usize {
        self.config.num_hidden_layers
    }

    fn config(&self) -> Value {
        let c = &self.config;
        json!({
            "architectures": ["GraphTransformer"],
            "model_type": "graph_transformer",
            "node_features": c.node_features,
            "edge_features": c.edge_features,
            "hidden_size": c.hidden_size,
            "num_attention_heads": c.num_attention_heads,
            "num_hidden_layers": c.num_hidden_layers,
            "intermediate_size": c.intermediate_size,
            "num_classes": c.num_classes,
            "hidden_act": "gelu",
            "layer_norm_eps": c.layer_norm_eps,
            "id2label": id2label(&FAMILIES),
        })
    }

    fn draw(&self, rng: &mut ChaCha8Rng) -> anyhow::Result<Self::Shard> {
        let classes = [(); SHARD].map(|_| rng.random_range(0..FAMILIES.len()));
        Ok(graphs(&classes, &self.config, self.name(), rng)?)
    }

    fn loss(
        &self,
        weights: VarBuilder,
        (graphs, classes): &Self::Shard,
    ) -> candle_core::Result<Tensor> {
        let model = GraphTransformer::load(weights, &self.config)?;
        loss::cross_entropy(&model.forward(&Level1, graphs)?, classes)
    }
}

/// A freshly drawn graph of each family, as one batch, and the families (G). A pass that does not fit is `name`'s error.
pub fn graphs(
    classes: &[usize],
    config: &Config,
    name: &str,
    rng: &mut ChaCha8Rng,
) -> models::Result<(GraphBatch, Tensor)> {
    let graphs: Vec<_> = classes
        .iter()
        .map(|&class| families::draw(class, rng))
        .collect();
    let nodes = graphs.iter().map(|graph| graph.num_nodes).sum();
    let edges = graphs.iter().map(|graph| graph.edges.len()).sum();
    config.check_pass(name, [nodes, edges, graphs.len()], Scores::Held)?;
    let graphs = GraphBatch::of(&graphs, config, DType::F32, &Device::Cpu)?;
    let classes: Vec<u32> = classes.iter().map(|&class| class as u32).collect();
    Ok((graphs, Tensor::new(classes, &Device::Cpu)?))
}
