//! Text that `check` prints after a pass.

use std::fs;

use classroom::{Kind, Language};

use crate::run::{Folder, exercises, named};

/// Maximum lines after `passed`: the counters, the idea, the real kernel, what to read, and the next command.
const LINES: usize = 16;

/// Checks the solution of an exercise; returns the lines after `passed`.
fn passed(folder: &Folder, name: &str) -> Vec<String> {
    let exercise = named(name);
    folder.run(&["start", name]).ended(0);
    fs::write(
        folder.file(&exercise),
        exercise.solution.as_deref().unwrap(),
    )
    .unwrap();
    let run = folder.run(&["check"]);
    let mut lines = run.ended(0).lines().map(str::to_owned);
    assert_eq!(lines.next(), Some(format!("{}: passed", exercise.id)));
    lines.collect()
}

/// Counters of the solution, then the idea, a line of a real kernel, and a chapter.
#[test]
fn a_kernel_that_passed_is_explained() {
    let lines = passed(&Folder::new(), "row-argmax");
    let (table, text): (Vec<_>, Vec<_>) = lines
        .iter()
        .partition(|line| line.starts_with("At ") || line.starts_with("  "));
    assert!(
        table[0].starts_with("At columns = 512, rows = 4: "),
        "{table:?}"
    );
    // The starter is wrong, so that a wrong solution is compared.
    assert!(
        table[0].ends_with("  thread 0 compares all words → yours"),
        "{table:?}"
    );
    assert!(
        table[1].starts_with("  barriers that a warp passes, per row  "),
        "{table:?}"
    );
    assert!(table[1].ends_with(" → 7"), "{table:?}");
    let width = table[0].chars().count();
    assert!(
        table.iter().all(|row| row.chars().count() == width),
        "{table:?}"
    );
    // Neither has atomics.
    assert!(
        !table.iter().any(|row| row.contains("atomics")),
        "{table:?}"
    );
    let debrief = named("row-argmax").spec.debrief.unwrap();
    let other =
        "The numbers on the left are those of another solution: thread 0 compares all words.";
    assert_eq!(text[0], other);
    assert!(text[1].starts_with("The idea: "), "{text:?}");
    let place = |line: &&&String| line.starts_with(&format!("In a real kernel: {}:", debrief.file));
    let place = text.iter().find(place).expect("a line of a real kernel");
    assert!(place.ends_with(&format!("  {}", debrief.line)), "{place}");
    let next = |line: &&&String| line.starts_with("Read next: ");
    let next = text.iter().find(next).expect("a chapter");
    assert!(
        next.contains(" (chapter ") && !next.contains("]("),
        "{next}"
    );
}

/// The check of an exercise in Rust may count, too.
#[test]
fn a_function_that_passed_is_explained() {
    let lines = passed(&Folder::new(), "swiglu");
    assert!(
        lines[0].starts_with("At T = 7, C = 16, F = 33: "),
        "{lines:?}"
    );
    assert!(lines[0].ends_with("  starter → yours"), "{lines:?}");
    assert!(lines[1].ends_with(" 6 → 6"), "{lines:?}");
    assert!(lines[3].starts_with("The costs are the same"), "{lines:?}");
    assert!(lines[4].starts_with("The idea: "), "{lines:?}");
    let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
    assert!(has("In a real kernel: ") && has("Read next: "), "{lines:?}");
}

#[test]
fn a_debrief_is_short() {
    let folder = Folder::new();
    let in_ptx = exercises()
        .into_iter()
        .filter(|e| e.language == Language::Ptx);
    for exercise in in_ptx {
        let lines = passed(&folder, exercise.name());
        // Notes on predictions and answers come first.
        let of_it = lines.iter().skip_while(|line| !line.starts_with("At "));
        let count = of_it.clone().count();
        let is_alone = of_it.clone().any(|line| line.ends_with("  yours"));
        let is_bug = exercise.spec.kind == Kind::FindTheBug;
        let why = of_it.filter(|line| line.starts_with("The starter"));
        assert_eq!(why.count(), usize::from(is_alone && is_bug), "{lines:#?}");
        let must = exercise.spec.kind == Kind::Write;
        assert!(!(is_alone && must), "{}: {lines:#?}", exercise.id);
        assert!((3..=LINES).contains(&count), "{}: {lines:#?}", exercise.id);
    }
}
