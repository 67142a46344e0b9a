//! Input graphs, read from files or generated.

use std::collections::HashSet;

use data::graph::Graph;
use data::{BadInput, families};
use models::Scores;
use models::gnn::{Config, GraphBatch};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::GnnArgs;
use crate::load::Request;
use crate::tensors::named;

/// Describes isolated nodes: `2 of 5 nodes have no edge, such as node 3`; `None` if there are none.
pub fn lonely(graph: &Graph) -> Option<String> {
    let mut has_edge = vec![false; graph.num_nodes];
    for node in graph.edges.iter().flatten() {
        has_edge[*node as usize] = true;
    }
    let first = has_edge.iter().position(|has| !has)?;
    let (count, all) = (
        has_edge.iter().filter(|has| !**has).count(),
        graph.num_nodes,
    );
    let have = if count == 1 { "has" } else { "have" };
    Some(format!(
        "{count} of {all} nodes {have} no edge, such as node {first}"
    ))
}

/// A note if no edge has its reverse; `None` if one has, or if all edges are self-loops.
pub fn one_way(graph: &Graph) -> Option<&'static str> {
    let edges: HashSet<[u32; 2]> = graph.edges.iter().copied().collect();
    let mut between = edges.iter().filter(|[i, j]| i != j).peekable();
    between.peek()?;
    let has_reverse = between.any(|&[i, j]| edges.contains(&[j, i]));
    let note = "no edge has its reverse, so messages go only from source to target; for an undirected graph, add a line \
                `target,source` for each edge";
    (!has_reverse).then_some(note)
}

/// A note if the model knows the families of [`families::FAMILIES`] and never saw a graph of this size.
pub fn unknown_size(graph: &Graph, config: &Config) -> Option<String> {
    let (nodes, trained) = (graph.num_nodes, families::NODES);
    let is_known = config.labels != families::FAMILIES || trained.contains(&nodes);
    (!is_known).then(|| {
        let (from, to) = trained.into_inner();
        format!("{nodes} nodes: this model was trained on graphs of {from} to {to}, so its classes mean little here")
    })
}

/// Graphs and their origin.
pub struct Source {
    /// Graphs in the file's order.
    pub graphs: Vec<Graph>,
    /// Path of the file or folder, for errors; `None` for generated graphs.
    path: Option<String>,
}

impl Source {
    /// Reads the folder or file of `args` for the model of `config`, or generates one graph per family.
    pub fn read(args: &GnnArgs, config: &Config) -> Result<Self, BadInput> {
        let from = |path: &std::path::Path, graphs| Self {
            graphs,
            path: Some(path.display().to_string()),
        };
        match (&args.graph, &args.edges) {
            (Some(path), _) => Ok(from(path, data::tu::read(path)?)),
            (_, Some(path)) => Ok(from(
                path,
                vec![data::edges::read_csv_of(path, config.edge_features)?],
            )),
            _ => Ok(Self::drawn(args.model.seed)),
        }
    }

    fn drawn(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let families = 0..families::FAMILIES.len();
        Self {
            graphs: families.map(|f| families::draw(f, &mut rng)).collect(),
            path: None,
        }
    }

    /// The true class of `graph`, if the file or the generator gives it.
    pub fn truth(&self, graph: &Graph) -> Option<String> {
        let label = graph.label?;
        match (&self.path, usize::try_from(label)) {
            (None, Ok(family)) => families::FAMILIES.get(family).map(|name| name.to_string()),
            _ => Some(label.to_string()),
        }
    }

    /// Refuses a batch of `graphs` that has a pass without memory.
    pub fn check(&self, graphs: &[Graph], config: &Config, scores: Scores) -> Result<(), BadInput> {
        let nodes = graphs.iter().map(|graph| graph.num_nodes).sum();
        let edges = graphs.iter().map(|graph| graph.edges.len()).sum();
        let name = self.path.as_deref().unwrap_or("--model");
        config.check_pass(name, [nodes, edges, graphs.len()], scores)
    }

    /// Batches `graphs`, with the features that the model of `config` takes.
    pub fn batch(
        &self,
        graphs: &[Graph],
        config: &Config,
        request: &Request,
    ) -> models::Result<GraphBatch> {
        GraphBatch::of(graphs, config, request.dtype, &request.device)
            .map_err(|error| self.named(error))
    }

    /// Adds the file's name to an error.
    pub fn named(&self, error: models::Error) -> models::Error {
        match &self.path {
            Some(path) => named(path, error),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isolated_nodes_are_counted() {
        assert_eq!(lonely(&Graph::undirected(2, &[[0, 1]])), None);
        let text = lonely(&Graph::undirected(5, &[[1, 4]]));
        assert_eq!(
            text.as_deref(),
            Some("3 of 5 nodes have no edge, such as node 0")
        );
    }

    #[test]
    fn one_way_edges_are_noticed() {
        let has_note = |edges: &[[u32; 2]]| {
            let graph = Graph {
                num_nodes: 4,
                edges: edges.to_vec(),
                ..Graph::default()
            };
            one_way(&graph).is_some()
        };
        assert!(has_note(&[[0, 1], [1, 2], [0, 1]]));
        assert!(has_note(&[[0, 0], [1, 2]]));
        assert!(!has_note(&[[0, 1], [1, 2], [2, 1]]));
        assert!(!has_note(&[[0, 0]]));
        assert!(!has_note(&[]));
    }

    #[test]
    fn sizes_that_the_small_model_never_saw_are_noted() -> models::Result<()> {
        let file = crate::files::find("models/tiny/gnn/config.json")?;
        let file = models::config::ConfigFile::read(&file)?;
        let mut config = Config::from_file(&file)?;
        let graph = |num_nodes| Graph::undirected(num_nodes, &[]);
        let noted =
            |config: &Config| [23, 24, 64, 65].map(|n| unknown_size(&graph(n), config).is_some());
        assert_eq!(noted(&config), [true, false, false, true]);
        let note = unknown_size(&graph(2), &config);
        let text = "2 nodes: this model was trained on graphs of 24 to 64, so its classes mean little here";
        assert_eq!(note.as_deref(), Some(text));
        config.labels[0] = "other".into();
        assert_eq!(noted(&config), [false; 4]);
        Ok(())
    }
}
