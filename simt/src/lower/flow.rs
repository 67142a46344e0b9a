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
mod tests {
    use super::*;
    use crate::error::Place;

    /// `if:5` is a guarded branch to 5, `go:5` one of all lanes; `leave` is a guarded exit.
    fn code(steps: &[&str]) -> Vec<Step> {
        let step = |text: &&str| {
            let (word, to) = text.split_once(':').unwrap_or((text, "0"));
            let branch = Op::Branch {
                to: to.parse().unwrap(),
                meet: None,
            };
            let (op, guarded) = match word {
                "if" => (branch, true),
                "go" => (branch, false),
                "exit" => (Op::Exit, false),
                "leave" => (Op::Exit, true),
                _ => (Op::Nothing, false),
            };
            Step {
                guard: guarded.then_some((0, false)),
                op,
                place: Place::default(),
                form: word.into(),
            }
        };
        steps.iter().map(step).collect()
    }

    /// The meeting points of the guarded branches, in order.
    fn meets(steps: &[&str]) -> Vec<Option<u32>> {
        let mut code = code(steps);
        find_meeting_points(&mut code);
        let meet = |step: &Step| match step.op {
            Op::Branch { meet, .. } if step.guard.is_some() => Some(meet),
            _ => None,
        };
        code.iter().filter_map(meet).collect()
    }

    #[test]
    fn the_end_of_an_if() {
        assert_eq!(meets(&["if:2", "then", "exit"]), [Some(2)]);
    }

    #[test]
    fn the_end_of_an_if_with_an_else() {
        assert_eq!(meets(&["if:3", "then", "go:4", "else", "exit"]), [Some(4)]);
    }

    #[test]
    fn behind_a_loop() {
        assert_eq!(meets(&["before", "body", "if:1", "exit"]), [Some(3)]);
    }

    #[test]
    fn behind_a_loop_with_a_break() {
        assert_eq!(
            meets(&["body", "if:4", "body", "if:0", "exit"]),
            [Some(4), Some(4)]
        );
    }

    #[test]
    fn an_if_in_a_loop_in_an_if() {
        let steps = ["if:6", "body", "if:4", "then", "more", "if:1", "exit"];
        assert_eq!(meets(&steps), [Some(6), Some(4), Some(6)]);
    }

    #[test]
    fn lanes_that_end_apart_do_not_meet() {
        assert_eq!(meets(&["if:2", "exit", "exit"]), [None]);
    }

    #[test]
    fn lanes_that_leave_are_not_waited_for() {
        assert_eq!(meets(&["if:2", "leave", "rest", "exit"]), [Some(2)]);
    }

    #[test]
    fn a_loop_without_end_has_no_meeting_point() {
        assert_eq!(meets(&["if:0", "go:0", "exit"]), [None]);
    }

    #[test]
    fn thousands_of_blocks_take_no_time() {
        let mut steps = Vec::new();
        for n in 0..20_000 {
            steps.push(format!("if:{}", 2 * n + 2));
            steps.push("then".into());
        }
        steps.push("exit".into());
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let meets = meets(&steps);
        assert!(
            meets
                .iter()
                .enumerate()
                .all(|(n, meet)| *meet == Some(2 * n as u32 + 2))
        );
    }

    /// Whether the end can be reached from a step without the step `without`.
    fn reaches_the_end(code: &[Step], from: u32, without: u32) -> bool {
        let mut seen = vec![false; code.len()];
        let mut stack = vec![from];
        while let Some(index) = stack.pop() {
            if index == without || std::mem::replace(&mut seen[index as usize], true) {
                continue;
            }
            match successors(index, &code[index as usize]) {
                Some(next) => stack.extend(next),
                None => return true,
            }
        }
        false
    }

    /// The post-dominators of a step behind it, by their definition: no way to the end goes around them.
    fn post_dominators_of(code: &[Step], step: u32) -> Vec<u32> {
        let all = 0..code.len() as u32;
        all.filter(|at| *at != step && !reaches_the_end(code, step, *at))
            .collect()
    }

    proptest::proptest! {
        #[test]
        fn the_nearest_step_that_no_way_goes_around(
            kinds in proptest::collection::vec((0..6u32, 0..20u32), 1..20),
        ) {
            let last = kinds.len() as u32;
            let text = |(kind, to): &(u32, u32)| match kind {
                0 | 1 => format!("if:{}", to % (last + 1)),
                2 => format!("go:{}", to % (last + 1)),
                3 => "leave".to_owned(),
                _ => "other".to_owned(),
            };
            let texts: Vec<String> = kinds.iter().map(text).chain(["exit".to_owned()]).collect();
            let mut code = code(&texts.iter().map(String::as_str).collect::<Vec<_>>());
            find_meeting_points(&mut code);
            for (index, step) in code.iter().enumerate().filter(|(_, step)| step.form == "if") {
                let Op::Branch { meet, .. } = step.op else { unreachable!() };
                let index = index as u32;
                if !reaches_the_end(&code, index, u32::MAX) {
                    proptest::prop_assert_eq!(meet, None);
                    continue;
                }
                // The nearest one has all others behind it.
                let all = post_dominators_of(&code, index);
                let nearest = all.iter().find(|at| post_dominators_of(&code, **at).len() + 1 == all.len());
                proptest::prop_assert_eq!(meet, nearest.copied());
            }
        }
    }
}
