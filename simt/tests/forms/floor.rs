//! Checks that a test of this binary executes each form of `floor.txt`: the tests run again in another
//! process, which records the forms that their launches execute.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use simt::Report;

const FLOOR: &str = include_str!("floor.txt");

/// Environment variable with the file for executed forms.
const FILE: &str = "SIMT_EXECUTED";

/// Records the forms that a thread executed.
pub fn note(report: &Report) {
    let Some(path) = env::var_os(FILE) else {
        return;
    };
    let lines = report.lines.iter().filter(|line| line.counts.threads > 0);
    let forms: BTreeSet<&str> = lines.map(|line| &*line.form).collect();
    let text: String = forms.iter().map(|form| format!("{form}\n")).collect();
    let file = OpenOptions::new().create(true).append(true).open(path);
    // One write, because the tests run in parallel.
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

/// The forms of `floor.txt`.
fn floor() -> BTreeSet<&'static str> {
    let lines = FLOOR.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect()
}

/// Runs all tests except those of this file, which must pass; returns the forms they execute.
fn executed() -> BTreeSet<String> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}", std::process::id()));
    let tests = Command::new(env::current_exe().unwrap())
        .args(["--quiet", "--skip", "floor::"])
        .env(FILE, &path)
        .output()
        .unwrap();
    assert!(tests.status.success(), "{tests:?}");
    let forms = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    forms.lines().map(str::to_owned).collect()
}

#[test]
fn the_tests_execute_all_forms_of_the_floor() {
    let (floor, executed) = (floor(), executed());
    assert!(floor.len() > 200, "{}", floor.len());
    let missing: Vec<_> = floor.iter().filter(|&&f| !executed.contains(f)).collect();
    assert!(missing.is_empty(), "executed by no test: {missing:?}");
    eprintln!("{} forms, {} executed", floor.len(), executed.len());
}
