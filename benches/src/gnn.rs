//! The graph transformer: a batch of drawn graphs.

use candle_core::{Result, Tensor};
use cli::load::{self, Request};
use data::families::{self, FAMILIES};
use data::graph::Graph;
use models::GraphTransformer;
use models::gnn::GraphBatch;
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
        batch: GraphBatch::of(
            &graphs,
            loaded.model.config(),
            request.dtype,
            &request.device,
        )?,
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
