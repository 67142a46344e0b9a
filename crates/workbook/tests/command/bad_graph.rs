//! Invalid graph files.

use crate::fixture::{Fixture, Run};

/// Two graphs, a triangle and a pair of nodes, in TU's text format.
const FILES: [(&str, &str); 3] = [
    ("A", "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n"),
    ("graph_indicator", "1\n1\n1\n2\n2\n"),
    ("graph_labels", "-1\n1\n"),
];

/// Runs on a data set with one file replaced or missing.
fn with(file: &str, text: Option<&str>) -> Run {
    let fixture = Fixture::golden("gnn-plain");
    for (name, content) in FILES {
        fixture.write(&format!("set/S_{name}.txt"), content);
    }
    let path = fixture.path(&format!("set/S_{file}.txt"));
    match text {
        Some(text) => std::fs::write(path, text).unwrap(),
        None => std::fs::remove_file(path).unwrap(),
    }
    fixture.run(&["--graph", &fixture.path("set")])
}

#[test]
fn a_whole_data_set() {
    let run = with("graph_labels", Some("-1\n1\n"));
    let heads: Vec<&str> = run.fine().lines().step_by(4).collect();
    let expected = [
        "graph 0: 3 nodes, 6 directed edges, true class -1",
        "graph 1: 2 nodes, 2 directed edges, true class 1",
    ];
    assert_eq!(heads, expected);
    assert!(
        with("graph_labels", None)
            .fine()
            .starts_with("graph 0: 3 nodes, 6 directed edges\n")
    );
}

#[test]
fn data_sets() {
    let refuses = |file: &str, text: &str, parts: &[&str]| {
        with(file, Some(text)).refused(&[&[format!("S_{file}.txt").as_str()], parts].concat());
    };
    refuses("A", "1, 2\n2\n", &[":2: expected 2 values", "found 1"]);
    refuses("A", "1, 2\n2, 6\n", &[":2: expected nodes 1 to 5, found 6"]);
    refuses("A", "0, 1\n", &["nodes 1 to 5, found 0"]);
    refuses("A", "-1, 1\n", &["nodes 1 to 5, found -1"]);
    refuses(
        "A",
        "1, 2\n3, 4\n",
        &[":2: expected two nodes of one graph"],
    );
    refuses("A", "1, two\n", &[":1: expected two numbers"]);
    refuses(
        "graph_indicator",
        "1\n1\n1\n2\n1\n",
        &[":5: expected graph 2 or 3, found 1"],
    );
    refuses("graph_indicator", "", &["found no line"]);
    refuses("graph_labels", "1\n", &["expected 2 lines", "found 1"]);
    refuses("graph_labels", "1\nx\n", &[":2: expected an integer"]);
    refuses(
        "node_attributes",
        "1,2\n1,2\n1,2\n1,2\n1,NaN\n",
        &[":5: expected finite numbers"],
    );
    with("graph_indicator", None).refused_so(&["S_graph_indicator.txt`: no such file"]);
}

#[test]
fn attributes_of_another_width() {
    let run = with("node_attributes", Some("1\n2\n3\n4\n5\n"));
    let parts = [
        "set: node attributes",
        "expected 6 values per row",
        "found 1",
    ];
    run.refused(&parts);
    with("edge_labels", Some("1\n2\n1\n2\n1\n2\n1\n2\n")).refused(&[
        "set: edge attributes",
        "expected 5 values per row",
        "found 2",
    ]);
}

#[test]
fn folders_without_a_data_set() {
    let fixture = Fixture::golden("gnn-plain");
    let folder = fixture.path("");
    fixture
        .run(&["--graph", &folder])
        .refused(&[&folder, "*_A.txt, found 0 such files"]);
    let missing = fixture.path("missing");
    fixture
        .run(&["--graph", &missing])
        .refused(&[&missing, "found no such folder"]);
    with("A", None).refused(&["*_A.txt"]);
}

/// Runs on an edge list.
fn edges(text: &str) -> Run {
    let fixture = Fixture::golden("gnn-plain");
    let path = fixture.write("edges.csv", text);
    fixture.run(&["--edges", &path])
}

#[test]
fn lists_of_edges() {
    let run = edges("source,target\n0,1\n1,0\n1,4\n");
    assert!(
        run.fine()
            .starts_with("graph 0: 5 nodes, 3 directed edges\n"),
        "{}",
        run.stdout
    );
    for (text, parts) in [
        ("", &["found no edge"][..]),
        ("source,target\n", &["found no edge"]),
        ("0,1\n1\n", &[":2: expected 2 values"]),
        ("0,1\n-1,0\n", &[":2: ", "found \"-1\""]),
        ("0,1\n1,x\n", &[":2: ", "found \"x\""]),
        ("0,99999999999\n", &[":1: expected nodes below"]),
        ("0,1,NaN,1,1,1,1\n", &[":1: expected a finite number"]),
        (
            "0,1,3.4e38,3.4e38,3.4e38,3.4e38,3.4e38\n",
            &["edges.csv: logits: expected finite numbers"],
        ),
        (
            "0,1,2.5\n",
            &[
                "edges.csv: edge attributes",
                "expected 5 values per row",
                "found 1",
            ],
        ),
    ] {
        edges(text).refused(&[&["edges.csv"], parts].concat());
    }
    let fixture = Fixture::golden("gnn-plain");
    let missing = fixture.path("missing.csv");
    fixture.run(&["--edges", &missing]).unreadable(&missing);
}

/// Edges in one direction only get one note, and the graph is still classified.
#[test]
fn edges_without_a_reverse_are_noted() {
    let notes = |text| {
        let run = edges(text);
        run.fine();
        let notes = run.stderr.lines().filter(|line| line.starts_with("note: "));
        notes.map(str::to_owned).collect::<Vec<_>>()
    };
    let one_way = notes("0,1\n1,2\n2,0\n");
    assert_eq!(one_way.len(), 1, "{one_way:?}");
    let note = "edges.csv: no edge has its reverse, so messages go only from source to target; for an undirected graph, add \
                a line `target,source` for each edge";
    assert!(one_way[0].ends_with(note), "{one_way:?}");
    assert!(notes("0,1\n1,0\n1,2\n").is_empty());
}
