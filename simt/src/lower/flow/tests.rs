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
