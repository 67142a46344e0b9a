//! A graph from a file or a generator.

use crate::BadInput;

/// Nodes `0..num_nodes` and directed edges between them.
///
/// An undirected edge appears twice, once in each direction. Repeated edges and self-loops are
/// allowed; they count as often as they appear.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Graph {
    /// Number of nodes; some may have no edge.
    pub num_nodes: usize,
    /// `[source, target]`, each in `0..num_nodes`.
    pub edges: Vec<[u32; 2]>,
    /// One row per node, all of one width. [`crate::tu::read`] appends the one-hot node labels here.
    pub node_attributes: Option<Vec<Vec<f32>>>,
    /// One label per node, as in the file.
    pub node_labels: Option<Vec<i64>>,
    /// One row per edge, all of one width. [`crate::tu::read`] appends the one-hot edge labels here.
    pub edge_attributes: Option<Vec<Vec<f32>>>,
    /// One label per edge, as in the file.
    pub edge_labels: Option<Vec<i64>>,
    /// The class of the whole graph.
    pub label: Option<i64>,
}

impl Graph {
    /// Creates a graph without attributes, with every edge of `undirected` in both directions.
    pub fn undirected(num_nodes: usize, undirected: &[[u32; 2]]) -> Self {
        let edges = undirected.iter().flat_map(|&[i, j]| [[i, j], [j, i]]);
        Self {
            num_nodes,
            edges: edges.collect(),
            ..Self::default()
        }
    }

    /// Checks the graph. Errors if there is no node, if an edge names a missing node, or if the number of
    /// attributes or labels is not that of the nodes or edges.
    pub fn check(&self) -> Result<(), BadInput> {
        if self.num_nodes == 0 {
            return Err(BadInput::new("graph", "at least one node", "none"));
        }
        let n = self.num_nodes;
        let outside = |e: &&[u32; 2]| e.iter().any(|&i| i as usize >= n);
        if let Some([i, j]) = self.edges.iter().find(outside) {
            let expected = format!("nodes 0 to {}", n - 1);
            return Err(BadInput::new("graph", expected, format!("edge {i},{j}")));
        }
        let m = self.edges.len();
        check_rows("node attributes", self.node_attributes.as_deref(), n)?;
        check_rows("edge attributes", self.edge_attributes.as_deref(), m)?;
        check_len("node labels", self.node_labels.as_ref().map(Vec::len), n)?;
        check_len("edge labels", self.edge_labels.as_ref().map(Vec::len), m)
    }
}

fn check_len(what: &str, len: Option<usize>, expected: usize) -> Result<(), BadInput> {
    match len {
        Some(len) if len != expected => Err(BadInput::new(
            what,
            format!("{expected} rows"),
            format!("{len}"),
        )),
        _ => Ok(()),
    }
}

fn check_rows(what: &str, rows: Option<&[Vec<f32>]>, expected: usize) -> Result<(), BadInput> {
    check_len(what, rows.map(<[_]>::len), expected)?;
    let rows = rows.unwrap_or_default();
    let width = rows.first().map_or(0, Vec::len);
    match rows.iter().position(|row| row.len() != width) {
        Some(i) => Err(BadInput::new(
            what,
            format!("{width} values in every row"),
            format!("{} in row {i}", rows[i].len()),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_to_a_missing_node_is_an_error() {
        let good = Graph::undirected(3, &[[0, 1], [1, 2]]);
        assert_eq!(good.edges, [[0, 1], [1, 0], [1, 2], [2, 1]]);
        assert_eq!(good.check(), Ok(()));
        let error = Graph::undirected(3, &[[0, 3]]).check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "graph: expected nodes 0 to 2, found edge 0,3"
        );
        assert!(Graph::default().check().is_err());
    }

    #[test]
    fn columns_of_the_wrong_length_are_errors() {
        let graph = Graph::undirected(2, &[[0, 1]]);
        let ragged = Graph {
            node_attributes: Some(vec![vec![1.0], vec![1.0, 2.0]]),
            ..graph.clone()
        };
        let error = ragged.check().unwrap_err().to_string();
        assert_eq!(
            error,
            "node attributes: expected 1 values in every row, found 2 in row 1"
        );
        let short = Graph {
            edge_labels: Some(vec![1]),
            ..graph
        };
        assert_eq!(
            short.check().unwrap_err().to_string(),
            "edge labels: expected 2 rows, found 1"
        );
    }
}
