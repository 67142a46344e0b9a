//! The graph transformer: a batch of drawn graphs.

use candle_core::{Result, Tensor};
use cli::load::{self, Request};
use data::families::{self, FAMILIES};
use data::features;
use data::graph::Graph;
use models::GraphTransformer;
use models::gnn::{Config, GraphBatch};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::job::{Job, Model, Workload};
use crate::levels::Level;

/// Graphs of a batch.
const GRAPHS: usize = 128;
/// Nodes of a graph, and incoming edges of a node, where a preset is measured.
const NODES: u32 = 32;
const DEGREE: usize = 4;

/// Graphs of all families for `tiny`, which was trained on their like, and graphs of one size for a
/// preset.
pub fn load(request: &Request, level: &Level) -> models::Result<Vec<Workload>> {
    let loaded = load::gnn(request)?;
    let mut rng = ChaCha8Rng::seed_from_u64(request.seed);
    let draw = |i: usize| match loaded.folder {
        Some(_) => families::draw(i % FAMILIES.len(), &mut rng),
        None => regular(&mut rng),
    };
    let graphs: Vec<Graph> = (0..GRAPHS).map(draw).collect();
    let job = Classify {
        batch: batch(&graphs, loaded.model.config(), request)?,
        model: loaded.model,
        level: level.clone(),
    };
    let graph = &job.batch.graph;
    let input = format!(
        "{GRAPHS} graphs, {} nodes, {} edges in all",
        graph.num_nodes, graph.num_edges
    );
    Ok(vec![Workload {
        model: Model::Gnn,
        preset: request.model.clone(),
        name: format!("graphs{GRAPHS}"),
        input,
        items: GRAPHS,
        job: Box::new(job),
    }])
}

/// A graph of 32 nodes, each with four incoming edges from random nodes.
pub fn regular(rng: &mut ChaCha8Rng) -> Graph {
    let to = (0..NODES).flat_map(|i| [i; DEGREE]);
    Graph {
        num_nodes: NODES as usize,
        edges: to.map(|i| [rng.random_range(0..NODES), i]).collect(),
        ..Graph::default()
    }
}

/// `graphs` side by side, with the features that the model of `config` takes.
pub fn batch(graphs: &[Graph], config: &Config, request: &Request) -> models::Result<GraphBatch> {
    let (mut x, mut edge_attr, mut edges, mut batch) = (vec![], vec![], vec![], vec![]);
    for (g, graph) in (0u32..).zip(graphs) {
        let first = batch.len() as u32;
        x.extend(features::node_features(graph, config.node_features)?);
        edge_attr.extend(features::edge_features(graph, config.edge_features)?);
        edges.extend(graph.edges.iter().map(|edge| edge.map(|node| first + node)));
        batch.extend(std::iter::repeat_n(g, graph.num_nodes));
    }
    let tensor = |values: Vec<f32>, shape: (usize, usize)| {
        Tensor::from_vec(values, shape, &request.device)?.to_dtype(request.dtype)
    };
    let x = tensor(x, (batch.len(), config.node_features))?;
    let edge_attr = tensor(edge_attr, (edges.len(), config.edge_features))?;
    GraphBatch::new(x, &edges, &edge_attr, &batch, graphs.len())
}

struct Classify {
    model: GraphTransformer,
    level: Level,
    batch: GraphBatch,
}

impl Job for Classify {
    fn run(&mut self) -> Result<Tensor> {
        let logits = self.model.forward(&*self.level, &self.batch)?;
        logits.device().synchronize()?;
        Ok(logits)
    }
}
