//! A package outside of this workspace builds with the manifest that the documentation shows, and its programs run.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The package has the two programs that others copy, and the versions of this workspace's lock file.
#[test]
#[ignore = "large: builds candle for a package of its own, which takes minutes"]
fn the_documented_manifest_builds_and_runs() {
    let level5 = Path::new(env!("CARGO_MANIFEST_DIR"));
    let clone = level5.join("../..").canonicalize().unwrap();
    let package = tempfile::tempdir().unwrap();
    let at = |file: &str| package.path().join(file);

    let manifest = include_str!("../examples/outside.toml");
    let here = manifest.replace("\"candlepower/", &format!("\"{}/", clone.display()));
    assert_ne!(here, manifest, "expected paths into a clone");
    fs::write(at("Cargo.toml"), here).unwrap();
    fs::copy(clone.join("Cargo.lock"), at("Cargo.lock")).unwrap();
    fs::create_dir_all(at("src/bin")).unwrap();

    for (program, expected) in [
        ("in_candle", "largest difference"),
        ("launch_ptx", "no findings"),
    ] {
        let source = format!("{program}.rs");
        let copy = at("src/bin").join(&source);
        fs::copy(level5.join("examples").join(&source), copy).unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--offline", "--bin", program]);
        cargo.env("CARGO_TARGET_DIR", at("target"));
        let output = cargo.current_dir(package.path()).output().unwrap();
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|x| String::from_utf8(x).unwrap());
        assert!(output.status.success(), "{stderr}{stdout}");
        assert!(stdout.contains(expected), "{stdout}");
        println!("{stdout}");
    }
}
