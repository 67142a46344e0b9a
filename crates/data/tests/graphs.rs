//! Properties of the generated families and their features.

use std::collections::HashSet;

use data::families::{FAMILIES, NODES, draw};
use data::features::{RETURN_SCALE, degree_histogram, edge_features, node_features};
use data::graph::Graph;
use data::logistic::{accuracy, fit};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

fn graph(name: &str, seed: u64) -> Graph {
    let family = FAMILIES.iter().position(|f| *f == name).expect("a family");
    draw(family, &mut ChaCha8Rng::seed_from_u64(seed))
}

fn degrees(graph: &Graph) -> Vec<usize> {
    let mut degrees = vec![0; graph.num_nodes];
    graph
        .edges
        .iter()
        .for_each(|[i, _]| degrees[*i as usize] += 1);
    degrees
}

fn is_connected(graph: &Graph) -> bool {
    let mut seen = HashSet::from([0]);
    let mut stack = vec![0];
    while let Some(i) = stack.pop() {
        let next = graph.edges.iter().filter(|e| e[0] == i).map(|e| e[1]);
        stack.extend(next.filter(|&j| seen.insert(j)));
    }
    seen.len() == graph.num_nodes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_family_is_simple_and_undirected(seed: u64) {
        prop_assert_eq!(NODES, 24..=64);
        for (label, name) in FAMILIES.iter().enumerate() {
            let graph = graph(name, seed);
            prop_assert_eq!(graph.check(), Ok(()));
            prop_assert_eq!(graph.label, Some(label as i64));
            prop_assert!((24..=64).contains(&graph.num_nodes), "{} nodes", graph.num_nodes);
            let edges: HashSet<[u32; 2]> = graph.edges.iter().copied().collect();
            prop_assert_eq!(edges.len(), graph.edges.len(), "{} repeats an edge", name);
            prop_assert!(edges.iter().all(|&[i, j]| i != j && edges.contains(&[j, i])));
        }
    }

    #[test]
    fn the_regular_families_are_regular(seed: u64) {
        let regular = [("cycle", 2), ("ladder", 3), ("random cubic", 3), ("torus grid", 4), ("ring lattice", 4)];
        for (name, degree) in regular {
            prop_assert!(degrees(&graph(name, seed)).iter().all(|&d| d == degree), "{}", name);
        }
    }

    #[test]
    fn these_families_are_connected(seed: u64) {
        for name in ["cycle", "tree", "ladder", "torus grid", "ring lattice", "scale-free"] {
            prop_assert!(is_connected(&graph(name, seed)), "{}", name);
        }
    }

    #[test]
    fn renumbering_the_nodes_only_permutes_the_rows(seed: u64) {
        let before = graph("communities", seed);
        let mut names: Vec<u32> = (0..before.num_nodes as u32).collect();
        names.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let after = Graph {
            edges: before.edges.iter().map(|e| e.map(|i| names[i as usize])).collect(),
            ..before.clone()
        };
        let [x, y] = [&before, &after].map(|g| node_features(g, 16).unwrap());
        for (i, row) in x.chunks(16).enumerate() {
            let renamed = &y[names[i] as usize * 16..][..16];
            prop_assert!(row.iter().zip(renamed).all(|(a, b)| (a - b).abs() < 1e-5));
        }
        prop_assert_eq!(edge_features(&before, 4).unwrap(), edge_features(&after, 4).unwrap());
    }
}

#[test]
fn edge_counts_and_mean_degrees_are_as_documented() {
    let mean = |name| {
        let of = |seed| graph(name, seed);
        let graphs: Vec<Graph> = (0..300).map(of).collect();
        let edges: usize = graphs.iter().map(|g| g.edges.len()).sum();
        edges as f64 / graphs.iter().map(|g| g.num_nodes).sum::<usize>() as f64
    };
    assert!((mean("random") - 6.0).abs() < 0.15);
    assert!((mean("communities") - 6.0).abs() < 0.15);
    assert_eq!(mean("small world"), 4.0);
    let tree = graph("tree", 1);
    assert_eq!(tree.edges.len(), 2 * (tree.num_nodes - 1));
    let scale_free = graph("scale-free", 1);
    assert_eq!(scale_free.edges.len(), 2 * (2 * scale_free.num_nodes - 3));
}

#[test]
fn a_seed_fixes_every_graph() {
    for name in FAMILIES {
        assert_eq!(graph(name, 7), graph(name, 7));
        assert_ne!(graph(name, 7), graph(name, 8));
    }
}

