//! A stdout that takes no lines.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::process::{Command, Output, Stdio};

/// Runs `book commands` with a filter that no command contains.
fn commands(stdout: impl Into<Stdio>, stderr: impl Into<Stdio>) -> Output {
    let mut book = Command::new(env!("CARGO_BIN_EXE_book"));
    book.args(["commands", "no command contains this"]);
    // Not what CI has skipped.
    book.env_remove("CANDLEPOWER_SKIPPED");
    book.stdout(stdout).stderr(stderr);
    book.spawn().unwrap().wait_with_output().unwrap()
}

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

#[test]
fn a_closed_pipe_is_no_error() {
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let ended = commands(closed, Stdio::piped());
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn a_full_disk_is_one_line() {
    let ended = commands(full(), Stdio::piped());
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let errors: Vec<&str> = stderr
        .lines()
        .filter(|l| !l.starts_with("skipped: "))
        .collect();
    let line = "error: cannot write `stdout`: no space left on device";
    assert_eq!((ended.status.code(), errors), (Some(2), vec![line]));
    // Nor is a full stderr a panic.
    assert_eq!(commands(full(), full()).status.code(), Some(2));
}
