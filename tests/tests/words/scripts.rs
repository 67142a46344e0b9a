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
    // Copies, with a repository of their own.
    fs::create_dir(at("scripts")).unwrap();
    let command = |name: &str, arguments: &[&str]| {
        let script = at("scripts").join(name);
        fs::copy(root().join("scripts").join(name), &script).unwrap();
        let mut command = Command::new(if name.ends_with(".py") {
            "python3"
        } else {
            "bash"
        });
        command.env("CANDLEPOWER_WORK", folder.path());
        command.arg(script).args(arguments);
        command
    };
    let refused = |mut command: Command| {
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{command:?}: {said}");
        said.into_owned()
    };
    for (name, arguments) in [
        ("gpu-run.sh", &["nothing"][..]),
        ("gpu-run.sh", &["measure"]),
        ("gpu-run.sh", &["measure", "--help"]),
        ("cuda-toolkit.sh", &["--bogus"]),
        ("gpu-bundle.sh", &["--version"]),
        ("gpu-bundle.sh", &["a", "b"]),
        ("gpu-bundle.sh", &[""]),
        ("nvcc-stub.sh", &["-o"]),
        ("ptx.sh", &["-delete"]),
        ("ptx.sh", &["--check", "!"]),
        ("ptx.sh", &["scripts", "missing"]),
        ("ptx_text.py", &["missing", "/"]),
        ("soak.py", &["--seconds", "-1"]),
        ("soak.py", &["--kills", "-1"]),
    ] {
        refused(command(name, arguments));
    }
    let run = |arguments: &[&str], variable: &str, value: &str| {
        let mut command = command("gpu-run.sh", arguments);
        command.env_remove("HOME").env_remove("XDG_CACHE_HOME");
        command.env(variable, value);
        refused(command)
    };
    for work in ["", "-x", "/dev/null"] {
        let said = run(&["test"], "CANDLEPOWER_WORK", work);
        assert!(said.contains("CANDLEPOWER_WORK, found"), "{said}");
    }
    assert!(run(&["test"], "_", "").contains("bundle.tar.xz: expected"));
    // A bundle that is cut off replaces nothing.
    let work = at("candlepower-bundle");
    fs::create_dir(&work).unwrap();
    fs::write(at("scripts/bundle.tar.xz"), "cut").unwrap();
    for (name, part) in [
        ("commit", "bundle.tar.xz: expected"),
        ("thesis", "no files"),
    ] {
        let old = File::create(work.join(name)).unwrap();
        old.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let said = run(&["test"], "_", "");
        assert!(said.contains(part), "{said}");
        fs::remove_file(work.join(name)).unwrap();
    }
    // A part is no path.
    fs::remove_file(at("scripts/bundle.tar.xz")).unwrap();
    fs::write(work.join("commit"), "").unwrap();
    let part = ["measure", "out", "bench-../../x"];
    let said = run(&part, "CANDLEPOWER_CUDA_LIB", "/");
    assert!(said.contains("a part without '..'"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}
