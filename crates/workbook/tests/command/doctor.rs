//! `workbook doctor` on this machine, with an environment that causes problems.

use std::process::Command;

/// Exit code and stdout.
fn doctor(args: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
    command
        .arg("doctor")
        .args(args)
        .envs(environment.iter().copied());
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn every_machine_is_described() {
    let (code, text) = doctor(&[], &[]);
    for name in ["CPU", "driver", "nvcc", "libraries", "NVRTC", "this build"] {
        assert!(
            text.lines().any(|line| line.starts_with(name)),
            "{name}: {text}"
        );
    }
    // No part was requested; only a build with `cuda` requests one.
    if cfg!(not(feature = "cuda")) {
        assert_eq!(code, Some(0), "{text}");
    }
    let last = text.lines().last().unwrap_or_default();
    let cpu = "works here: levels 1–5 on the CPU";
    assert!(
        last.starts_with(cpu) && last.contains(", simulator"),
        "{text}"
    );
}

/// A named toolkit is the only one searched: an empty folder has no NVRTC.
#[test]
fn a_missing_part_that_was_asked_for_is_an_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().display().to_string();
    let environment = [("CUDA_HOME", empty.as_str())];
    let (code, text) = doctor(&["--nvrtc"], &environment);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains(&format!("no NVRTC: none in CUDA_HOME={empty}")),
        "{text}"
    );
    assert!(
        text.contains("fix: ") && text.contains("nvidia-cuda-nvrtc"),
        "{text}"
    );
    assert!(
        text.contains("you asked for .cu files") && text.contains("no NVRTC"),
        "{text}"
    );
}

/// The library without its built-ins.
#[test]
fn builtins_that_are_missing_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let [lib, file] = if cfg!(windows) {
        ["bin", "nvrtc64_130_0.dll"]
    } else {
        ["lib", "libnvrtc.so.13"]
    };
    std::fs::create_dir(folder.path().join(lib)).unwrap();
    std::fs::write(folder.path().join(lib).join(file), "").unwrap();
    let home = folder.path().display().to_string();
    let (code, text) = doctor(&["--nvrtc"], &[("CUDA_HOME", &home)]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("without libnvrtc-builtins"), "{text}");
}

#[test]
fn threads_that_are_no_number_are_named() {
    let (_, text) = doctor(&[], &[("RAYON_NUM_THREADS", "many")]);
    assert!(
        text.contains("RAYON_NUM_THREADS=\"many\" is not a number of threads"),
        "{text}"
    );
    let (_, text) = doctor(&[], &[]);
    assert!(!text.contains("is not a number"), "{text}");
}
