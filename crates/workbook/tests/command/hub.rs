//! `--model hf:ORG/NAME` with a cache created by the test.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::fixture::{Fixture, Run, root, run, without_note};

const COMMIT: &str = "0123456789abcdef";

/// Runs the command with its cache in `home`, and a hub that refuses connections.
fn run_at(home: &Path, args: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
    for variable in [
        "HF_HUB_CACHE",
        "HUGGINGFACE_HUB_CACHE",
        "HF_HUB_OFFLINE",
        "HF_TOKEN",
    ] {
        command.env_remove(variable);
    }
    for proxy in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"] {
        command.env_remove(proxy).env_remove(proxy.to_lowercase());
    }
    let output = command
        .args(args)
        .env("HF_HOME", home)
        .env("HF_ENDPOINT", "http://127.0.0.1:1")
        .output()
        .unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: without_note(&String::from_utf8(output.stderr).unwrap()),
    }
}

/// Copies a folder of the repository into the cache at `home`, as the main branch of `org/model`.
fn cache(home: &Path, folder: &str) {
    let repo = home.join("hub/models--org--model");
    let snapshot = repo.join("snapshots").join(COMMIT);
    fs::create_dir_all(&snapshot).unwrap();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, snapshot.join(path.file_name().unwrap())).unwrap();
    }
    fs::create_dir_all(repo.join("refs")).unwrap();
    fs::write(repo.join("refs/main"), COMMIT).unwrap();
}

#[test]
fn a_cached_model_answers_as_its_folder_does() {
    for (kind, golden) in [
        ("lm", "lm-llama3"),
        ("lm", "lm-qwen2"),
        ("lm", "lm-untied-full"),
        ("vit", "vit-patch4"),
    ] {
        let fixture = Fixture::golden(golden);
        let (input, output) = (
            fixture.path("case.safetensors"),
            fixture.path("out.safetensors"),
        );
        let home = tempfile::tempdir().unwrap();
        cache(home.path(), &format!("tests/goldens/{golden}"));
        let run = run_at(
            home.path(),
            &[
                kind,
                "--model",
                "hf:org/model",
                "--input",
                &input,
                "--output",
                &output,
            ],
        );
        run.fine();
        fixture.answer(&[]).fine();
        let answer = fs::read(fixture.path("answer.safetensors")).unwrap();
        assert_eq!(fs::read(output).unwrap(), answer, "{golden}");
    }
}

#[test]
fn a_cached_model_continues_a_prompt() {
    let home = tempfile::tempdir().unwrap();
    cache(home.path(), "models/tiny/lm");
    let args = ["lm", "--model", "hf:org/model@main", "--max-tokens", "5"];
    let cached = run_at(home.path(), &args);
    let tiny = run(&["lm", "--max-tokens", "5"]);
    assert_eq!(cached.fine(), tiny.fine());
    assert!(!cached.stderr.contains("note:"), "{}", cached.stderr);
    assert!(cached.stderr.contains("hf:org/model"), "{}", cached.stderr);
}

#[test]
fn a_cached_model_is_profiled() {
    let home = tempfile::tempdir().unwrap();
    cache(home.path(), "tests/goldens/lm-qwen2");
    let args = [
        "profile",
        "--model",
        "hf:org/model",
        "--samples",
        "1",
        "--workload",
        "decode",
    ];
    let run = run_at(home.path(), &args);
    assert!(run.fine().contains("hf:org/model"), "{}", run.stdout);
}

#[test]
fn an_uncached_model_is_an_error_at_once() {
    let home = tempfile::tempdir().unwrap();
    for kind in ["lm", "vit", "gnn"] {
        let start = Instant::now();
        let run = run_at(home.path(), &[kind, "--model", "hf:org/model"]);
        assert!(start.elapsed() < Duration::from_secs(10));
        let cache = home.path().join("hub").display().to_string();
        run.refused(&["error: hf:org/model: ", &cache]);
    }
}

#[test]
fn malformed_names() {
    for name in [
        "hf:",
        "hf:a",
        "hf:a/b/c",
        "hf:..",
        "hf:../..",
        "hf:a/b@",
        "hf:a/b@../c",
    ] {
        for kind in ["lm", "vit", "profile"] {
            let found = format!("found {name:?}");
            run(&[kind, "--model", name]).refused(&["--model: expected hf:ORG/NAME", &found]);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_cache_need_not_be_named_in_utf_8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let home = tempfile::tempdir().unwrap();
    let other = home.path().join(OsStr::from_bytes(b"hub\xff"));
    cache(&other, "models/tiny/lm");
    let args = ["lm", "--model", "hf:org/model", "--max-tokens", "5"];
    run_at(&other, &args).fine();
}
