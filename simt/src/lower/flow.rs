//! Reconvergence points. Diverging lanes meet again at the immediate post-dominator of the branch: the first
//! instruction that every path from the branch to the end goes through.
//!
//! Lanes that leave by a guarded `exit` do not return, so the others need not wait for them. Only the paths
//! of the remaining lanes count.

use crate::code::{Op, Step};

mod dominators;

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
