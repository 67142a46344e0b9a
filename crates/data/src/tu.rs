//! The text format of the TU collection of graph data sets (Morris et al., 2020, "TUDataset").
//!
//! A folder has one data set. Every file name starts with the set's name, numbers are comma-separated, and
//! nodes and graphs are numbered from 1 through the whole set:
//!
//! | file | a line |
//! |---|---|
//! | `*_A.txt` | an edge, `source, target`; an undirected edge has two lines |
//! | `*_graph_indicator.txt` | the graph of a node |
//! | `*_graph_labels.txt` | the class of a graph (optional, as all that follow) |
//! | `*_node_labels.txt`, `*_edge_labels.txt` | an integer |
//! | `*_node_attributes.txt`, `*_edge_attributes.txt` | numbers |

use std::path::{Path, PathBuf};

use crate::BadInput;
use crate::bad_input::why;
use crate::file::{at, attributes, column, rows};
use crate::graph::Graph;

/// Maximum range of labels that become one-hot columns.
const MAX_LABELS: i128 = 4096;

/// Maximum numbers in the one-hot columns of all nodes, or of all edges: 256 MiB.
const MAX_ONE_HOT: usize = 1 << 26;

/// Reads the graphs of the data set in `dir`, with edges in the file's order.
///
/// Labels also become features, as in PyTorch Geometric: the attributes of a node are those of the file, then
/// a one-hot vector of `label − smallest label of the set`. The same holds for edges.
///
/// # Errors
/// [`BadInput`] with file and line if a number is invalid, rows differ in width, an edge joins a missing node
/// or two graphs, the indicator decreases or leaves a graph without nodes, or files disagree in their number
/// of lines.
pub fn read(dir: &Path) -> Result<Vec<Graph>, BadInput> {
    let set = Set::find(dir)?;
    let graph_of = indicator(&set.path("graph_indicator"))?;
    let edges = edges(&set.path("A"), &graph_of)?;
    let mut graphs = divide(&graph_of, &edges);

    let graph_of_edge: Vec<usize> = edges.iter().map(|[i, _]| graph_of[*i]).collect();
    let nodes = set.columns("node", "graph_indicator", &graph_of)?;
    for (row, &g) in nodes.attributes.into_iter().flatten().zip(&graph_of) {
        graphs[g].node_attributes.get_or_insert_default().push(row);
    }
    for (label, &g) in nodes.labels.into_iter().flatten().zip(&graph_of) {
        graphs[g].node_labels.get_or_insert_default().push(label);
    }
    let columns = set.columns("edge", "A", &graph_of_edge)?;
    for graph in &mut graphs {
        // A graph without edges has no row, but still has edge attributes.
        graph.edge_attributes = columns.attributes.is_some().then(Vec::new);
        graph.edge_labels = columns.labels.is_some().then(Vec::new);
    }
    for (row, &g) in columns.attributes.into_iter().flatten().zip(&graph_of_edge) {
        graphs[g].edge_attributes.get_or_insert_default().push(row);
    }
    for (label, &g) in columns.labels.into_iter().flatten().zip(&graph_of_edge) {
        graphs[g].edge_labels.get_or_insert_default().push(label);
    }
    let labels = set.optional("graph_labels", "graph_indicator", graphs.len(), |path| {
        column(path, "an integer")
    })?;
    for (label, graph) in labels.into_iter().flatten().zip(&mut graphs) {
        graph.label = Some(label);
    }
    Ok(graphs)
}

/// The folder, and the prefix of its files.
struct Set {
    dir: PathBuf,
    name: String,
}

/// Columns of the files about nodes, or about edges.
struct Columns {
    attributes: Option<Vec<Vec<f32>>>,
    labels: Option<Vec<i64>>,
}

impl Set {
    fn find(dir: &Path) -> Result<Self, BadInput> {
        let expected = "a folder with one file *_A.txt";
        let bad = |found: &dyn std::fmt::Display| BadInput::new(dir.display(), expected, found);
        let mut names = vec![];
        for entry in std::fs::read_dir(dir).map_err(|e| bad(&why(&e, "folder")))? {
            let file = entry.map_err(|e| bad(&e))?.file_name();
            let name = file.to_str().and_then(|f| f.strip_suffix("_A.txt"));
            names.extend(name.map(str::to_owned));
        }
        match names.len() {
            1 => Ok(Self {
                dir: dir.to_owned(),
                name: names.remove(0),
            }),
            n => Err(bad(&format!("{n} such files"))),
        }
    }

    fn path(&self, what: &str) -> PathBuf {
        self.dir.join(format!("{}_{what}.txt", self.name))
    }

