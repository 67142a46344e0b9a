//! The graph transformer: a batch of drawn graphs.

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};
use cli::load::{self, Request};
use data::families::{self, FAMILIES};
use data::graph::Graph;
use levels::Level;
use models::gnn::{Config, GraphBatch};
use models::{Csr, GraphTransformer, Scores, Segments};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use replay::Pass;

use crate::job::{Job, Model, Workload};
use crate::sweep::{Point, Sweep, doublings};

/// Graphs of a batch.
const GRAPHS: usize = 128;
/// Nodes of a graph, and incoming edges of a node, where a preset is measured.
const NODES: u32 = 32;
const DEGREE: usize = 4;

/// Nodes and edges of the large graph, which a GPU is measured on: a citation network's size.
pub const LARGE: (usize, usize) = (169_343, 2_332_486);

/// Graphs of all families for `tiny`, which was trained on their like; graphs of one size for a preset, and
/// on a GPU one large graph besides.
pub fn load(request: &Request, level: &Level, cuda_graph: bool) -> models::Result<Vec<Workload>> {
    let loaded = load::gnn(request)?;
    let mut rng = ChaCha8Rng::seed_from_u64(request.seed);
    let draw = |i: usize| match loaded.folder {
        Some(_) => families::draw(i % FAMILIES.len(), &mut rng),
        None => regular(&mut rng),
    };
    let graphs: Vec<Graph> = (0..GRAPHS).map(draw).collect();
    let large = loaded.folder.is_none() && !request.device.is_cpu();
    let model = Arc::new(loaded.model);
    let workload = |name: String, batch: GraphBatch, items: usize| {
        let (nodes, edges) = (batch.graph.num_nodes, batch.graph.num_edges);
        let job = Classify {
            batch,
            model: model.clone(),
            level: level.clone(),
            pass: Pass::new(cuda_graph),
        };
        Workload {
            model: Model::Gnn,
            preset: request.model.clone(),
            name,
            input: format!("{items} graphs, {nodes} nodes, {edges} edges in all"),
            items,
            job: Box::new(job),
        }
    };
    let (config, dtype, device) = (model.config(), request.dtype, &request.device);
    let edges = graphs.iter().map(|graph| graph.edges.len()).sum();
    let size = [
        graphs.iter().map(|graph| graph.num_nodes).sum(),
        edges,
        GRAPHS,
    ];
    config.check_pass(&request.model, size, Scores::Held)?;
    let batch = GraphBatch::of(&graphs, config, dtype, device)?;
    let mut workloads = vec![workload(format!("graphs{GRAPHS}"), batch, GRAPHS)];
    if large {
        let batch = power_law(LARGE.0, LARGE.1, config, dtype, device)?;
        workloads.push(workload("powerlaw".into(), batch, 1));
    }
    Ok(workloads)
}

/// Graphs of a sweep over nodes, the fewest and the most on a CPU and on a GPU.
const SWEPT: [[usize; 2]; 2] = [[4, 128], [4, 2048]];
/// Graphs of a sweep over edges, on a CPU and on a GPU, which with few of them does little but begin; and the most edges of a node.
const SWEPT_EDGES: [usize; 2] = [32, 1024];
const MOST_EDGES: usize = 32;

