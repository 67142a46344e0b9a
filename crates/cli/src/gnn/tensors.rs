//! `x`, `edge_index`, `edge_attr`, `batch`, `num_graphs` → `logits`.

use std::path::Path;

use candle_core::Tensor;
use models::gnn::{Config, GraphBatch};
use models::{GraphTransformer, Ops, Scores};
use replay::Pass;

use crate::files::Output;
use crate::load::Request;
use crate::tensors::{Input, Named, named, write};
use crate::trace::warm_up;

/// The largest number of graphs in addition to the nodes: a graph may have none, but each has a row of logits.
const MAX_EMPTY: usize = 1 << 12;

/// PyTorch Geometric's names: x (N, node_features), edge_index (2, E) with sources above
/// destinations, edge_attr (E, edge_features), batch (N), num_graphs (1) → logits (G, classes).
pub fn run(
    trace: bool,
    (ops, scores): (&dyn Ops, Scores),
    mut pass: Pass,
    model: &GraphTransformer,
    request: &Request,
    input: &Path,
    output: &Output,
) -> anyhow::Result<()> {
    let batch = read(input, model.config(), request, scores)?;
    warm_up(trace, || Ok(model.forward(ops, &batch)?))?;
    let logits = super::forward(&mut pass, ops, model, &batch)?;
    let logits = Named::floats("logits", &logits);
    write(
        output,
        &[logits.map_err(|error| named(input.display(), error))?],
    )
}

fn read(
    path: &Path,
    config: &Config,
    request: &Request,
    scores: Scores,
) -> models::Result<GraphBatch> {
    let known = ["x", "edge_index", "edge_attr", "batch", "num_graphs"];
    let input = Input::read(path, &known)?;
    let x = input.floats("x", &[None, Some(config.node_features)])?;
    let num_nodes = x.dim(0)?;
    if num_nodes == 0 {
        return Err(input.complain("x", "at least one node", "none").into());
    }
    let index = input.integers("edge_index", &[Some(2), None], "nodes", num_nodes)?;
    let num_edges = index.shape[1];
    let (sources, destinations) = index.values.split_at(num_edges);
    let edges: Vec<[u32; 2]> = sources
        .iter()
        .zip(destinations)
        .map(|(s, d)| [*s, *d])
        .collect();
    let edge_attr = input.floats("edge_attr", &[Some(num_edges), Some(config.edge_features)])?;
    let num_graphs = num_graphs(&input, num_nodes)?;
    let size = [num_nodes, num_edges, num_graphs];
    config.check_pass(&path.display().to_string(), size, scores)?;
    let batch = input
        .integers("batch", &[Some(num_nodes)], "graphs", num_graphs)?
        .values;
    if let Some(pair) = batch.windows(2).find(|pair| pair[0] > pair[1]) {
        let found = format!("{} after {}", pair[1], pair[0]);
        return Err(input
            .complain("batch", "non-decreasing graphs", found)
            .into());
    }
    let place = |t: Tensor| t.to_dtype(request.dtype)?.to_device(&request.device);
    GraphBatch::new(place(x)?, &edges, &place(edge_attr)?, &batch, num_graphs)
}

/// Reads one number, at least 1.
fn num_graphs(input: &Input, num_nodes: usize) -> models::Result<usize> {
    const NAME: &str = "num_graphs";
    let number = input.integers(NAME, &[Some(1)], "one number", MAX_EMPTY + num_nodes + 1)?;
    match number.values[0] {
        0 => Err(input.complain(NAME, "at least one graph", 0).into()),
        n => Ok(n as usize),
    }
}
