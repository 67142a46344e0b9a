//! A project outside of this workspace builds with the manifest that the documentation shows, and runs.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Builds `examples/in_candle.rs` as a package of its own, with the versions of this workspace's lock file.
#[test]
#[ignore = "large: builds candle for a package of its own, which takes minutes"]
fn the_documented_manifest_builds_and_runs() {
    let level5 = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = tempfile::tempdir().unwrap();
    let at = |file: &str| package.path().join(file);
    let manifest = include_str!("../examples/in_candle.toml");
    let documented = "candlepower/levels/level5";
    assert!(manifest.contains(documented), "{manifest}");
    fs::write(
        at("Cargo.toml"),
        manifest.replace(documented, level5.to_str().unwrap()),
    )
    .unwrap();
    fs::copy(level5.join("../../Cargo.lock"), at("Cargo.lock")).unwrap();
    fs::create_dir(at("src")).unwrap();
    fs::copy(level5.join("examples/in_candle.rs"), at("src/main.rs")).unwrap();

    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--offline"]).current_dir(package.path());
    cargo.env("CARGO_TARGET_DIR", at("target"));
    let output = cargo.output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|x| String::from_utf8(x).unwrap());
    assert!(output.status.success(), "{stderr}{stdout}");
    assert!(stdout.contains("largest difference"), "{stdout}");
}
