//! Random graphs of ten families: what the small graph network learns to name.
//!
//! Three groups share their degrees, so that a histogram of degrees cannot tell their members
//! apart: every node of a ladder and of a random cubic graph has 3 neighbours, every node of a torus
//! grid and of a ring lattice has 4, and the nodes of a random graph and of a graph of communities
//! have 6 in the mean.

use std::ops::RangeInclusive;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use crate::graph::Graph;

/// The names of the families, in the order of the model's outputs.
pub const FAMILIES: [&str; 10] = [
    "cycle",
    "tree",
    "ladder",
    "random cubic",
    "torus grid",
    "ring lattice",
    "small world",
    "scale-free",
    "random",
    "communities",
];

/// How many nodes a graph of [`draw`] has.
pub const NODES: RangeInclusive<usize> = 24..=64;

type Edges = Vec<[u32; 2]>;

/// A graph of `FAMILIES[family]` with [`NODES`] nodes in random order, `label` set to `family`.
///
/// # Panics
/// If `family` is not in `0..10`.
pub fn draw(family: usize, rng: &mut impl Rng) -> Graph {
    let n = 2 * rng.random_range(12..=32); // even: a ladder and a cubic graph need it
    let (n, edges) = match family {
        0 => (n, circulant(n, 1)),
        1 => (n, tree(n, rng)),
        2 => (n, ladder(n)),
        3 => (n, random_cubic(n, rng)),
        4 => torus_grid(rng.random_range(5..=8), rng.random_range(5..=8)),
        5 => (n, circulant(n, 2)),
        6 => (n, small_world(n, rng)),
        7 => (n, scale_free(n, rng)),
        8 => (n, blocks(n, 1, rng)),
        9 => (n, blocks(n, rng.random_range(2..=3), rng)),
        _ => panic!("family {family} is not in 0..10"),
    };
    let mut names: Vec<u32> = (0..n).collect();
    names.shuffle(rng);
    let renamed: Edges = edges.iter().map(|e| e.map(|i| names[i as usize])).collect();
    Graph {
        label: Some(family as i64),
        ..Graph::undirected(n as usize, &renamed)
    }
}

/// Each node of a ring is joined to the `reach` next ones: a cycle for 1, a ring lattice for 2.
fn circulant(n: u32, reach: u32) -> Edges {
    let of = |i| (1..=reach).map(move |step| [i, (i + step) % n]);
    (0..n).flat_map(of).collect()
}

/// Node i hangs under a random one of the nodes before it (a random recursive tree).
fn tree(n: u32, rng: &mut impl Rng) -> Edges {
    (1..n).map(|i| [rng.random_range(0..i), i]).collect()
}

/// Two cycles of n/2 nodes with a rung from each node of one to its twin in the other (a prism).
fn ladder(n: u32) -> Edges {
    let half = n / 2;
    let rungs = (0..half).map(|i| [i, i + half]);
    let cycles = (0..half).flat_map(|i| {
        let next = (i + 1) % half;
        [[i, next], [i + half, next + half]]
    });
    rungs.chain(cycles).collect()
}

/// The pairing model: three stubs a node, paired at random until no edge is a loop or a repeat
/// (Bollobás, 1980). About one pairing in seven is simple.
fn random_cubic(n: u32, rng: &mut impl Rng) -> Edges {
    let mut stubs: Vec<u32> = (0..3 * n).map(|s| s / 3).collect();
    loop {
        stubs.shuffle(rng);
        let mut edges: Edges = stubs
            .chunks_exact(2)
            .map(|s| [s[0].min(s[1]), s[0].max(s[1])])
            .collect();
        edges.sort_unstable();
        let simple = edges.iter().all(|e| e[0] != e[1]) && edges.windows(2).all(|w| w[0] != w[1]);
        if simple {
            return edges;
        }
    }
}

/// A grid whose last row and column are joined to the first.
fn torus_grid(rows: u32, cols: u32) -> (u32, Edges) {
    let node = |r: u32, c: u32| (r % rows) * cols + c % cols;
    let cells = (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c)));
    let edges = cells.flat_map(|(r, c)| {
        let here = node(r, c);
        [[here, node(r, c + 1)], [here, node(r + 1, c)]]
    });
    (rows * cols, edges.collect())
}

/// A ring lattice whose edges each get a new random end with probability 0.15, unless that makes
/// a loop or a repeated edge (Watts and Strogatz, 1998).
fn small_world(n: u32, rng: &mut impl Rng) -> Edges {
    let mut edges = circulant(n, 2);
    for e in 0..edges.len() {
        if rng.random_bool(0.15) {
            let [i, j] = [edges[e][0], rng.random_range(0..n)];
            if i != j && !edges.contains(&[i, j]) && !edges.contains(&[j, i]) {
                edges[e] = [i, j];
            }
        }
    }
    edges
}

/// Each new node is joined to two nodes that are there, chosen in proportion to their degree
/// (Barabási and Albert, 1999), starting from a triangle.
fn scale_free(n: u32, rng: &mut impl Rng) -> Edges {
    let mut edges = vec![[0, 1], [0, 2], [1, 2]];
    for i in 3..n {
        // A random end of a random edge is a node with probability in proportion to its degree.
        let mut end = || edges[rng.random_range(0..edges.len())][rng.random_range(0..2)];
        let first = end();
        let second = loop {
            let second = end();
            if second != first {
                break second;
            }
        };
        edges.extend([[first, i], [second, i]]);
    }
    edges
}

/// Mean number of neighbours in [`blocks`].
const MEAN_DEGREE: f64 = 6.0;
/// Mean number of neighbours in other blocks, if there are several.
const MEAN_DEGREE_ACROSS: f64 = 0.5;

/// The stochastic block model with `count` equal blocks (Holland, Laskey and Leinhardt, 1983);
/// one block is the random graph of Gilbert (1959). Both have the same mean degree.
fn blocks(n: u32, count: u32, rng: &mut impl Rng) -> Edges {
    let size = f64::from(n) / f64::from(count);
    let across = if count == 1 { 0.0 } else { MEAN_DEGREE_ACROSS };
    let inside = (MEAN_DEGREE - across) / (size - 1.0);
    let outside = across / (f64::from(n) - size).max(1.0);
    let pairs = (0..n).flat_map(|i| (0..i).map(move |j| [i, j]));
    let joined = pairs.filter(|&[i, j]| {
        let together = i % count == j % count;
        rng.random_bool(if together { inside } else { outside })
    });
    joined.collect()
}
