use candle_core::{Device, Tensor};

use crate::Error;

type Result<T> = std::result::Result<T, Error>;

/// The edges of one or more graphs, sorted by destination, in compressed sparse rows (CSR).
///
/// Edges `row_ptr[i]..row_ptr[i + 1]` are the incoming edges of node i; `col_idx` holds their sources.
#[derive(Clone)]
pub struct Csr {
    /// N
    pub num_nodes: usize,
    /// E
    pub num_edges: usize,
    /// Maximum number of incoming edges of a node.
    pub max_degree: usize,
    /// (N + 1) u32
    pub row_ptr: Tensor,
    /// (E) u32: the source of each edge.
    pub col_idx: Tensor,
    /// (E) u32: the destination of each edge, non-decreasing.
    pub row_idx: Tensor,
}

impl Csr {
    /// Sorts `edges` (source, destination) by destination, keeping the order of equals.
    ///
    /// Returns the graph and, for each of its edges, the index of that edge in `edges`: edge features must be
    /// put in that order.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an edge to a missing node; [`Error::Candle`] if memory is exhausted.
    pub fn new(num_nodes: usize, edges: &[[u32; 2]], device: &Device) -> Result<(Self, Vec<u32>)> {
        have_nodes(edges, num_nodes)?;
        let mut row_ptr = vec![0u32; num_nodes + 1];
        for edge in edges {
            row_ptr[edge[1] as usize + 1] += 1;
        }
        let max_degree = row_ptr.iter().copied().max().unwrap_or(0) as usize;
        for i in 0..num_nodes {
            row_ptr[i + 1] += row_ptr[i];
        }
        let mut order: Vec<u32> = (0..edges.len() as u32).collect();
        order.sort_by_key(|&e| edges[e as usize][1]);
        let pick = |end: usize| order.iter().map(|&e| edges[e as usize][end]).collect();
        let (col_idx, row_idx): (Vec<u32>, Vec<u32>) = (pick(0), pick(1));
        let graph = Self {
            num_nodes,
            num_edges: edges.len(),
            max_degree,
            row_ptr: Tensor::new(row_ptr, device)?,
            col_idx: Tensor::new(col_idx, device)?,
            row_idx: Tensor::new(row_idx, device)?,
        };
        Ok((graph, order))
    }
}

/// Refuses an edge to a missing node.
fn have_nodes(edges: &[[u32; 2]], num_nodes: usize) -> Result<()> {
    let missing = |&(_, edge): &(usize, &[u32; 2])| edge.iter().any(|&n| n as usize >= num_nodes);
    let Some((e, edge)) = edges.iter().enumerate().find(missing) else {
        return Ok(());
    };
    let expected = format!("nodes below {num_nodes}");
    Err(Error::invalid(
        format!("edge {e}"),
        expected,
        format!("{edge:?}"),
    ))
}

/// The nodes of each graph, as consecutive ranges.
#[derive(Clone)]
pub struct Segments {
    /// G
    pub num_segments: usize,
    /// (G + 1) u32: nodes `offsets[g]..offsets[g + 1]` are graph g.
    pub offsets: Tensor,
    /// (N) u32: the graph of each node, non-decreasing.
    pub index: Tensor,
    /// (G, 1) f32: 1/nodes, and 0 for a graph without nodes.
    pub inverse_count: Tensor,
}

impl Segments {
    /// Builds the ranges from the graph of each node.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the indices decrease or reach `num_segments`.
    pub fn new(num_segments: usize, index: &[u32], device: &Device) -> Result<Self> {
        if let Some(w) = index.windows(2).find(|w| w[0] > w[1]) {
            let found = format!("{} after {}", w[1], w[0]);
            return Err(Error::invalid(
                "batch",
                "graphs in non-decreasing order",
                found,
            ));
        }
        if let Some(&last) = index.last().filter(|&&g| g as usize >= num_segments) {
            let expected = format!("graphs below {num_segments}");
            return Err(Error::invalid("batch", expected, last));
        }
        let mut offsets = vec![0u32; num_segments + 1];
        for &g in index {
            offsets[g as usize + 1] += 1;
        }
        let inverse = |&n: &u32| if n == 0 { 0. } else { 1. / n as f32 };
        let inverse: Vec<f32> = offsets[1..].iter().map(inverse).collect();
        for g in 0..num_segments {
            offsets[g + 1] += offsets[g];
        }
        Ok(Self {
            num_segments,
            offsets: Tensor::new(offsets, device)?,
            index: Tensor::new(index, device)?,
            inverse_count: Tensor::from_vec(inverse, (num_segments, 1), device)?,
        })
    }
}

/// How large the graphs of a batch are, counted on the host when the batch is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphSizes {
    /// Nodes of the graph that has the most.
    pub max_nodes: usize,
    /// Edges into the graph that has the most.
    pub max_edges: usize,
    /// Whether no edge leads from one graph to another.
    pub are_separate: bool,
}

impl GraphSizes {
    /// Counts `edges` (source, destination) between nodes whose graphs are `index`, each below `num_graphs`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an edge to a missing node, or a node of a missing graph.
    pub fn new(num_graphs: usize, index: &[u32], edges: &[[u32; 2]]) -> Result<Self> {
        let (mut nodes, mut into) = (vec![0usize; num_graphs], vec![0usize; num_graphs]);
        for &g in index {
            let missing = || Error::invalid("batch", format!("graphs below {num_graphs}"), g);
            *nodes.get_mut(g as usize).ok_or_else(missing)? += 1;
        }
        have_nodes(edges, index.len())?;
        let mut are_separate = true;
        for edge in edges {
            let [from, to] = edge.map(|node| index[node as usize]);
            into[to as usize] += 1;
            are_separate &= from == to;
        }
        let most = |counts: Vec<usize>| counts.into_iter().max().unwrap_or(0);
        Ok(Self {
            max_nodes: most(nodes),
            max_edges: most(into),
            are_separate,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_graph_is_counted() -> Result<()> {
        let sizes = |max_nodes, max_edges, are_separate| GraphSizes {
            max_nodes,
            max_edges,
            are_separate,
        };
        let batch = [0, 0, 2, 2, 2]; // graph 1 has no nodes
        let edges = [[0, 1], [1, 0], [1, 1], [2, 4], [0, 1]];
        assert_eq!(GraphSizes::new(3, &batch, &edges)?, sizes(3, 4, true));
        assert_eq!(GraphSizes::new(3, &batch, &[[0, 2]])?, sizes(3, 1, false));
        assert_eq!(GraphSizes::new(3, &batch, &[[4, 0]])?, sizes(3, 1, false));
        assert_eq!(GraphSizes::new(3, &batch, &[])?, sizes(3, 0, true));
        assert_eq!(GraphSizes::new(0, &[], &[])?, sizes(0, 0, true));
        Ok(())
    }

    #[test]
    fn missing_nodes_and_graphs_are_named() {
        let error = |num_graphs, batch: &[u32], edges: &[[u32; 2]]| {
            GraphSizes::new(num_graphs, batch, edges)
                .expect_err("something is missing")
                .to_string()
        };
        let expected = "edge 1: expected nodes below 2, found [0, 2]";
        assert_eq!(error(1, &[0, 0], &[[0, 1], [0, 2]]), expected);
        let expected = "batch: expected graphs below 1, found 1";
        assert_eq!(error(1, &[0, 1], &[]), expected);
    }
}
