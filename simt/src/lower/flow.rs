//! Reconvergence points. Diverging lanes meet again at the immediate post-dominator of the branch: the first
//! instruction that every path from the branch to the end goes through.
//!
//! Lanes that leave by a guarded `exit` do not return, so the others need not wait for them. Only the paths
//! of the remaining lanes count.

use crate::code::{Op, Step};

/// Fills in `meet` of the branches. Targets are indices of `code`, whose last step does not fall through.
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

/// Basic blocks, and a last, empty block for the end.
struct Graph {
    /// First instruction of each block, then the number of instructions.
    first: Vec<u32>,
    /// Successors of each block.
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

    /// Computes the immediate post-dominator of each block that can reach the end. It repeats until nothing
    /// changes: each block gets the nearest block common to the post-dominators of all its successors.
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

    /// Lists the blocks that can reach the end in reverse postorder of the reversed graph: the end first, and
    /// without loops each block before its predecessors.
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

/// Returns the nearest block that post-dominates both.
fn meeting(nearest: &[Option<usize>], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        let farther = if rank[a] > rank[b] { &mut a } else { &mut b };
        *farther = nearest[*farther].expect("known blocks lead to the end over known blocks");
    }
    a
}

/// Returns the first instructions of blocks: branch targets, and instructions after branches and exits.
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

/// Returns the instructions that may be next; `None` where threads end.
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
