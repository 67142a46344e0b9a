//! Where lanes that part meet again: at the immediate post-dominator of the branch, which is the first
//! place that every way from the branch to the end goes through.
//!
//! A lane that leaves by a guarded `exit` does not come back, so the others need not wait for it: only the
//! way of those that stay counts.

use crate::code::{Op, Step};

/// Fills in `meet` of the branches. Branches name indices of `code`, whose last step does not fall through.
pub(super) fn find_meeting_points(code: &mut [Step]) {
    let graph = Graph::of(code);
    let post_dominators = graph.post_dominators();
    for (block, nearest) in post_dominators.into_iter().enumerate().take(graph.blocks()) {
        let meets_at = nearest.filter(|to| *to != graph.end());
        let first = meets_at.map(|to| graph.first[to]);
        let last = graph.first[block + 1] as usize - 1;
        let guarded = code[last].guard.is_some();
        match &mut code[last].op {
            Op::Branch { meet, .. } if guarded => *meet = first,
            Op::BranchIndex { meet, .. } => *meet = first,
            _ => {}
        }
    }
}

/// Blocks of instructions that run one after the other, and a last, empty one for the end.
struct Graph {
    /// The first instruction of each block, and behind them the number of instructions.
    first: Vec<u32>,
    /// Blocks that may be next.
    next: Vec<Vec<usize>>,
}

impl Graph {
    fn of(code: &[Step]) -> Self {
        let mut first = starts(code);
        let blocks = first.len();
        first.push(code.len() as u32);
        let block_of = |index: u32| first.partition_point(|f| *f <= index) - 1;
        let next = (0..blocks).map(|block| {
            let last = first[block + 1] - 1;
            let successors = successors(last, &code[last as usize]);
            successors.map_or(vec![blocks], |next| {
                next.into_iter().map(block_of).collect()
            })
        });
        let next = next.collect();
        Self { first, next }
    }

    fn blocks(&self) -> usize {
        self.next.len()
    }

    /// The number of the empty block.
    fn end(&self) -> usize {
        self.next.len()
    }

    /// The immediate post-dominator of each block that can reach the end: the nearest block that the
    /// post-dominators of all successors have in common, until nothing changes.
    fn post_dominators(&self) -> Vec<Option<usize>> {
        let order = self.reversed_postorder();
        let mut rank = vec![usize::MAX; self.blocks() + 1];
        for (r, block) in order.iter().enumerate() {
            rank[*block] = r;
        }
        let mut nearest = vec![None; self.blocks() + 1];
        nearest[self.end()] = Some(self.end());
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &order[1..] {
                let known = self.next[block]
                    .iter()
                    .copied()
                    .filter(|n| nearest[*n].is_some());
                let common = known.reduce(|a, b| meeting(&nearest, &rank, a, b));
                changed |= common != nearest[block];
                nearest[block] = common;
            }
        }
        nearest
    }

    /// The blocks that can reach the end, the end first, each before those that lead to it wherever there is
    /// no loop: the reverse postorder of the graph with its arrows turned around.
    fn reversed_postorder(&self) -> Vec<usize> {
        let mut previous = vec![Vec::new(); self.blocks() + 1];
        for (block, next) in self.next.iter().enumerate() {
            next.iter().for_each(|n| previous[*n].push(block));
        }
        let mut seen = vec![false; self.blocks() + 1];
        let mut order = Vec::new();
        let mut stack = vec![(self.end(), 0)];
        seen[self.end()] = true;
        while let Some((block, done)) = stack.pop() {
            match previous[block].get(done) {
                Some(&p) => {
                    stack.push((block, done + 1));
                    if !std::mem::replace(&mut seen[p], true) {
                        stack.push((p, 0));
                    }
                }
                None => order.push(block),
            }
        }
        order.reverse();
        order
    }
}

/// The nearest block that post-dominates both.
fn meeting(nearest: &[Option<usize>], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        let farther = if rank[a] > rank[b] { &mut a } else { &mut b };
        *farther = nearest[*farther].expect("known blocks lead to the end over known blocks");
    }
    a
}

/// The first instructions of blocks: where branches lead, and behind branches and ends.
fn starts(code: &[Step]) -> Vec<u32> {
    let mut starts = vec![0];
    for (index, step) in code.iter().enumerate() {
        let behind = index as u32 + 1;
        match &step.op {
            Op::Branch { to, .. } => starts.extend([*to, behind]),
            Op::BranchIndex { to, .. } => starts.extend(to.iter().copied().chain([behind])),
            Op::Exit | Op::Trap if step.guard.is_none() => starts.push(behind),
            _ => {}
        }
    }
    starts.sort_unstable();
    starts.dedup();
    starts.retain(|s| (*s as usize) < code.len());
    starts
}

/// The instructions that may be next; `None` where threads end.
fn successors(index: u32, step: &Step) -> Option<Vec<u32>> {
    let guarded = step.guard.is_some();
    let behind = guarded.then_some(index + 1);
    match &step.op {
        Op::Branch { to, .. } => Some(behind.into_iter().chain([*to]).collect()),
        Op::BranchIndex { to, .. } => Some(behind.into_iter().chain(to.iter().copied()).collect()),
        Op::Exit | Op::Trap if !guarded => None,
        _ => Some(vec![index + 1]),
    }
}

#[cfg(test)]
mod tests;
