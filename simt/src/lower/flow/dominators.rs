//! Immediate post-dominators in time E·log V, by the algorithm of Lengauer and Tarjan, "A fast algorithm for finding dominators
//! in a flowgraph" (1979). Simpler ones repeat until nothing changes, and a stranger's nest of branches makes them quadratic.

use super::Graph;

/// The blocks that can reach the end, in preorder of a depth-first search from the end against the edges. Blocks are named by
/// their places in this order, and the end is 0.
struct Search {
    order: Vec<usize>,
    parent: Vec<usize>,
    /// For each block, its successors that can reach the end.
    next: Vec<Vec<usize>>,
}

impl Search {
    fn of(graph: &Graph) -> Self {
        let mut previous = vec![Vec::new(); graph.blocks() + 1];
        for (block, next) in graph.next.iter().enumerate() {
            next.iter().for_each(|n| previous[*n].push(block));
        }
        let mut place = vec![None; graph.blocks() + 1];
        let (mut order, mut parent) = (vec![], vec![]);
        let mut stack = vec![(graph.end(), 0)];
        while let Some((block, from)) = stack.pop() {
            if place[block].is_some() {
                continue;
            }
            let at = order.len();
            place[block] = Some(at);
            order.push(block);
            parent.push(from);
            stack.extend(previous[block].iter().map(|p| (*p, at)));
        }
        let places = |block: &usize| -> Vec<usize> {
            let next = graph.next.get(*block).into_iter().flatten();
            next.filter_map(|n| place[*n]).collect()
        };
        let next = order.iter().map(places).collect();
        Self {
            order,
            parent,
            next,
        }
    }
}

/// A forest of the blocks that are done.
struct Forest {
    ancestor: Vec<Option<usize>>,
    /// The block with the least semidominator on the compressed path to the ancestor.
    label: Vec<usize>,
    semi: Vec<usize>,
}

impl Forest {
    /// The block with the least semidominator among `v` and its ancestors without the root. Shortens the path to the root.
    fn least(&mut self, v: usize) -> usize {
        let (mut path, mut top) = (vec![], v);
        while let Some(up) = self.ancestor[top] {
            path.push(top);
            top = up;
        }
        // The highest block of the path has a root as its ancestor, and keeps it.
        for pair in path.windows(2).rev() {
            let [below, above] = [pair[0], pair[1]];
            if self.semi[self.label[above]] < self.semi[self.label[below]] {
                self.label[below] = self.label[above];
            }
            self.ancestor[below] = self.ancestor[above];
        }
        self.label[v]
    }
}

impl Graph {
    /// The immediate post-dominator of each block that can reach the end.
    pub(super) fn post_dominators(&self) -> Vec<Option<usize>> {
        let Search {
            order,
            parent,
            next,
        } = Search::of(self);
        let count = order.len();
        let mut forest = Forest {
            ancestor: vec![None; count],
            label: (0..count).collect(),
            semi: (0..count).collect(),
        };
        let mut nearest = vec![0; count];
        // By semidominator, blocks whose nearest post-dominator is open.
        let mut open = vec![vec![]; count];
        for block in (1..count).rev() {
            for &after in &next[block] {
                let least = forest.least(after);
                forest.semi[block] = forest.semi[block].min(forest.semi[least]);
            }
            open[forest.semi[block]].push(block);
            let above = parent[block];
            forest.ancestor[block] = Some(above);
            for v in std::mem::take(&mut open[above]) {
                let least = forest.least(v);
                let is_below = forest.semi[least] < forest.semi[v];
                nearest[v] = if is_below { least } else { above };
            }
        }
        for block in 1..count {
            if nearest[block] != forest.semi[block] {
                nearest[block] = nearest[nearest[block]];
            }
        }
        let mut found = vec![None; self.blocks() + 1];
        for (block, nearest) in order.iter().zip(&nearest) {
            found[*block] = Some(order[*nearest]);
        }
        found
    }
}
