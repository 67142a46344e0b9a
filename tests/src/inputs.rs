//! Small random models, and random inputs for them.

use candle_core::{DType, Device, Tensor};
use models::gnn::GraphBatch;
use models::random::RandomWeights;
use models::{GraphTransformer, Heads, LanguageModel, Result, VisionTransformer, gnn, lm, vit};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Tokens of the small language model.
pub const VOCAB: u32 = 61;

/// A language model of two blocks, grouped queries, and odd sizes.
pub fn language_model(seed: u64, device: &Device) -> Result<LanguageModel> {
    let config = lm::Config {
        vocab_size: VOCAB as usize,
        hidden_size: 30,
        intermediate_size: 37,
        num_hidden_layers: 2,
        heads: Heads {
            num_heads: 6,
            num_kv_heads: 2,
            head_dim: 10,
        },
        rms_norm_eps: 1e-5,
        qkv_bias: false,
        rope_theta: 5000.,
        rope_scaling: None,
        max_position_embeddings: 96,
        tie_word_embeddings: false,
    };
    let weights = RandomWeights::weights(seed, DType::F32, device);
    Ok(LanguageModel::load(weights, &config)?)
}

/// A vision transformer of two blocks: 15 × 15 pixels, 5 × 5 a patch.
pub fn vision_transformer(seed: u64, device: &Device) -> Result<VisionTransformer> {
    let config = vit::Config {
        image_size: 15,
        patch_size: 5,
        hidden_size: 33,
        intermediate_size: 49,
        num_hidden_layers: 2,
        num_attention_heads: 3,
        layer_norm_eps: 1e-6,
        qkv_bias: true,
        labels: (0..5).map(|i| i.to_string()).collect(),
    };
    let weights = RandomWeights::weights(seed, DType::F32, device);
    Ok(VisionTransformer::load(weights, &config)?)
}

/// A graph transformer of two blocks.
pub fn graph_transformer(seed: u64, device: &Device) -> Result<GraphTransformer> {
    let config = gnn::Config {
        node_features: 7,
        edge_features: 3,
        hidden_size: 36,
        num_attention_heads: 4,
        num_hidden_layers: 2,
        intermediate_size: 41,
        num_classes: 5,
        layer_norm_eps: 1e-5,
        labels: (0..5).map(|i| i.to_string()).collect(),
    };
    let weights = RandomWeights::weights(seed, DType::F32, device);
    Ok(GraphTransformer::load(weights, &config)?)
}

/// A generator with a fresh seed, which it prints; `CANDLEPOWER_SEED` repeats one.
pub fn fresh_rng() -> ChaCha8Rng {
    let seed = match std::env::var("CANDLEPOWER_SEED") {
        Ok(seed) => seed.parse().expect("CANDLEPOWER_SEED: expected a u64"),
        Err(_) => rand::rng().random::<u64>(),
    };
    eprintln!("CANDLEPOWER_SEED={seed}");
    rng(seed)
}

/// A generator with a fixed seed.
pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// (rows, columns) of numbers in −1..1.
pub fn uniform(rng: &mut ChaCha8Rng, rows: usize, columns: usize) -> Vec<f32> {
    (0..rows * columns)
        .map(|_| rng.random_range(-1f32..1.))
        .collect()
}

/// Token ids (batch, t).
pub fn tokens(rng: &mut ChaCha8Rng, batch: usize, t: usize) -> Vec<Vec<u32>> {
    let row = |_| (0..t).map(|_| rng.random_range(0..VOCAB)).collect();
    (0..batch).map(row).collect()
}

/// Graphs as lists, before they are tensors: what a test changes.
#[derive(Debug, Clone, Default)]
pub struct Graphs {
    /// (N, 7)
    pub x: Vec<f32>,
    /// Source and destination.
    pub edges: Vec<[u32; 2]>,
    /// (E, 3)
    pub edge_attr: Vec<f32>,
    /// The graph of each node.
    pub batch: Vec<u32>,
}

impl Graphs {
    /// One graph a pair of numbers of nodes and edges. Edges repeat, and some nodes have none.
    pub fn random(rng: &mut ChaCha8Rng, sizes: &[(usize, usize)]) -> Self {
        let mut graphs = Self::default();
        for (g, &(nodes, edges)) in sizes.iter().enumerate() {
            let first = graphs.batch.len() as u32;
            graphs.batch.extend(std::iter::repeat_n(g as u32, nodes));
            for _ in 0..edges {
                let mut end = || first + rng.random_range(0..nodes as u32);
                graphs.edges.push([end(), end()]);
            }
        }
        graphs.x = uniform(rng, graphs.batch.len(), 7);
        graphs.edge_attr = uniform(rng, graphs.edges.len(), 3);
        graphs
    }

    /// As tensors on `device`.
    pub fn batch(&self, device: &Device) -> Result<GraphBatch> {
        let (n, e) = (self.batch.len(), self.edges.len());
        let x = Tensor::from_slice(&self.x, (n, 7), device)?;
        let edge_attr = Tensor::from_slice(&self.edge_attr, (e, 3), device)?;
        let num_graphs = self.batch.last().map_or(0, |&g| g as usize + 1);
        GraphBatch::new(x, &self.edges, &edge_attr, &self.batch, num_graphs)
    }
}
