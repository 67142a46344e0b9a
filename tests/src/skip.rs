//! Reports what a test leaves out.
//!
//! Other crates include this file with `#[path]`, so it uses nothing but std.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Prints `skipped: WHAT: WHY` to stderr, and keeps that line as `kept` does. cargo hides what a passing test prints.
pub fn skip(what: &str, why: &str) {
    eprintln!("{}", kept(what, why));
}

/// Returns the line `skipped: WHAT: WHY`, and appends it to the file named by the environment variable
/// `CANDLEPOWER_SKIPPED`, if it is set.
///
/// The path should be absolute: cargo runs the tests of each package in that package's folder.
pub fn kept(what: &str, why: &str) -> String {
    let line = format!("skipped: {what}: {why}").replace('\n', " ");
    if let Some(path) = env::var_os("CANDLEPOWER_SKIPPED") {
        append(path.as_ref(), &line);
    }
    line
}

/// Appends a line in one write, so that lines of concurrent tests do not mix.
fn append(path: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.unwrap_or_else(|e| panic!("cannot append to `{}`: {e}", path.display()));
}
