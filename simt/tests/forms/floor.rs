//! Each form of `floor.txt` is executed by a test of this binary: the tests run once more, in a process of its own,
//! and note what their launches execute.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use simt::Report;

const FLOOR: &str = include_str!("floor.txt");

/// The file that the forms go to, where they are noted.
const FILE: &str = "SIMT_EXECUTED";

/// Notes the forms that a thread executed.
pub fn note(report: &Report) {
    let Some(path) = env::var_os(FILE) else {
        return;
    };
    let lines = report.lines.iter().filter(|line| line.counts.threads > 0);
    let forms: BTreeSet<&str> = lines.map(|line| &*line.form).collect();
    let text: String = forms.iter().map(|form| format!("{form}\n")).collect();
    let file = OpenOptions::new().create(true).append(true).open(path);
    // One write: the tests are threads.
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

/// The forms of the floor.
fn floor() -> BTreeSet<&'static str> {
    let lines = FLOOR.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect()
}

/// What the tests execute, all but those of this file; they have to pass.
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
fn all_of_the_floor_is_executed() {
    let (floor, executed) = (floor(), executed());
    assert!(floor.len() > 200, "{}", floor.len());
    let missing: Vec<_> = floor.iter().filter(|&&f| !executed.contains(f)).collect();
    assert!(missing.is_empty(), "executed by no test: {missing:?}");
    eprintln!("{} forms, {} executed", floor.len(), executed.len());
}
