//! Numbers for the nodes and edges of a graph.
//!
//! Softmax attention over equal inputs is a mean of equal things: with constant node features no
//! attention network tells two graphs apart. A graph without attributes therefore gets features of
//! its structure. Directions are ignored for them: with a(i, j) the number of edges i → j,
//!
//! - w(i, j) = (a(i, j) + a(j, i)) / 2, and the degree d(i) = Σⱼ w(i, j);
//! - p(k, i) is the probability that a walk from i, which follows an edge of the node it is at with
//!   probability w / d, is back at i after k steps (Dwivedi et al., 2022, "Graph Neural Networks
//!   with Learnable Structural and Positional Representations", section 3); 0 for an isolated node;
//! - c(i, j) is the number of distinct nodes that are neighbours of both i and j.

use crate::BadInput;
use crate::graph::Graph;

/// Maximum number of steps of a walk in [`node_features`].
pub const MAX_STEPS: usize = 16;
/// Factor for return probabilities: they are mostly below 1/4, and this brings them to the size of the
/// degrees.
pub const RETURN_SCALE: f32 = 4.0;
/// Maximum multiplications of a walk, which are nodes × (nodes + edges) × steps / 2; larger graphs are an error. It is
/// also the maximum of the neighbours that are looked up for the features of the edges. Both take about 10 s.
const MAX_WORK: usize = 3_000_000_000;

/// Maximum number of features of all nodes, or of all edges: 1 GiB. Also that of the elements of a tensor in a pass.
pub const MAX_FEATURES: usize = 1 << 28;

fn check_size(what: &str, rows: usize, width: usize) -> Result<(), BadInput> {
    if rows.saturating_mul(width) <= MAX_FEATURES {
        return Ok(());
    }
    let expected = format!("at most {MAX_FEATURES} features of its {what}s");
    Err(BadInput::new(
        format!("graph without {what} attributes"),
        expected,
        format!("{rows} × {width}"),
    ))
}

/// Node features, row-major (num_nodes, width).
///
/// The graph's own attributes where it has them. Otherwise row i is
/// `[ln(1 + d(i)), s·p(2, i), s·p(3, i), …, s·p(16, i), 0, …]` with s = [`RETURN_SCALE`], cut off
/// at `width`.
///
/// # Errors
/// If the graph has attributes of another width, or is too large to walk on.
pub fn node_features(graph: &Graph, width: usize) -> Result<Vec<f32>, BadInput> {
    if let Some(rows) = &graph.node_attributes {
        return own("node attributes of the graph", rows, width);
    }
    check_size("node", graph.num_nodes, width)?;
    let steps = MAX_STEPS.min(width);
    let work = graph
        .num_nodes
        .saturating_mul(graph.num_nodes.saturating_add(graph.edges.len()))
        .saturating_mul((steps / 2).max(1));
    if work > MAX_WORK {
        return Err(BadInput::new(
            "graph without node attributes",
            format!(
                "nodes × (nodes + edges) below {}",
                MAX_WORK / (steps / 2).max(1)
            ),
            format!("{} nodes and {} edges", graph.num_nodes, graph.edges.len()),
        ));
    }
    let walk = Walk::new(graph);
    let mut x = vec![0.0; graph.num_nodes * width];
    for (i, row) in x.chunks_exact_mut(width.max(1)).enumerate() {
        row[0] = walk.degree[i].ln_1p();
        for (x, p) in row[1..].iter_mut().zip(walk.return_probabilities(i, steps)) {
            *x = RETURN_SCALE * p;
        }
    }
    Ok(x)
}

/// Edge features, row-major (num_edges, width).
///
/// The graph's own attributes where it has them. Otherwise the row of edge i → j is
/// `[ln(1 + c(i, j)), ln(1 + d(i)), ln(1 + d(j)), 0, …]`, cut off at `width`.
///
/// # Errors
/// If the graph has attributes of another width.
pub fn edge_features(graph: &Graph, width: usize) -> Result<Vec<f32>, BadInput> {
    if let Some(rows) = &graph.edge_attributes {
        return own("edge attributes of the graph", rows, width);
    }
    check_size("edge", graph.edges.len(), width)?;
    let walk = Walk::new(graph);
    let work = |&[i, j]: &[u32; 2]| {
        let neighbours = [i, j].map(|i| walk.neighbours(i as usize).len());
        neighbours[0].min(neighbours[1]) * 8
    };
    if graph.edges.iter().map(work).sum::<usize>() > MAX_WORK {
        return Err(BadInput::new(
            "graph without edge attributes",
            format!("fewer than {} common neighbours to look up", MAX_WORK / 8),
            format!("{} edges", graph.edges.len()),
        ));
    }
    let mut x = vec![0.0; graph.edges.len() * width];
    for (&[i, j], row) in graph.edges.iter().zip(x.chunks_exact_mut(width.max(1))) {
        let [i, j] = [i as usize, j as usize];
        let values = [walk.common(i, j), walk.degree[i], walk.degree[j]];
        for (x, v) in row.iter_mut().zip(values) {
            *x = v.ln_1p();
        }
    }
    Ok(x)
}

