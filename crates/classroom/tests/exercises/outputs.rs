//! Each page shows an output of `check` for the starter and one for the solution, without anything that differs between
//! machines. That they are what `check` prints is tested in `crates/workbook/tests/exercises/outputs.rs`.

use classroom::Exercise;
use classroom::page::{MOST_LINES, SEED, Solutions, page};

use crate::desk::{all, repository};

const HEADING: &str = "\n## Output of the check\n";
/// Units of a time.
const UNITS: [&str; 6] = ["ns", "µs", "us", "ms", "s", "min"];

/// The blocks of the section on a page: the command, the output for the starter and, where it is shown, for the solution.
fn blocks(exercise: &Exercise, solutions: Solutions) -> Vec<String> {
    let page = page(exercise, solutions);
    let (_, section) = page
        .split_once(HEADING)
        .unwrap_or_else(|| panic!("{}: expected outputs, found none", exercise.id));
    let (section, _) = section.split_once("\n## Hints\n").unwrap();
    let fenced = section.split("\n```").skip(1).step_by(2);
    let without_language = |block: &str| block.split_once('\n').unwrap().1.to_owned();
    fenced.map(without_language).collect()
}

#[test]
fn a_page_shows_the_output_before_and_after() {
    for exercise in all() {
        let blocks = blocks(&exercise, Solutions::Shown);
        let [command, starter, solution] = &blocks[..] else {
            panic!("{}: {blocks:?}", exercise.id)
        };
        let (id, name) = (&exercise.id, exercise.name());
        assert_eq!(*command, format!("cargo ex check {name} --seed {SEED}"));
        let open = format!("\n({id} is not solved yet; ");
        assert!(starter.contains(&open), "{id}: {starter}");
        assert!(!starter.contains(": passed"), "{id}: {starter}");
        let passed = format!("{id}: passed");
        assert_eq!(solution.lines().next(), Some(&*passed));
        assert!(!solution.contains("not solved yet"), "{id}: {solution}");
        for output in [starter, solution] {
            assert!(output.lines().count() <= MOST_LINES, "{id}: {output}");
        }
    }
}

/// It shows the idea, and what was to be predicted.
#[test]
fn a_page_without_solutions_lacks_the_output_after() {
    for exercise in all() {
        let blocks = blocks(&exercise, Solutions::Hidden);
        assert_eq!(blocks.len(), 2, "{}: {blocks:?}", exercise.id);
    }
}

#[test]
fn outputs_name_no_path_of_a_machine_and_no_time() {
    let repository = repository().canonicalize().unwrap().display().to_string();
    for exercise in all() {
        for output in &blocks(&exercise, Solutions::Shown)[1..] {
            assert_eq!(path(output), None, "{}: {output}", exercise.id);
            assert!(!output.contains(&repository), "{}: {output}", exercise.id);
            assert_eq!(time(output), None, "{}: {output}", exercise.id);
        }
    }
}

/// Words without the marks around them.
fn words(text: &str) -> Vec<&str> {
    let marks = |c: char| "()`'\",;:.".contains(c);
    let words = text.split_whitespace();
    words.map(|word| word.trim_matches(marks)).collect()
}

/// The first path from the root of a file system.
fn path(text: &str) -> Option<&str> {
    let is_path = |word: &&str| {
        let on_unix = word.strip_prefix('/');
        let on_windows = word.split_once(":\\").map(|(drive, _)| drive);
        on_unix
            .or(on_windows)
            .is_some_and(|rest| rest.starts_with(char::is_alphabetic))
    };
    words(text).into_iter().find(is_path)
}

/// The first time, in two words or in one.
fn time(text: &str) -> Option<String> {
    let words = words(text);
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let in_two = |pair: &&[&str]| is_number(pair[0]) && UNITS.contains(&pair[1]);
    let in_one = |word: &&&str| {
        let mut numbers = UNITS.iter().filter_map(|unit| word.strip_suffix(unit));
        numbers.any(is_number)
    };
    let two = words.windows(2).find(in_two).map(|pair| pair.join(" "));
    two.or_else(|| words.iter().find(in_one).map(|word| (*word).to_owned()))
}

#[test]
fn paths_and_times_are_recognised() {
    for (text, found) in [
        ("in `/tmp/a.rs:3`", Some("/tmp/a.rs:3")),
        ("at (C:\\a)", Some("C:\\a")),
        ("kernels/src/a.rs:3 | x / y; // z", None),
    ] {
        assert_eq!(path(text), found);
    }
    for (text, found) in [
        ("it took 3.5 ms.", Some("3.5 ms")),
        ("(0.2s)", Some("0.2s")),
        ("4 sectors, 32 → 29 loads, 9s1", None),
    ] {
        assert_eq!(time(text).as_deref(), found);
    }
}
