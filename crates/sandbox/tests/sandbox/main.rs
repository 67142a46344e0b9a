//! Programs that do what a hostile submission does, and what becomes of it. They are in this binary, which
//! tests start again in the sandbox.
#![cfg(unix)]

mod children;
mod files;
mod limits;
mod processes;
#[path = "../../../../tests/src/skip.rs"]
mod skip;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sandbox::{Limits, Outcome};

/// Time for a program that ends by itself.
const LONG: Duration = Duration::from_secs(60);

/// Limits of this binary, of a shell and its programs.
fn limits() -> Limits {
    with_programs(Limits::new(LONG))
}

fn with_programs(limits: Limits) -> Limits {
    let folders = ["/bin", "/usr/bin"].map(Path::new);
    let there = folders.into_iter().filter(|folder| folder.is_dir());
    there.fold(limits.readable(this()), Limits::readable)
}

fn this() -> std::path::PathBuf {
    std::env::current_exe().unwrap()
}

/// A function of `children` as a program, with the value of the variable `GIVEN`.
fn child(name: &str, given: impl AsRef<Path>) -> Command {
    let mut command = Command::new(this());
    command
        .args(["--exact", "children::program", "--nocapture"])
        .env("CHILD", name)
        .env("GIVEN", given.as_ref());
    command
}

fn run(command: Command, limits: &Limits) -> Outcome {
    sandbox::run(command, limits).unwrap()
}

/// Both streams that a program printed.
fn said(outcome: &Outcome) -> String {
    outcome.stdout.text() + &outcome.stderr.text()
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Whether a test of what only a sandbox prevents can run; `.ci/run` prints those that cannot.
fn is_available(test: &str) -> bool {
    let Err(reason) = sandbox::available() else {
        return true;
    };
    skip::skip(test, &reason.to_string());
    false
}
