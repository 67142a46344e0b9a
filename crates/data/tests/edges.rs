//! Valid and invalid CSV edge lists.

use data::edges::{read_csv, read_csv_of};
use data::graph::Graph;
use proptest::prelude::*;

fn read_bytes(bytes: &[u8]) -> Result<Graph, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("edges.csv");
    std::fs::write(&path, bytes).unwrap();
    read_csv(&path).map_err(|e| {
        let message = e.to_string();
        assert_eq!(message.lines().count(), 1);
        message.replace(&path.display().to_string(), "FILE")
    })
}

fn read(text: &str) -> Result<Graph, String> {
    read_bytes(text.as_bytes())
}

#[test]
fn a_header_spaces_and_windows_lines_change_nothing() {
    let expected = Graph {
        num_nodes: 6,
        edges: vec![[0, 1], [5, 1], [1, 1]],
        ..Graph::default()
    };
    for text in [
        "0,1\n5,1\n1,1",
        "source,target\n0,1\n5,1\n1,1\n",
        "\u{feff}from, to\r\n 0, 1\r\n5 ,1\r\n\"1\",1\r\n",
        "0,1\r5,1\r1,1\r",
    ] {
        assert_eq!(read(text), Ok(expected.clone()), "{text}");
    }
}

#[test]
fn further_columns_are_attributes() {
    let graph = read("source,target,weight,kind\n0,1,0.5,2\n1,0,-1e3,0\n").unwrap();
    assert_eq!(
        graph.edge_attributes,
        Some(vec![vec![0.5, 2.0], vec![-1e3, 0.0]])
    );
    assert_eq!(graph.check(), Ok(()));
}

#[test]
fn each_mistake_is_named_with_its_line() {
    let node = "expected source,target as whole numbers from 0, found";
    let cases = [
        ("", format!("FILE: {node} no edge")),
        ("source,target\n", format!("FILE: {node} no edge")),
        ("0,1\n-1,2\n", format!("FILE:2: {node} \"-1\"")),
        ("-1,2\n", format!("FILE:1: {node} \"-1\"")),
        ("0,one\n", format!("FILE:1: {node} \"one\"")),
        ("a,b\nc,d\n", format!("FILE:2: {node} \"c\"")),
        ("0,1.5\n", format!("FILE:1: {node} \"1.5\"")),
        ("0,1\n\n0,\n", format!("FILE:3: {node} \"\"")),
        (
            "0,1\n2\n",
            "FILE:2: expected 2 values separated by commas, beginning with source,target as whole numbers from 0, found 1"
                .into(),
        ),
        (
            "0,1\n1,2,3\n",
            "FILE:2: expected 2 values separated by commas, beginning with source,target as whole numbers from 0, found 3"
                .into(),
        ),
        (
            "0\n1\n",
            "FILE:1: expected 2 values separated by commas, beginning with source,target as whole numbers from 0, found 1"
                .into(),
        ),
        (
            "0,50000000\n",
            "FILE:1: expected nodes below 50000000, found 50000000".into(),
        ),
        (
            "0,99999999999999999999999\n",
            format!("FILE:1: {node} \"99999999999999999999999\""),
        ),
        (
            "0,1,inf\n",
            "FILE:1: expected a finite number, found \"inf\"".into(),
        ),
        (
            "0,1,x\n",
            "FILE:1: expected a finite number, found \"x\"".into(),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text), Err(expected), "{text:?}");
    }
    let error = read_bytes(b"0,1\n\xff,2\n").unwrap_err();
    assert_eq!(
        error,
        "FILE: expected UTF-8 text, found other bytes at offset 4"
    );
}

#[test]
fn a_missing_file_is_named() {
    let error = read_csv("nowhere/edges.csv".as_ref())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("cannot read `nowhere/edges.csv`: no such file"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn edges_are_read_as_they_were_written(edges in prop::collection::vec([0..1000_u32, 0..1000], 1..50)) {
        let text: String = edges.iter().map(|[i, j]| format!("{i},{j}\n")).collect();
        let graph = read(&text).unwrap();
        let most = edges.iter().flatten().max().unwrap();
        prop_assert_eq!(graph.num_nodes, *most as usize + 1);
        prop_assert_eq!(graph.edges, edges);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
        if let Ok(graph) = read_bytes(&bytes) {
            prop_assert_eq!(graph.check(), Ok(()));
        }
    }
}

/// A wide row or a long file is refused at its first line.
#[test]
fn attributes_that_a_model_does_not_take_are_found_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edges.csv");
    let read = |text: &str, attributes| {
        std::fs::write(&path, text).unwrap();
        read_csv_of(&path, attributes).map_err(|e| e.to_string())
    };
    let wide = "0,1,2\n0,1,2\nno number,1,2\n";
    let error = read(wide, 4).unwrap_err();
    let expected = "edge attributes of the graph: expected 4 values per row, as the model expects";
    assert!(error.ends_with(&format!("{expected}, found 1")), "{error}");
    assert!(read("\n\n0,1,2\n", 1).is_ok());
    assert!(read("0,1\n", 4).is_ok());
    assert!(read("0\n", 4).unwrap_err().contains("edges.csv:1: "));
}
