//! A small data set in the TU format, and single mistakes in it.

use std::path::Path;

use data::graph::Graph;
use data::tu::read;

/// Two graphs: a path of three nodes, and two nodes joined by a repeated edge.
const GOOD: [(&str, &str); 7] = [
    ("A", "1, 2\n2, 1\n2, 3\n3, 2\n5, 4\n5,4\n"),
    ("graph_indicator", "1\n1\n1\n2\n2\n"),
    ("graph_labels", "1\n-1\n"),
    ("node_labels", "6\n5\n6\n7\n6\n"),
    (
        "node_attributes",
        "0.5, 1\n1.5, 2\n2.5, 3\n3.5, 4\n-4.5, 1e1\n",
    ),
    ("edge_labels", "0\n0\n1\n1\n0\n1\n"),
    ("edge_attributes", "1\n2\n3\n4\n5\n6\n\n"),
];

/// Writes the valid files with `changes`; an empty text means no file.
fn write(dir: &Path, changes: &[(&str, &str)]) {
    for (what, text) in GOOD {
        let change = changes.iter().find(|(name, _)| *name == what);
        let text = change.map_or(text, |(_, text)| text);
        if !text.is_empty() {
            std::fs::write(dir.join(format!("SET_{what}.txt")), text).unwrap();
        }
    }
}

fn read_with(changes: &[(&str, &str)]) -> Result<Vec<Graph>, String> {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), changes);
    read(dir.path()).map_err(|e| {
        let message = e.to_string();
        assert_eq!(message.lines().count(), 1);
        message.replace(&format!("{}", dir.path().display()), "DIR")
    })
}

#[test]
fn a_whole_set_is_read() {
    let graphs = read_with(&[]).unwrap();
    let path = Graph {
        num_nodes: 3,
        edges: vec![[0, 1], [1, 0], [1, 2], [2, 1]],
        node_attributes: Some(vec![
            vec![0.5, 1.0, 0.0, 1.0, 0.0],
            vec![1.5, 2.0, 1.0, 0.0, 0.0],
            vec![2.5, 3.0, 0.0, 1.0, 0.0],
        ]),
        node_labels: Some(vec![6, 5, 6]),
        edge_attributes: Some(vec![
            vec![1.0, 1.0, 0.0],
            vec![2.0, 1.0, 0.0],
            vec![3.0, 0.0, 1.0],
            vec![4.0, 0.0, 1.0],
        ]),
        edge_labels: Some(vec![0, 0, 1, 1]),
        label: Some(1),
    };
    assert_eq!(graphs.len(), 2);
    assert_eq!(graphs[0], path);
    assert_eq!(graphs[1].edges, [[1, 0], [1, 0]]);
    assert_eq!(graphs[1].node_labels, Some(vec![7, 6]));
    assert_eq!(graphs[1].label, Some(-1));
    graphs
        .iter()
        .for_each(|graph| assert_eq!(graph.check(), Ok(())));
}

#[test]
fn two_files_are_enough() {
    let optional = GOOD[2..].iter().map(|(what, _)| (*what, ""));
    let graphs = read_with(&optional.collect::<Vec<_>>()).unwrap();
    assert_eq!(graphs[0], Graph::undirected(3, &[[0, 1], [1, 2]]));
    assert_eq!(graphs[1].label, None);
}

#[test]
fn a_graph_without_edges_is_read() {
    let graphs = read_with(&[
        ("A", "1, 2\n2, 1\n2, 3\n3, 2\n"),
        ("edge_labels", "0\n0\n1\n1\n"),
        ("edge_attributes", "1\n2\n3\n4\n"),
    ]);
    let graph = &graphs.unwrap()[1];
    assert_eq!((graph.num_nodes, graph.edges.len()), (2, 0));
    assert_eq!(graph.edge_attributes, Some(vec![]));
    assert_eq!(graph.check(), Ok(()));
}

