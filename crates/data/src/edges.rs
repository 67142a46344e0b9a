//! A graph from a CSV file of edges.

use std::path::Path;

use crate::BadInput;
use crate::file::{at, quoted, read_text, with_newlines};
use crate::graph::Graph;

/// Maximum number of nodes, so that a wrong digit does not exhaust memory.
pub const MAX_NODES: u64 = 50_000_000;

const EXPECTED: &str = "source,target as whole numbers from 0";

/// Reads lines `source,target[,attribute…]`, with or without a header line.
///
/// Nodes are counted from 0, and there is one more than the largest number. Each line is one
/// directed edge; an undirected one has two lines.
///
/// # Errors
/// [`BadInput`] with file and line where a row is ragged, a node is negative, above
/// [`MAX_NODES`] or not a number, an attribute is not a finite number, or no edge is there.
pub fn read_csv(path: &Path) -> Result<Graph, BadInput> {
    parse(path, &with_newlines(read_text(path)?))
}

/// Does the same as [`read_csv`] for a model that takes `attributes` numbers for each edge, or none. Their number is
/// checked before the edges are read.
///
/// # Errors
/// See [`read_csv`]; and [`BadInput`] for another number of attributes on the first line.
pub fn read_csv_of(path: &Path, attributes: usize) -> Result<Graph, BadInput> {
    let text = with_newlines(read_text(path)?);
    let first = text.lines().find(|line| !line.is_empty());
    let commas = first.map_or(0, |line| line.matches(',').count());
    match commas.saturating_sub(1) {
        0 => parse(path, &text),
        found if found == attributes => parse(path, &text),
        found => {
            let what = format!("{}: edge attributes of the graph", path.display());
            let expected = format!("{attributes} values per row, as the model expects");
            Err(BadInput::new(what, expected, found))
        }
    }
}

fn parse(path: &Path, text: &str) -> Result<Graph, BadInput> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut width = None;
    let mut graph = Graph::default();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|e| BadInput::new(path.display(), EXPECTED, e))?;
        let line = record.position().map_or(row, |p| line_of(text, p));
        let width = *width.get_or_insert(record.len());
        if record.len() != width || width < 2 {
            let expected = format!(
                "{} values separated by commas, beginning with {EXPECTED}",
                width.max(2)
            );
            return Err(at(path, line, expected, record.len()));
        }
        if row > 0 || !is_header(&record) {
            add(&mut graph, &record)
                .map_err(|(expected, found)| at(path, line, expected, found))?;
        }
    }
    if graph.edges.is_empty() {
        return Err(BadInput::new(path.display(), EXPECTED, "no edge"));
    }
    Ok(graph)
}

/// Returns the line of a record, from 0; csv's position is before skipped empty lines.
fn line_of(text: &str, position: &csv::Position) -> usize {
    let rest = text.as_bytes().iter().skip(position.byte() as usize);
    let empty = rest
        .take_while(|b| b"\r\n".contains(b))
        .filter(|b| **b == b'\n');
    position.line() as usize - 1 + empty.count()
}

/// Whether neither of the first two values is a number.
fn is_header(record: &csv::StringRecord) -> bool {
    record
        .iter()
        .take(2)
        .all(|value| value.parse::<f64>().is_err())
}

/// Adds an edge; the error is what was expected and what was found.
fn add(graph: &mut Graph, record: &csv::StringRecord) -> Result<(), (String, String)> {
    let mut edge = [0; 2];
    for (node, value) in edge.iter_mut().zip(record) {
        let number: u64 = value
            .parse()
            .map_err(|_| (EXPECTED.to_owned(), quoted(value)))?;
        if number >= MAX_NODES {
            return Err((format!("nodes below {MAX_NODES}"), value.to_owned()));
        }
        *node = number as u32;
        graph.num_nodes = graph.num_nodes.max(number as usize + 1);
    }
    graph.edges.push(edge);
    if record.len() > 2 {
        let number = |value: &str| match value.parse::<f32>() {
            Ok(x) if x.is_finite() => Ok(x),
            _ => Err(("a finite number".to_owned(), quoted(value))),
        };
        let row: Result<Vec<f32>, _> = record.iter().skip(2).map(number).collect();
        graph.edge_attributes.get_or_insert_default().push(row?);
    }
    Ok(())
}