/// Returns the share of nodes with degree 0, 1, … `bins - 2`, and `bins - 1` or more: (bins).
pub fn degree_histogram(graph: &Graph, bins: usize) -> Vec<f32> {
    let mut histogram = vec![0.0; bins];
    for degree in Walk::new(graph).degree {
        histogram[(degree as usize).min(bins - 1)] += 1.0 / graph.num_nodes as f32;
    }
    histogram
}

fn own(what: &str, rows: &[Vec<f32>], width: usize) -> Result<Vec<f32>, BadInput> {
    match rows.iter().find(|row| row.len() != width) {
        Some(row) => Err(BadInput::new(
            what,
            format!("{width} values per row, as the model expects"),
            row.len(),
        )),
        None => Ok(rows.concat()),
    }
}

/// The undirected graph as sorted neighbour lists; each neighbour occurs once, with its weight.
struct Walk {
    start: Vec<usize>,
    neighbour: Vec<u32>,
    /// w(i, j) / √(d(i) d(j)): symmetric, and its powers have the diagonals of the walk's.
    step: Vec<f32>,
    degree: Vec<f32>,
}

impl Walk {
    fn new(graph: &Graph) -> Self {
        let mut pairs: Vec<[u32; 2]> = graph
            .edges
            .iter()
            .flat_map(|&[i, j]| [[i, j], [j, i]])
            .collect();
        pairs.sort_unstable();
        let mut degree = vec![0.0; graph.num_nodes];
        let mut start = vec![0; graph.num_nodes + 1];
        let (mut neighbour, mut step) = (vec![], vec![]);
        for same in pairs.chunk_by(|a, b| a == b) {
            let [i, j] = same[0];
            let weight = same.len() as f32 / 2.0;
            degree[i as usize] += weight;
            start[i as usize + 1] += 1;
            neighbour.push(j);
            step.push(weight);
        }
        for i in 0..graph.num_nodes {
            start[i + 1] += start[i];
            for e in start[i]..start[i + 1] {
                step[e] /= (degree[i] * degree[neighbour[e] as usize]).sqrt();
            }
        }
        Self {
            start,
            neighbour,
            step,
            degree,
        }
    }

    /// p(2, i), …, p(steps, i). With u(k) = Sᵏ eᵢ for the symmetric S of `step`,
    /// p(2k, i) = u(k)·u(k) and p(2k+1, i) = u(k)·u(k+1): half the walk is enough.
    fn return_probabilities(&self, i: usize, steps: usize) -> Vec<f32> {
        let n = self.degree.len();
        let mut u = vec![0.0; n];
        u[i] = 1.0;
        let mut p = Vec::with_capacity(steps + 1);
        for _ in 0..steps.div_ceil(2) {
            let next: Vec<f32> = (0..n).map(|j| self.step_to(j, &u)).collect();
            p.extend([dot(&u, &next), dot(&next, &next)]); // p(2k-1), p(2k)
            u = next;
        }
        p.drain(..1.min(p.len())); // p(1) is a self-loop's
        p.truncate(steps.saturating_sub(1));
        p
    }

    fn step_to(&self, j: usize, u: &[f32]) -> f32 {
        let row = self.start[j]..self.start[j + 1];
        let terms = self.neighbour[row.clone()].iter().zip(&self.step[row]);
        terms.map(|(&k, s)| s * u[k as usize]).sum()
    }

    fn neighbours(&self, i: usize) -> &[u32] {
        &self.neighbour[self.start[i]..self.start[i + 1]]
    }

    /// Returns c(i, j), by looking up the neighbours of the node with fewer in the other's list.
    fn common(&self, i: usize, j: usize) -> f32 {
        let (mut few, mut many) = (self.neighbours(i), self.neighbours(j));
        if few.len() > many.len() {
            std::mem::swap(&mut few, &mut many);
        }
        few.iter().filter(|k| many.binary_search(k).is_ok()).count() as f32
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_without_memory_are_refused() {
        let pair = Graph::undirected(2, &[[0, 1]]);
        for features in [node_features, edge_features] {
            let error = features(&pair, 1 << 28).unwrap_err();
            assert_eq!(error.found, "2 × 268435456");
        }
    }

    /// By the multiplications, whatever the width.
    #[test]
    fn a_graph_that_takes_minutes_is_refused() {
        let path = |nodes: usize| Graph::undirected(nodes, &[[0, nodes as u32 - 1]]);
        for width in [1, 16] {
            assert!(node_features(&path(100), width).is_ok());
            assert!(node_features(&path(10_000_000), width).is_err());
        }
        assert!(node_features(&path(34_000), 16).is_err());
    }
}
