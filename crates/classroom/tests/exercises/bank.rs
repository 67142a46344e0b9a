//! Checks of each exercise's bank: the solution passes, the starter fails, each wrong solution is rejected by
//! the expected part of the check, and other right solutions pass.

use classroom::check::Counter;
use classroom::source::Edit;
use classroom::spec::{Right, Wrong};
use classroom::{Exercise, Failure, Kind, Language, Part};
use rayon::prelude::*;

use crate::desk::{Desk, all, here, solution};

#[test]
fn solutions_pass() {
    let desk = Desk::new();
    let exercises = here();
    let wrong = exercises.par_iter().filter_map(|exercise| {
        let outcome = desk
            .check(exercise, "solution", solution(exercise))
            .unwrap();
        let complaint = match outcome {
            Ok(notes) => fault(exercise, notes)?,
            Err(failure) => failure.line,
        };
        Some(format!("{}: {complaint}", exercise.id))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// After a pass, an exercise in Rust shows costs next to others, and those of the solution are not higher.
fn fault(exercise: &Exercise, notes: Vec<String>) -> Option<String> {
    let compares = notes.iter().any(|note| note.ends_with(" → yours"));
    if exercise.language == Language::Rust && !compares {
        return Some("expected a comparison of costs, found none".into());
    }
    notes.into_iter().find(|note| is_more(note))
}

/// Whether a row of an exercise in Rust says that the solution costs more: `bytes allocated  10 → 12`.
fn is_more(note: &str) -> bool {
    let Some((before, own)) = note.split_once(" → ") else {
        return false;
    };
    let before = before.rsplit(' ').next().map(str::parse::<u64>);
    matches!((before, own.trim().parse::<u64>()), (Some(Ok(before)), Ok(own)) if own > before)
}

/// A starter runs: its result is wrong, not its syntax.
#[test]
fn starters_are_well_formed_and_fail() {
    let desk = Desk::new();
    let exercises = here();
    let wrong = exercises.par_iter().filter_map(|exercise| {
        match desk.check(exercise, "starter", &exercise.starter).unwrap() {
            Err(Failure {
                by: Part::Text | Part::Outside | Part::Time,
                line,
                ..
            }) => Some(line),
            Err(_) => None,
            Ok(_) => Some(format!("{}: the starter passes", exercise.id)),
        }
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wrong_solutions_are_rejected() {
    let desk = Desk::new();
    let rejected = |exercise: &Exercise| {
        let wrong = exercise.bank().unwrap().wrong;
        let mut complaints = vec![];
        for (number, wrong) in wrong.iter().enumerate() {
            let Wrong {
                what,
                replace,
                with,
                caught_by,
            } = wrong.clone();
            let edit = Edit { replace, with };
            let text = edit
                .apply(solution(exercise), &format!("{} ({what})", exercise.id))
                .unwrap();
            let found = match desk.check(exercise, &number.to_string(), &text).unwrap() {
                Ok(_) => "it passes".to_owned(),
                Err(failure) if failure.by.to_string() == caught_by => continue,
                Err(failure) => format!("{}: {}", failure.by, failure.line),
            };
            complaints.push(format!(
                "{}: {what}: expected {caught_by}, found {found}",
                exercise.id
            ));
        }
        complaints
    };
    let wrong: Vec<String> = here().par_iter().flat_map(rejected).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A check accepts any right solution, not only this project's.
#[test]
fn other_right_solutions_pass() {
    let desk = Desk::new();
    let passes = |exercise: &Exercise| {
        let mut complaints = vec![];
        for (number, right) in exercise.bank().unwrap().right.into_iter().enumerate() {
            let Right {
                what,
                replace,
                with,
            } = right;
            let name = format!("{} ({what})", exercise.id);
            let text = Edit { replace, with }
                .apply(solution(exercise), &name)
                .unwrap();
            let outcome = desk
                .check(exercise, &format!("right-{number}"), &text)
                .unwrap();
            complaints.extend(
                outcome
                    .err()
                    .map(|failure| format!("{name}: {}", failure.line)),
            );
        }
        complaints
    };
    let exercises = here();
    let complaints: Vec<String> = exercises.par_iter().flat_map(passes).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn each_has_five_wrong_solutions_that_differ_and_another_right_one() {
    for exercise in all() {
        let bank = exercise.bank().unwrap();
        assert!(!bank.right.is_empty(), "{}", exercise.id);
        let wrong = bank.wrong;
        let mut edits: Vec<_> = wrong.iter().map(|w| (&w.replace, &w.with)).collect();
        edits.sort();
        edits.dedup();
        assert!(
            edits.len() >= 5 && edits.len() == wrong.len(),
            "{}",
            exercise.id
        );
    }
}

/// After a pass, the costs of a solution stand next to others. The compiler of CUDA is not here.
#[test]
fn costs_are_compared_with_others() {
    let desk = Desk::new();
    let compared = |exercise: &Exercise| {
        if exercise.spec.kind != Kind::Write || exercise.language == Language::Rust {
            return None;
        }
        let (_, before) = exercise.before().unwrap();
        if before.is_none() || exercise.spec.before.is_none() {
            return Some(format!("{}: expected `before`, found none", exercise.id));
        }
        let is_here = exercise.language == Language::Ptx;
        let counters = is_here.then(|| desk.counters(exercise, solution(exercise)).unwrap())?;
        let differs = counters.iter().any(Counter::differs);
        (!differs).then(|| format!("{}: {counters:?}", exercise.id))
    };
    let wrong: Vec<String> = all().par_iter().filter_map(compared).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