#[test]
fn return_probabilities_of_a_triangle_with_a_tail() {
    // 0, 1, 2 are a triangle, 3 is attached to 2, and 4 is isolated.
    let graph = Graph::undirected(5, &[[0, 1], [0, 2], [1, 2], [2, 3]]);
    let x = node_features(&graph, 5).unwrap();
    let row = |i: usize| {
        [
            x[5 * i],
            x[5 * i + 1] / RETURN_SCALE,
            x[5 * i + 2] / RETURN_SCALE,
        ]
    };
    let close = |a: [f32; 3], b: [f32; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
    // From 0: to 1 and back 1/2·1/2, to 2 and back 1/2·1/3; around the triangle 2·(1/2·1/2·1/3).
    assert!(
        close(row(0), [3_f32.ln(), 5.0 / 12.0, 1.0 / 6.0]),
        "{:?}",
        row(0)
    );
    assert!(
        close(row(2), [4_f32.ln(), 2.0 / 3.0, 1.0 / 6.0]),
        "{:?}",
        row(2)
    );
    assert!(close(row(3), [2_f32.ln(), 1.0 / 3.0, 0.0]), "{:?}", row(3));
    assert!(close(row(4), [0.0; 3]), "{:?}", row(4));
}

#[test]
fn long_walks_agree_with_powers_of_the_walk() {
    let graph = graph("scale-free", 5);
    let n = graph.num_nodes;
    let degrees = degrees(&graph);
    let x = node_features(&graph, 20).unwrap();
    for i in 0..n {
        let mut at = vec![0.0_f64; n];
        at[i] = 1.0;
        for k in 1..=16 {
            let mut next = vec![0.0; n];
            for [a, b] in &graph.edges {
                next[*b as usize] += at[*a as usize] / degrees[*a as usize] as f64;
            }
            at = next;
            if k >= 2 {
                let p = f64::from(x[20 * i + k - 1] / RETURN_SCALE);
                assert!(
                    (p - at[i]).abs() < 1e-5,
                    "node {i}, {k} steps: {p} is not {}",
                    at[i]
                );
            }
        }
        assert_eq!(x[20 * i + 16..20 * (i + 1)], [0.0; 4]);
    }
}

#[test]
fn edge_features_count_common_neighbours_and_degrees() {
    let graph = Graph::undirected(4, &[[0, 1], [0, 2], [1, 2], [2, 3]]);
    let x = edge_features(&graph, 4).unwrap();
    let [ln2, ln3, ln4] = [2_f32.ln(), 3_f32.ln(), 4_f32.ln()];
    assert_eq!(x[..4], [ln2, ln3, ln3, 0.0]); // 0 → 1: 2 is common
    assert_eq!(x[24..28], [0.0, ln4, ln2, 0.0]); // 2 → 3
    assert_eq!(edge_features(&graph, 1).unwrap().len(), 8);
}

#[test]
fn attributes_of_the_right_width_are_used() {
    let graph = Graph {
        node_attributes: Some(vec![vec![1.0, 2.0], vec![3.0, 4.0]]),
        edge_attributes: Some(vec![vec![5.0], vec![6.0]]),
        ..Graph::undirected(2, &[[0, 1]])
    };
    assert_eq!(node_features(&graph, 2), Ok(vec![1.0, 2.0, 3.0, 4.0]));
    assert_eq!(edge_features(&graph, 1), Ok(vec![5.0, 6.0]));
    let error = node_features(&graph, 16).unwrap_err().to_string();
    assert_eq!(
        error,
        "node attributes of the graph: expected 16 values per row, as the model expects, found 2"
    );
    assert!(edge_features(&graph, 2).is_err());
}

#[test]
fn a_graph_too_large_for_walks_is_an_error() {
    let edges: Vec<[u32; 2]> = (0..60_000).map(|i| [i, i + 1]).collect();
    let error = node_features(&Graph::undirected(60_001, &edges), 16).unwrap_err();
    assert!(
        error.to_string().contains("60001 nodes and 120000 edges"),
        "{error}"
    );
}

#[test]
fn any_width_and_no_edges_are_fine() {
    let graph = Graph::undirected(3, &[]);
    for width in [0, 1, 2, 64] {
        assert_eq!(node_features(&graph, width).unwrap(), vec![0.0; 3 * width]);
        assert_eq!(edge_features(&graph, width), Ok(vec![]));
    }
}

/// Degrees are not enough to solve the task, but walks are.
#[test]
fn degrees_do_not_tell_the_families_apart_and_walks_do() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let y: Vec<usize> = (0..1500).map(|i| i % 10).collect();
    let (mut by_degree, mut by_walk) = (vec![], vec![]);
    for &family in &y {
        let graph = draw(family, &mut rng);
        by_degree.extend(degree_histogram(&graph, 16));
        let x = node_features(&graph, 16).unwrap();
        let mean = |c| x.iter().skip(c).step_by(16).sum::<f32>() / graph.num_nodes as f32;
        by_walk.extend((0..16).map(mean));
    }
    let score = |x: &[f32]| {
        let model = fit(&x[..1000 * 16], &y[..1000], 10, 25, 1);
        accuracy(&model, &x[1000 * 16..], &y[1000..])
    };
    let [degree, walk] = [score(&by_degree), score(&by_walk)];
    assert!(degree < 0.8 && walk > 0.9, "degrees {degree}, walks {walk}");
}
