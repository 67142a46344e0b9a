//! Passes the versions of the compiler and of candle to the crate, which records them with each measurement.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../Cargo.lock");
    println!("cargo::rerun-if-env-changed=RUSTC");
    println!(
        "cargo::rustc-env=RUSTC_VERSION={}",
        rustc().unwrap_or_default()
    );
    println!(
        "cargo::rustc-env=CANDLE_VERSION={}",
        candle().unwrap_or_default()
    );
}

/// `1.95.0` of `rustc 1.95.0 (59807616e 2026-04-14)`.
fn rustc() -> Option<String> {
    let output = Command::new(std::env::var_os("RUSTC")?)
        .arg("--version")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().nth(1).map(str::to_string)
}

/// The version that Cargo.lock has.
fn candle() -> Option<String> {
    let lock = std::fs::read_to_string("../Cargo.lock").ok()?;
    let mut lines = lock
        .lines()
        .skip_while(|line| *line != "name = \"candle-core\"");
    let version = lines.nth(1)?.strip_prefix("version = ")?;
    Some(version.trim_matches('"').to_string())
}
