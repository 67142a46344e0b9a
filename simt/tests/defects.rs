//! Kernels with one defect each, with their correct twins: `defects/<class>/<name>.ptx`.
//!
//! Each text holds both kernels. A line that ends with `// bad` is only in the defective one, a line with
//! `// good` only in the correct one. `// fault` marks where the defect must be found (for a race, either of
//! the two accesses). The first line describes the defect. The other headers follow in any order:
//!
//! ```text
//! // launch: grid 2 block 64 smem 0      each has one to three numbers: 8x4
//! // args: out u32[64]; in f32[64] = 0..63; n u32 = 100; missing null
//! // finds: race                         the expected class
//! // also: deadlock                      further classes that are allowed, on any line
//! // result: out = 1*32 0..31            the buffer's contents after the correct kernel
//! ```
//!
//! A buffer without values is uninitialised. Values are numbers, `5*8` for eight fives, inclusive ranges such
//! as `0..3` and `3..0`, or with a step as in `0..6/2`.

use std::fs;
use std::path::{Path, PathBuf};

use simt::{Class, Schedule};

#[path = "defects/twin.rs"]
mod twin;

use twin::{Twin, kebab};

/// Runs of each kernel: schedules and seeds.
const SCHEDULES: [(Schedule, u64); 6] = [
    (Schedule::PostDominator, 0),
    (Schedule::MinPc, 0),
    (Schedule::MaxPc, 0),
    (Schedule::Random, 1),
    (Schedule::Random, 2),
    (Schedule::Random, 3),
];

/// All texts, by name.
fn files() -> Vec<PathBuf> {
    let entries = |dir: &Path| -> Vec<PathBuf> {
        let read = fs::read_dir(dir).expect("a folder");
        read.map(|entry| entry.expect("a file").path()).collect()
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/defects");
    let mut all: Vec<PathBuf> = entries(&root)
        .iter()
        .filter(|path| path.is_dir())
        .flat_map(|dir| entries(dir))
        .collect();
    all.sort();
    all
}

/// Collects the texts for which `check` reports a problem under any schedule.
fn failures(check: impl Fn(&str, (Schedule, u64)) -> Option<String>) -> Vec<String> {
    let mut failures = vec![];
    for path in files() {
        let file = fs::read_to_string(&path).expect("a text");
        let name = path.display();
        let wrong = |s: &(Schedule, u64)| Some((*s, check(&file, *s)?));
        // The first failing schedule is enough.
        if let Some((schedule, why)) = SCHEDULES.iter().find_map(wrong) {
            failures.push(format!("{name}, {schedule:?}: {why}"));
        }
    }
    failures
}

#[test]
fn every_defect_is_found_at_its_line() {
    let failures = failures(|file, schedule| {
        let twin = Twin::new(file, true);
        match twin.run(schedule, false) {
            Ok((_, report)) => twin.misses(&report),
            Err(error) => Some(error.to_string()),
        }
    });
    assert!(
        failures.is_empty(),
        "{}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn the_correct_twins_have_no_findings_and_the_expected_results() {
    let failures = failures(|file, schedule| {
        let twin = Twin::new(file, false);
        [false, true]
            .iter()
            .find_map(|&parallel| match twin.run(schedule, parallel) {
                Ok((buffers, report)) => twin.wrongs(&buffers, &report),
                Err(error) => Some(error.to_string()),
            })
    });
    assert!(
        failures.is_empty(),
        "{}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn all_classes_have_defects() {
    let files = files();
    assert!(files.len() >= 60, "{}", files.len());
    let texts: Vec<Twin> = (files.iter())
        .map(|path| Twin::new(&fs::read_to_string(path).expect("a text"), true))
        .collect();
    for class in [
        Class::OutOfBounds,
        Class::Misaligned,
        Class::Uninitialised,
        Class::Race,
        Class::BarrierDivergence,
        Class::WrongMask,
        Class::Deadlock,
        Class::Endless,
        Class::ReadOnly,
        Class::Trap,
    ] {
        let name = kebab(class);
        assert!(
            texts.iter().any(|t| t.header("finds") == Some(&name)),
            "{name}"
        );
    }
}

#[test]
fn an_unwritten_register_is_named() {
    let text = include_str!("defects/uninitialised/accumulator.ptx");
    let numbered = text
        .replace("%x, %sum", "%f<2>")
        .replace("%x", "%f0")
        .replace("%sum", "%f1");
    for (text, name) in [(text, "%sum"), (&numbered, "%f1")] {
        let ran = Twin::new(text, true).run(SCHEDULES[0], false);
        let (_, report) = ran.expect("a kernel that runs");
        let said = &report.findings[0].what;
        assert_eq!(
            *said,
            format!("{name} is a register that was never written")
        );
    }
}
