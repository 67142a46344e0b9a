//! Scripts on inputs that once did harm.

use std::fs::{self, File};
use std::process::Command;
use std::time::SystemTime;

use crate::root;

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "it needs GNU's tools")]
fn scripts_refuse_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // A copy, with a repository of its own.
    let run = |name: &str, argument: &str| {
        fs::copy(root().join("scripts").join(name), at(name)).unwrap();
        let mut command = Command::new("bash");
        command.env("CANDLEPOWER_WORK", folder.path());
        command.arg(at(name)).arg(argument).output().unwrap()
    };
    for (name, argument) in [
        ("gpu-run.sh", "nothing"),
        ("gpu-run.sh", "measure"),
        ("cuda-toolkit.sh", "--bogus"),
        ("nvcc-stub.sh", "-o"),
    ] {
        let output = run(name, argument);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    // A bundle that is cut off replaces nothing.
    fs::create_dir(at("candlepower-bundle")).unwrap();
    fs::write(at("bundle.tar.xz"), "cut").unwrap();
    for name in ["candlepower-bundle/commit", "candlepower-bundle/thesis"] {
        let old = File::create(at(name)).unwrap();
        old.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(!run("gpu-run.sh", "workbook").status.success());
        fs::remove_file(at(name)).unwrap();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
}
