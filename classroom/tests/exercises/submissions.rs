//! Submissions that are odd, that say something or that leave something behind.

use std::time::{Duration, Instant};

use classroom::{Exercise, Part, exercise};

use crate::desk::{Desk, here, repository, solution};

fn named(name: &str) -> Exercise {
    let all = exercise::all(&repository().join("exercises")).unwrap();
    exercise::find(&all, name).unwrap().clone()
}

/// The last line of the solution of swapped-gate.
const LAST: &str = "    gate.silu()? * up";

/// That solution with a line before its last one.
fn with_line(exercise: &Exercise, line: &str) -> String {
    solution(exercise).replace(LAST, &format!("    {line}\n{LAST}"))
}

/// The simulator would take it, and no GPU.
#[test]
fn a_comment_in_ptx_is_ascii() {
    let exercise = &named("guard");
    let text = solution(exercise).replace("// END", "// ⌈n/128⌉\n    // END");
    let failure = Desk::new()
        .check(exercise, "ascii", &text)
        .unwrap()
        .unwrap_err();
    assert!(
        failure.line.contains(": expected ASCII, also in comments"),
        "{}",
        failure.line
    );
}

/// What is no text at all is a failure like others.
#[test]
fn bytes_are_no_submission() {
    for exercise in here().iter().take(3) {
        let outcome = Desk::new().check(exercise, "bytes", b"// \xff").unwrap();
        let failure = outcome.unwrap_err();
        assert_eq!(failure.by, Part::Text, "{}", failure.line);
        assert!(
            failure.line.ends_with("found other bytes at offset 3"),
            "{}",
            failure.line
        );
    }
}

/// Editors that begin a file with a byte order mark, or put other blanks into a line, change nothing.
#[test]
fn blanks_and_marks_change_nothing() {
    let exercise = &named("guard");
    let blanks = solution(exercise).replace("ld.param.u64    %x,", "ld.param.u64\t%x, ");
    let text = format!("\u{feff}{blanks}");
    let outcome = Desk::new().check(exercise, "blanks", text).unwrap();
    assert_eq!(outcome, Ok(vec![]));
}

/// A learner who prints sees it, and what stood on both sides of an `assert_eq!`.
#[test]
fn what_is_printed_is_shown() {
    let exercise = &named("swapped-gate");
    let with = |line: &str| {
        let text = with_line(exercise, line);
        let name = line.len().to_string();
        Desk::new().check(exercise, &name, text).unwrap()
    };
    let notes = with("println!(\"f is {f}\");").unwrap();
    assert_eq!(notes[..2], ["it printed:", "    f is 1"]);
    let notes = with("dbg!(f);").unwrap();
    assert!(
        notes[0] == "it printed to stderr:" && notes[1].ends_with("f = 1"),
        "{notes:?}"
    );
    let flood = with("println!(\"{}\", \"x\".repeat(3_000_000));").unwrap();
    assert!(flood.len() > 1, "{}", flood.len());
    let failure = with("eprintln!(\"so far\"); assert_eq!(f, 7);").unwrap_err();
    assert!(
        failure
            .line
            .ends_with("panicked: assertion `left == right` failed, left: 1, right: 7"),
        "{}",
        failure.line
    );
    assert_eq!(failure.notes, ["it printed to stderr:", "    so far"]);
    let failure = with("y.narrow(1, 0, 9 * f)?;").unwrap_err();
    let last = solution(exercise).lines().position(|l| l.contains(LAST));
    let line = 1 + last.unwrap();
    assert!(
        failure
            .line
            .contains(&format!(".rs:{line}: candle refuses an operation")),
        "{}",
        failure.line
    );
}

/// A submission cannot be waited for longer than it may run, whatever it leaves behind; nor does its word stand where it
/// can read it.
#[test]
fn what_a_submission_starts_ends_with_it() {
    let exercise = &named("swapped-gate");
    let with = |name: &str, line: &str| {
        let text = with_line(exercise, line);
        let start = Instant::now();
        let outcome = Desk::new().check(exercise, name, text).unwrap();
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{name}: {:?}",
            start.elapsed()
        );
        outcome
    };
    let outcome = with(
        "child",
        "std::process::Command::new(\"sleep\").arg(\"300\").spawn().unwrap();",
    );
    assert_eq!(outcome, Ok(vec![]));
    let word = "println!(\"\\n{} passed\", std::env::args().nth(2).unwrap_or_default()); std::process::exit(0);";
    assert_eq!(with("word", word).unwrap_err().by, Part::Crash);
}
