//! Readers of stdout and stderr that are gone, full devices, and a system without threads.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::fixture::root;
use crate::slashes::text;

/// A pipe without a reader, as `| true` leaves it.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[cfg(target_os = "linux")]
fn full() -> Stdio {
    File::options()
        .write(true)
        .open("/dev/full")
        .unwrap()
        .into()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
    command.args(args).current_dir(root());
    command
}

/// Asserts that a run without readers writes the file that it is asked for.
fn writes(args: &[&str], name: &str, stdout: Stdio, stderr: Stdio) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    let mut command = command(args);
    let status = command.arg(&file).stdout(stdout).stderr(stderr).status();
    assert_eq!(status.unwrap().code(), Some(0), "{args:?}");
    assert!(file.exists(), "{args:?}");
}

/// Level 5 prints a note about its tables.
const PROFILE: &[&str] = &["profile", "--model", "gnn", "--samples", "2", "--csv"];

#[test]
fn a_closed_stdout_changes_no_file() {
    writes(PROFILE, "a.csv", closed(), Stdio::null());
    let simulated = ["gnn", "--device", "sim", "--level", "3", "--roofline"];
    writes(&simulated, "a.svg", closed(), Stdio::null());
}

#[test]
fn a_closed_stderr_changes_no_file() {
    writes(PROFILE, "a.csv", Stdio::null(), closed());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stderr_changes_no_file() {
    writes(PROFILE, "a.csv", Stdio::null(), full());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_is_named() {
    for args in [
        &["--help"][..],
        &["doctor"],
        &["exercises", "list"],
        &["gnn"],
        &["vit"],
        &["lm", "--max-tokens", "2"],
    ] {
        let output = command(args).stdout(full()).output().unwrap();
        let said = text(output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        let line = "error: cannot write `stdout`: no space left on device";
        assert_eq!(said.lines().last(), Some(line), "{args:?}");
    }
}

/// A limit on the size of files sends a signal that would end the program without a line.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_files_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.csv");
    let mut command = Command::new("sh");
    let limited = "ulimit -f 0; exec \"$@\"";
    command.args(["-c", limited, "sh", env!("CARGO_BIN_EXE_workbook")]);
    let output = command.args(PROFILE).arg(&file).current_dir(root());
    let output = output.output().unwrap();
    let said = text(output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let line = format!("error: cannot write `{}`: file too large", file.display());
    assert_eq!(said.lines().last(), Some(&*line));
}

/// A stack that does not fit into the address space takes every thread from the program.
#[cfg(target_os = "linux")]
#[test]
fn a_stack_without_room_is_one_line() {
    let tiny = command(&["gnn"]).env("RUST_MIN_STACK", "1").output();
    assert_eq!(tiny.unwrap().status.code(), Some(0));
    let mut command = command(&["gnn"]);
    let output = command
        .env("RUST_MIN_STACK", (1_u64 << 47).to_string())
        .output();
    let output = output.unwrap();
    let said = text(output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.starts_with("error: RUST_MIN_STACK: expected "),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}
