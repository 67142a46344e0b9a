use super::*;
use crate::error::Location;

/// Code as text: `if:5` is a guarded branch to 5, `go:5` an unguarded one; `leave` is a guarded exit.
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
            location: Location::default(),
            form: word.into(),
            is_narrow: false,
        }
    };
    steps.iter().map(step).collect()
}

/// Reconvergence points of the guarded branches, in order.
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
fn lanes_meet_after_an_if() {
    assert_eq!(meets(&["if:2", "then", "exit"]), [Some(2)]);
}

#[test]
fn lanes_meet_after_an_if_with_an_else() {
    assert_eq!(meets(&["if:3", "then", "go:4", "else", "exit"]), [Some(4)]);
}

#[test]
fn lanes_meet_after_a_loop() {
    assert_eq!(meets(&["before", "body", "if:1", "exit"]), [Some(3)]);
}

#[test]
fn lanes_meet_after_a_loop_with_a_break() {
    assert_eq!(
        meets(&["body", "if:4", "body", "if:0", "exit"]),
        [Some(4), Some(4)]
    );
}

#[test]
fn lanes_meet_after_an_if_in_a_loop_in_an_if() {
    let steps = ["if:6", "body", "if:4", "then", "more", "if:1", "exit"];
    assert_eq!(meets(&steps), [Some(6), Some(4), Some(6)]);
}

#[test]
fn lanes_that_exit_apart_do_not_meet() {
    assert_eq!(meets(&["if:2", "exit", "exit"]), [None]);
}

#[test]
fn lanes_that_exit_are_not_waited_for() {
    assert_eq!(meets(&["if:2", "leave", "rest", "exit"]), [Some(2)]);
}

#[test]
fn an_endless_loop_has_no_meeting_point() {
    assert_eq!(meets(&["if:0", "go:0", "exit"]), [None]);
}

#[test]
fn thousands_of_blocks_are_fast() {
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

/// Branches to the steps of a chain, which all meet at its end: a search along the chain for each branch is quadratic.
#[test]
fn a_deep_nest_of_branches_is_fast() {
    let n = 200_000;
    let branches = (0..n).map(|i| format!("if:{}", n + 1 + i));
    let chain = [format!("go:{}", 2 * n)].into_iter();
    let mut steps: Vec<String> = branches.chain(chain).collect();
    steps.resize(2 * n + 1, "other".into());
    steps.push("exit".into());
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let begin = std::time::Instant::now();
    let meets = meets(&steps);
    assert!(meets.iter().all(|meet| *meet == Some(2 * n as u32)));
    let took = begin.elapsed();
    assert!(took.as_secs() < 20, "{took:?}");
}

/// Whether a path from a step to the end avoids the step `without`.
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

/// Returns the post-dominators of a step by definition: no path to the end avoids them.
fn post_dominators_of(code: &[Step], step: u32) -> Vec<u32> {
    let all = 0..code.len() as u32;
    all.filter(|at| *at != step && !reaches_the_end(code, step, *at))
        .collect()
}

proptest::proptest! {
    #[test]
    fn lanes_meet_at_the_nearest_post_dominator(
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
            // All other post-dominators come after the nearest one.
            let all = post_dominators_of(&code, index);
            let nearest = all.iter().find(|at| post_dominators_of(&code, **at).len() + 1 == all.len());
            proptest::prop_assert_eq!(meet, nearest.copied());
        }
    }
}