#[test]
fn each_mistake_is_named_with_its_file_and_line() {
    let cases = [
        (
            "A",
            "1, 2\n2, 1, 3\n",
            "DIR/SET_A.txt:2: expected 2 values, as on line 1, found 3",
        ),
        (
            "A",
            "1, 2, 3\n",
            "DIR/SET_A.txt:1: expected two numbers of nodes, found 3 values",
        ),
        (
            "A",
            "1, 2\n2, x\n",
            "DIR/SET_A.txt:2: expected two numbers of nodes, found \"2, x\"",
        ),
        (
            "A",
            "1, 2\n\n2, 1\n",
            "DIR/SET_A.txt:2: expected two numbers of nodes, found \"\"",
        ),
        (
            "A",
            "1, 0\n",
            "DIR/SET_A.txt:1: expected nodes 1 to 5, found 0",
        ),
        (
            "A",
            "-1, 1\n",
            "DIR/SET_A.txt:1: expected nodes 1 to 5, found -1",
        ),
        (
            "A",
            "1, 2\n1, 6\n",
            "DIR/SET_A.txt:2: expected nodes 1 to 5, found 6",
        ),
        (
            "A",
            "3, 4\n",
            "DIR/SET_A.txt:1: expected two nodes of one graph, found nodes of graphs 1 and 2",
        ),
        (
            "graph_indicator",
            "1\n2\n1\n",
            "DIR/SET_graph_indicator.txt:3: expected graph 2 or 3, found 1",
        ),
        (
            "graph_indicator",
            "1\n3\n",
            "DIR/SET_graph_indicator.txt:2: expected graph 1 or 2, found 3",
        ),
        (
            "graph_indicator",
            "0\n1\n",
            "DIR/SET_graph_indicator.txt:1: expected graph 1, found 0",
        ),
        (
            "graph_indicator",
            "\n",
            "DIR/SET_graph_indicator.txt: expected the graph of each node, found no line",
        ),
        (
            "graph_labels",
            "1\n",
            "DIR/SET_graph_labels.txt: expected 2 lines, by SET_graph_indicator.txt, found 1",
        ),
        (
            "node_labels",
            "1\n",
            "DIR/SET_node_labels.txt: expected 5 lines, by SET_graph_indicator.txt, found 1",
        ),
        (
            "node_labels",
            "1\n2\n3\n4\n9000\n",
            "DIR/SET_node_labels.txt: expected labels that lie within 4096 of each other, found 1 to 9000",
        ),
        (
            "node_labels",
            "1.5\n",
            "DIR/SET_node_labels.txt:1: expected an integer, found \"1.5\"",
        ),
        (
            "node_attributes",
            "1\n2\n3\n4\nNaN\n",
            "DIR/SET_node_attributes.txt:5: expected finite numbers, comma-separated, found [NaN]",
        ),
        (
            "node_attributes",
            "1, 2\n3\n",
            "DIR/SET_node_attributes.txt:2: expected 2 values, as on line 1, found 1",
        ),
        (
            "edge_labels",
            "1\n",
            "DIR/SET_edge_labels.txt: expected 6 lines, by SET_A.txt, found 1",
        ),
        (
            "edge_attributes",
            "1\n",
            "DIR/SET_edge_attributes.txt: expected 6 lines, by SET_A.txt, found 1",
        ),
    ];
    for (what, text, expected) in cases {
        assert_eq!(read_with(&[(what, text)]), Err(expected.to_owned()));
    }
}

#[test]
fn a_folder_without_a_set_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let of = |dir: &Path| read(dir).unwrap_err().to_string();
    assert!(
        of(dir.path()).ends_with("expected a folder with one file *_A.txt, found 0 such files")
    );
    assert!(of(&dir.path().join("none")).ends_with("found no such folder"));
    write(dir.path(), &[("graph_indicator", "")]);
    assert!(of(dir.path()).contains("SET_graph_indicator.txt`: no such file"));
    std::fs::write(dir.path().join("OTHER_A.txt"), "").unwrap();
    assert!(of(dir.path()).ends_with("found 2 such files"));
}

/// A few labels, far apart, for many nodes: refused before the columns are made.
#[test]
fn one_hot_columns_that_fill_the_memory() {
    let nodes = 20_000;
    let indicator = "1\n".repeat(nodes);
    let labels = "1\n".repeat(nodes - 1) + "4096\n";
    let error = read_with(&[
        ("A", "1,2\n"),
        ("graph_indicator", &indicator),
        ("graph_labels", ""),
        ("node_labels", &labels),
        ("node_attributes", ""),
        ("edge_labels", ""),
        ("edge_attributes", ""),
    ])
    .unwrap_err();
    assert!(
        error.ends_with("found 4096 columns for 20000 labels"),
        "{error}"
    );
}