    /// Reads the rows of a file if it exists; it must have `len` rows, as `like` describes.
    fn optional<T>(
        &self,
        what: &str,
        like: &str,
        len: usize,
        read: impl Fn(&Path) -> Result<Vec<T>, BadInput>,
    ) -> Result<Option<Vec<T>>, BadInput> {
        let path = self.path(what);
        if !crate::is_there(&path) {
            return Ok(None);
        }
        let rows = read(&path)?;
        if rows.len() != len {
            let expected = format!("{len} lines, by {}_{like}.txt", self.name);
            return Err(BadInput::new(path.display(), expected, rows.len()));
        }
        Ok(Some(rows))
    }

    /// Reads attributes with appended one-hot labels, and labels, of every "node" or "edge".
    fn columns(&self, kind: &str, like: &str, of: &[usize]) -> Result<Columns, BadInput> {
        let what = format!("{kind}_labels");
        let labels = self.optional(&what, like, of.len(), |path| column(path, "an integer"))?;
        let what_attributes = format!("{kind}_attributes");
        let mut rows = self.optional(&what_attributes, like, of.len(), attributes)?;
        if let Some(labels) = &labels {
            let one_hot = one_hot(&self.path(&what), labels)?;
            let rows = rows.get_or_insert_with(|| vec![vec![]; labels.len()]);
            for (row, one_hot) in rows.iter_mut().zip(one_hot) {
                row.extend(one_hot);
            }
        }
        Ok(Columns {
            attributes: rows,
            labels,
        })
    }
}

/// Reads the graph of each node, from 0.
fn indicator(path: &Path) -> Result<Vec<usize>, BadInput> {
    let numbers: Vec<i64> = column(path, "the number of a graph")?;
    let mut last = 0;
    for (line, &graph) in numbers.iter().enumerate() {
        // A first line other than 1 is an error like a later gap.
        if graph != last && graph != last + 1 || graph == 0 {
            let expected = match last {
                0 => "graph 1".to_owned(),
                _ => format!("graph {last} or {}", last + 1),
            };
            return Err(at(path, line, expected, graph));
        }
        last = graph;
    }
    if numbers.is_empty() {
        Err(BadInput::new(
            path.display(),
            "the graph of each node",
            "no line",
        ))
    } else {
        Ok(numbers
            .into_iter()
            .map(|graph| graph as usize - 1)
            .collect())
    }
}

/// Reads the edges; nodes are numbered from 0 through the whole set.
fn edges(path: &Path, graph_of: &[usize]) -> Result<Vec<[usize; 2]>, BadInput> {
    let pairs: Vec<Vec<i64>> = rows(path, "two numbers of nodes")?;
    let n = graph_of.len();
    let mut edges = Vec::with_capacity(pairs.len());
    for (line, pair) in pairs.iter().enumerate() {
        let &[i, j] = pair.as_slice() else {
            let found = format!("{} values", pair.len());
            return Err(at(path, line, "two numbers of nodes", found));
        };
        if let Some(bad) = [i, j].iter().find(|&&i| i < 1 || i > n as i64) {
            return Err(at(path, line, format!("nodes 1 to {n}"), bad));
        }
        let [i, j] = [i, j].map(|i| i as usize - 1);
        if graph_of[i] != graph_of[j] {
            let [a, b] = [i, j].map(|i| graph_of[i] + 1);
            let found = format!("nodes of graphs {a} and {b}");
            return Err(at(path, line, "two nodes of one graph", found));
        }
        edges.push([i, j]);
    }
    Ok(edges)
}

/// Divides nodes and edges among graphs. The nodes of a graph are consecutive.
fn divide(graph_of: &[usize], edges: &[[usize; 2]]) -> Vec<Graph> {
    let mut first = vec![];
    let mut graphs: Vec<Graph> = vec![];
    for (i, &g) in graph_of.iter().enumerate() {
        if g == graphs.len() {
            graphs.push(Graph::default());
            first.push(i);
        }
        graphs[g].num_nodes += 1;
    }
    for edge in edges {
        let g = graph_of[edge[0]];
        graphs[g].edges.push(edge.map(|i| (i - first[g]) as u32));
    }
    graphs
}

fn one_hot(path: &Path, labels: &[i64]) -> Result<Vec<Vec<f32>>, BadInput> {
    let min = labels.iter().min().map_or(0, |&l| i128::from(l));
    let max = labels.iter().max().map_or(0, |&l| i128::from(l));
    if max - min >= MAX_LABELS {
        let expected = format!("labels that lie within {MAX_LABELS} of each other");
        return Err(BadInput::new(
            path.display(),
            expected,
            format!("{min} to {max}"),
        ));
    }
    let width = (max - min + 1) as usize;
    if width.saturating_mul(labels.len()) > MAX_ONE_HOT {
        let expected = format!("at most {MAX_ONE_HOT} numbers of one-hot columns");
        let found = format!("{width} columns for {} labels", labels.len());
        return Err(BadInput::new(path.display(), expected, found));
    }
    let row = |&label: &i64| {
        let mut row = vec![0.0; width];
        row[(i128::from(label) - min) as usize] = 1.0;
        row
    };
    Ok(labels.iter().map(row).collect())
}