/// More graphs of the same degree; and as many nodes with more edges.
pub fn sweep(request: &Request, level: &Level, cuda_graph: bool) -> models::Result<Vec<Sweep>> {
    let loaded = load::gnn(request)?;
    let model = Arc::new(loaded.model);
    let job = |graphs: usize, degree: usize| {
        let mut rng = ChaCha8Rng::seed_from_u64(request.seed);
        let graphs: Vec<Graph> = (0..graphs).map(|_| drawn(&mut rng, degree)).collect();
        let config = model.config();
        Ok::<_, models::Error>(Classify {
            batch: GraphBatch::of(&graphs, config, request.dtype, &request.device)?,
            model: model.clone(),
            level: level.clone(),
            pass: Pass::new(cuda_graph),
        })
    };
    let nodes = |graphs| Ok(Point::new(graphs * NODES as usize, job(graphs, DEGREE)?));
    let is_gpu = usize::from(!request.device.is_cpu());
    let graphs = SWEPT_EDGES[is_gpu];
    let edges = |degree| {
        let edges = graphs * NODES as usize * degree;
        Ok(Point::new(edges, job(graphs, degree)?))
    };
    let [first, last] = SWEPT[is_gpu];
    let nodes: models::Result<_> = doublings(first, last).map(nodes).collect();
    let edges: models::Result<_> = doublings(1, MOST_EDGES).map(edges).collect();
    Ok(vec![
        Sweep {
            axis: "nodes",
            what: format!("nodes, with {DEGREE} edges each"),
            points: nodes?,
        },
        Sweep {
            axis: "edges",
            what: format!("edges, of {} nodes", graphs * NODES as usize),
            points: edges?,
        },
    ])
}

/// The edges of a graph whose degrees follow a power law: an edge ends at node ⌊n·u³⌋ for a uniform u, so that the
/// k-th node has about k^(−2/3) of the edges, and begins anywhere.
pub fn power_law_edges(nodes: usize, edges: usize, rng: &mut ChaCha8Rng) -> Vec<[u32; 2]> {
    let edge = |_| {
        let to = nodes as f64 * rng.random::<f64>().powi(3);
        [rng.random_range(0..nodes as u32), to as u32]
    };
    (0..edges).map(edge).collect()
}

/// One graph with such edges. Features are uniform.
fn power_law(
    nodes: usize,
    edges: usize,
    config: &Config,
    dtype: DType,
    device: &Device,
) -> models::Result<GraphBatch> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let ends = power_law_edges(nodes, edges, &mut rng);
    let mut features = |rows: usize, columns: usize| {
        let values: Vec<f32> = (0..rows * columns)
            .map(|_| rng.random_range(-1f32..1.))
            .collect();
        Tensor::from_vec(values, (rows, columns), device)?.to_dtype(dtype)
    };
    let x = features(nodes, config.node_features)?;
    let edge_attr = features(edges, config.edge_features)?;
    GraphBatch::new(x, &ends, &edge_attr, &vec![0; nodes], 1)
}

/// A graph of 32 nodes, each with four incoming edges from random nodes.
pub fn regular(rng: &mut ChaCha8Rng) -> Graph {
    drawn(rng, DEGREE)
}

/// The same with `degree` of them.
fn drawn(rng: &mut ChaCha8Rng, degree: usize) -> Graph {
    let to = (0..NODES).flat_map(|i| std::iter::repeat_n(i, degree));
    Graph {
        num_nodes: NODES as usize,
        edges: to.map(|i| [rng.random_range(0..NODES), i]).collect(),
        ..Graph::default()
    }
}

struct Classify {
    model: Arc<GraphTransformer>,
    level: Level,
    pass: Pass,
    batch: GraphBatch,
}

impl Job for Classify {
    fn queue(&mut self) -> Result<Tensor> {
        let (batch, device) = (&self.batch, self.batch.x.device());
        self.pass
            .run(device, &[&batch.x, &batch.edges], |features| {
                let batch = batch.with(features[0].clone(), features[1].clone());
                self.model.forward(&*self.level, &batch)
            })
    }

    fn inputs(&self) -> Result<Vec<(&'static str, Tensor)>> {
        let Csr {
            col_idx, row_idx, ..
        } = &self.batch.graph;
        let Segments {
            index,
            num_segments,
            ..
        } = &self.batch.segments;
        let number = |x: &Tensor| x.to_dtype(DType::I64);
        Ok(vec![
            ("x", self.batch.x.clone()),
            ("edge_attr", self.batch.edges.clone()),
            (
                "edge_index",
                number(&Tensor::stack(&[col_idx, row_idx], 0)?)?,
            ),
            ("batch", number(index)?),
            (
                "num_graphs",
                Tensor::new(&[*num_segments as i64], &Device::Cpu)?,
            ),
        ])
    }

    fn recorded(&self) -> Option<usize> {
        self.pass.kernels()
    }
}
