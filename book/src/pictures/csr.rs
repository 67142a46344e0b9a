//! A graph as rows of edges by destination, and a warp for each node.

use super::canvas::Canvas;
use std::f64::consts::TAU;

const NODES: usize = 6;
/// (from, to)
const EDGES: [(usize, usize); 13] = [
    (4, 0),
    (1, 0),
    (0, 1),
    (4, 1),
    (2, 1),
    (4, 3),
    (0, 4),
    (1, 4),
    (3, 4),
    (5, 4),
    (2, 4),
    (4, 5),
    (3, 5),
];
/// The node whose row is marked.
const HUB: usize = 4;
const LEFT: f64 = 300.;
const CELL: f64 = 29.;

/// Where each node's row of edges begins, with the end of the last, and the source of each edge.
fn rows(edges: &[(usize, usize)]) -> (Vec<usize>, Vec<usize>) {
    let mut sorted = edges.to_vec();
    sorted.sort_by_key(|&(_, to)| to);
    let begins = |node| sorted.iter().filter(|(_, to)| *to < node).count();
    let row_ptr = (0..=NODES).map(begins).collect();
    (row_ptr, sorted.into_iter().map(|(from, _)| from).collect())
}

/// The graph, its two arrays, and the turns of each warp.
pub fn draw() -> Canvas {
    let mut canvas = Canvas::new(
        "csr",
        330.,
        "A graph in CSR form, one warp per node",
        "A graph of 6 nodes and 13 edges. row_ptr says where the incoming edges of each node begin in col_idx, which holds \
         their sources. Below, each node's warp takes its edges in turn: the node with five edges takes five turns, the \
         one without edges none.",
    )
    .cut_at(296);
    let (row_ptr, col_idx) = rows(&EDGES);
    graph(&mut canvas);
    arrays(&mut canvas, &row_ptr, &col_idx);
    warps(&mut canvas, &row_ptr, &col_idx);
    canvas
}

fn place(node: usize) -> [f64; 2] {
    let angle = TAU * node as f64 / NODES as f64;
    [130. + 92. * angle.cos(), 160. + 105. * angle.sin()]
}

fn graph(canvas: &mut Canvas) {
    canvas.text([10., 20.], "strong", "edges point to the node that attends");
    for (from, to) in EDGES {
        arrow(canvas, place(from), place(to), to == HUB);
    }
    for node in 0..NODES {
        let [x, y] = place(node);
        canvas.circle(
            [x, y],
            15.,
            if node == HUB { "paper b" } else { "paper box" },
        );
        canvas.text([x, y + 5.], "middle", node.to_string());
    }
}

/// Drawn a little to its left, so that the edge back stands next to it; ends at the circle of its node.
fn arrow(canvas: &mut Canvas, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], marked: bool) {
    let length = (x2 - x1).hypot(y2 - y1);
    let [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
    let along = |s: f64| [x1 + dx * s - dy * 4., y1 + dy * s + dx * 4.];
    let class = if marked { "stroke b-line" } else { "stroke" };
    canvas.arrow(along(15.), along(length - 15.), class);
}

fn arrays(canvas: &mut Canvas, row_ptr: &[usize], col_idx: &[usize]) {
    let of_hub = row_ptr[HUB]..row_ptr[HUB + 1];
    canvas.text([LEFT, 20.], "strong", "row_ptr");
    for (i, begin) in row_ptr.iter().enumerate() {
        let class = if i == HUB || i == HUB + 1 {
            "box b-soft"
        } else {
            "box"
        };
        cell(canvas, [LEFT + i as f64 * CELL, 30.], class, *begin);
    }
    canvas.text([LEFT, 100.], "strong", "col_idx");
    for (i, from) in col_idx.iter().enumerate() {
        let class = if of_hub.contains(&i) {
            "box b-soft"
        } else {
            "box"
        };
        cell(canvas, [LEFT + i as f64 * CELL, 110.], class, *from);
    }
    for (i, end) in [(HUB, of_hub.start), (HUB + 1, of_hub.end)] {
        let from = [LEFT + (i as f64 + 0.5) * CELL, 30. + CELL];
        canvas.line(from, [LEFT + end as f64 * CELL, 110.], "stroke b-line");
    }
}

fn cell(canvas: &mut Canvas, [x, y]: [f64; 2], class: &str, value: usize) {
    canvas.rect([x, y, CELL, CELL], class);
    canvas.text(
        [x + CELL / 2., y + CELL / 2. + 5.],
        "middle",
        value.to_string(),
    );
}

fn warps(canvas: &mut Canvas, row_ptr: &[usize], col_idx: &[usize]) {
    canvas.text(
        [LEFT, 172.],
        "strong",
        "one warp per node: each turn reads k and v of one source",
    );
    for node in 0..NODES {
        let y = 184. + node as f64 * 24.;
        canvas.text([LEFT, y + 15.], "small", format!("warp of node {node}"));
        for (turn, from) in col_idx[row_ptr[node]..row_ptr[node + 1]].iter().enumerate() {
            let x = LEFT + 120. + turn as f64 * 62.;
            canvas.rect(
                [x, y, 58., 20.],
                if node == HUB {
                    "box b-soft"
                } else {
                    "box a-soft"
                },
            );
            canvas.text([x + 29., y + 14.], "small middle", format!("row {from}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_the_sources_of_a_nodes_edges() {
        let (row_ptr, col_idx) = rows(&EDGES);
        assert_eq!((row_ptr[0], row_ptr[NODES], col_idx.len()), (0, 13, 13));
        for node in 0..NODES {
            let mut found = col_idx[row_ptr[node]..row_ptr[node + 1]].to_vec();
            let mut expected: Vec<usize> = EDGES
                .iter()
                .filter(|(_, to)| *to == node)
                .map(|(from, _)| *from)
                .collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "node {node}");
        }
        // The degrees that the description states.
        assert_eq!(row_ptr[HUB + 1] - row_ptr[HUB], 5);
        assert_eq!(row_ptr[2], row_ptr[3]);
    }
}
