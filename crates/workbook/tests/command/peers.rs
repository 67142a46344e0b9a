//! PyTorch next to the levels.
//!
//! `CANDLEPOWER_PYTHON` names a Python with torch and safetensors; the default is `python3`. Without these
//! packages the tests that need them are skipped.

#[path = "../../../../tests/src/skip.rs"]
mod skip;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use skip::skip;

use crate::fixture::{Stored, Tensors, read, root, run};

/// A Python with the packages of the peers.
fn python(test: &str) -> Option<String> {
    let python = std::env::var("CANDLEPOWER_PYTHON").unwrap_or("python3".into());
    let import = ["-c", "import torch, safetensors.torch"];
    let output = Command::new(&python).args(import).output();
    if output.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    let why = "no Python with torch and safetensors; CANDLEPOWER_PYTHON can name one";
    skip(test, why);
    None
}

#[test]
fn invalid_requests_are_rejected_before_measuring() {
    let compare = |more: &[&str]| run(&[&["compare", "--device", "cpu"], more].concat());
    compare(&["--peers", "/no/such/python"]).refused(&["--peers", "/no/such/python"]);
    // A program that starts, but is no Python.
    compare(&["--peers", "false"]).refused(&["--peers", "torch and safetensors", "\"false\""]);
    compare(&["--peers", "true", "--peer-modes", "eager", "graph"]).refused(&[
        "--peer-modes: expected eager, compile, max-autotune or pyg on a CPU, found graph",
    ]);
    // One that ends well, and one that answers as PyTorch does.
    compare(&["--peers", "true"]).refused(&["--peers", "\"true\": no version of PyTorch"]);
    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("python");
    fs::write(&python, "#!/bin/sh\necho 2.0\n").unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let python = python.to_str().unwrap();
    compare(&["--peers", python, "--peer-cases", "lm.huge"])
        .refused(&["--peer-cases", "found lm.huge"]);
    let alone = compare(&["--peer-modes", "eager"]);
    assert_eq!(alone.code, Some(2), "{}", alone.stderr);
}

/// Bytes of a file of tensors.
fn serialized<'a>(tensors: impl IntoIterator<Item = (&'a str, &'a Stored)>) -> Vec<u8> {
    let views = tensors.into_iter().map(|(name, t)| {
        let view = safetensors::tensor::TensorView::new(t.dtype, t.shape.clone(), &t.bytes);
        (name, view.unwrap())
    });
    safetensors::serialize(views, None).unwrap()
}

/// Writes a workload of a golden as `compare` does.
fn workload(folder: &Path, golden: &str, address: &str, edit: impl FnOnce(&mut Tensors)) {
    let (from, to) = (
        root().join("tests/goldens").join(golden),
        folder.join(address),
    );
    fs::create_dir(&to).unwrap();
    for file in ["config.json", "model.safetensors"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let mut tensors = read(from.join("case.safetensors").to_str().unwrap());
    edit(&mut tensors);
    tensors.remove("tokens");
    let bytes = serialized(tensors.iter().map(|(name, t)| (name.as_str(), t)));
    fs::write(to.join("workload.safetensors"), bytes).unwrap();
}

/// Keeps the logits (B, T, V) of the last position only.
fn last(tensors: &mut Tensors) {
    let logits = &tensors["logits"];
    let [_, t, v] = logits.shape[..] else {
        panic!("expected three dimensions, found {:?}", logits.shape)
    };
    let values = logits.to_floats();
    let rows = values.chunks(t * v).flat_map(|of| of[(t - 1) * v..].iter());
    let rows: Vec<f32> = rows.copied().collect();
    let shape = [rows.len() / v, v];
    tensors.insert("logits".into(), Stored::floats(&shape, &rows));
}

/// Keeps the first sequence; all but `start` tokens are decoded one by one.
fn decode(tensors: &mut Tensors, start: usize) {
    last(tensors);
    let v = tensors["logits"].shape[1];
    let logits = Stored::floats(&[1, v], &tensors["logits"].to_floats()[..v]);
    let t = tensors["input_ids"].shape[1];
    let (ids, _) = tensors["input_ids"].bytes.as_chunks();
    let ids: Vec<i64> = ids[..t].iter().map(|b| i64::from_le_bytes(*b)).collect();
    let part = |ids: &[i64]| Stored::integers(&[1, ids.len()], ids);
    tensors.insert("input_ids".into(), part(&ids[..start]));
    tensors.insert("next".into(), part(&ids[start..]));
    tensors.insert("logits".into(), logits);
}

/// Parses the program's output, one line of JSON per result.
fn lines(output: &Output) -> Vec<Value> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

/// Whether PyG is installed; without it, that mode reports a failure.
fn has_pyg(python: &str) -> bool {
    let mut output = Command::new(python);
    let output = output.args(["-c", "import torch_geometric"]).output();
    let has = output.unwrap().status.success();
    if !has {
        skip("PyG's own layers", "no torch_geometric");
    }
    has
}

/// The plain PyTorch models agree with transformers' and PyG's, and a wrong one is not timed.
#[test]
fn plain_models_answer_as_the_libraries_do() {
    let Some(python) = python("plain_models_answer_as_the_libraries_do") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let lms = ["lm-mqa", "lm-theta", "lm-tied-gqa"];
    let others = [
        "vit-patch4",
        "vit-patch8",
        "gnn-plain",
        "gnn-noedges",
        "gnn-awkward",
    ];
    for golden in lms {
        workload(
            folder.path(),
            golden,
            &format!("lm.{golden}.prefill.f32"),
            last,
        );
        let address = format!("lm.{golden}.decode.f32");
        workload(folder.path(), golden, &address, |t| decode(t, 3));
    }
    for golden in others {
        let address = format!("{}.{golden}.batch.f32", &golden[..3]);
        workload(folder.path(), golden, &address, |_| ());
    }
    workload(
        folder.path(),
        "vit-patch4",
        "vit.wrong.batch.f32",
        |tensors| {
            let mut logits = tensors["logits"].to_floats();
            logits[0] += 0.01;
            let shape = tensors["logits"].shape.clone();
            tensors.insert("logits".into(), Stored::floats(&shape, &logits));
        },
    );
    let output = Command::new(&python)
        .arg(root().join("benches/peers/peers.py"))
        .arg(folder.path())
        .args([
            "--device",
            "cpu",
            "--modes",
            "eager",
            "pyg",
            "--samples",
            "2",
        ])
        .args(["--processes", "2", "--threads", "1"])
        .output()
        .unwrap();
    let lines = lines(&output);
    let of = |kind: &'static str| lines.iter().filter(move |line| line["kind"] == kind);
    let found: Vec<_> = of("row").collect();
    let graphs = others.iter().filter(|golden| golden.starts_with("gnn"));
    let by_pyg = if has_pyg(&python) { graphs.count() } else { 0 };
    assert_eq!(
        found.len(),
        2 * lms.len() + others.len() + by_pyg,
        "{lines:?}"
    );
    for row in found {
        assert!(row["max_difference"].as_f64().unwrap() < 1e-5, "{row}");
        assert_eq!(row["samples"], 2, "{row}");
        assert!(row["low_ms"].as_f64() <= row["median_ms"].as_f64(), "{row}");
    }
    let mut failed = of("failed").filter(|line| line["system"] != "pyg");
    let (Some(failed), None) = (failed.next(), failed.next()) else {
        panic!("expected one failure, found {lines:?}")
    };
    assert_eq!(failed["preset"], "wrong");
    let reason = failed["reason"].as_str().unwrap();
    assert!(reason.starts_with("logits apart by"), "{reason}");
}

/// Ops in PyTorch are compared with the levels' answers before timing.
#[test]
fn an_op_that_gives_something_else_is_not_timed() {
    let Some(python) = python("an_op_that_gives_something_else_is_not_timed") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let a = Stored::floats(&[2, 2], &[1., 2., 3., 4.]);
    for (shape, answer) in [
        ("2x2x2", [7., 10., 15., 22.]),
        ("9x9x9", [7., 10., 15., 23.]),
    ] {
        let answer = Stored::floats(&[2, 2], &answer);
        let tensors = [("a", &a), ("b", &a), ("answer", &answer)];
        let path = folder
            .path()
            .join(format!("matmul.{shape}.f32.safetensors"));
        fs::write(path, serialized(tensors)).unwrap();
    }
    let output = Command::new(&python)
        .arg(root().join("benches/peers/ops.py"))
        .arg(folder.path())
        .args(["matmul.9x9x9", "matmul.2x2x2"])
        .args(["--device", "cpu", "--dtype", "f32", "--samples", "2"])
        .output()
        .unwrap();
    let [wrong, right] = &lines(&output)[..] else {
        panic!("expected two lines, found {output:?}")
    };
    let reason = wrong["reason"].as_str().unwrap_or_default();
    assert_eq!(wrong["kind"], "failed", "{wrong}");
    assert!(reason.starts_with("expected at most 1e-04 of"), "{reason}");
    assert_eq!(
        (&right["kind"], &right["level"]),
        (&"row".into(), &"pytorch".into())
    );
    assert_eq!(right["samples"], 2, "{right}");
}

/// A folder with the files that `compare` needs.
pub fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for part in ["models", "crates", "benches"] {
        symlink(
            root().canonicalize().unwrap().join(part),
            folder.path().join(part),
        )
        .unwrap();
    }
    folder
}

/// Compares the trained models with one sample, and with `python`.
fn compare(repository: &Path, python: &str, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_workbook"))
        .args([
            "compare",
            "--device",
            "cpu",
            "--samples",
            "1",
            "--peers",
            python,
        ])
        .args(more)
        .current_dir(repository)
        .output()
        .unwrap()
}

/// Records a file in a folder without a record; returns the record.
fn recorded(figures: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let models = root().canonicalize().unwrap().join("models");
    symlink(models, folder.path().join("models")).unwrap();
    let record = Command::new(env!("CARGO_BIN_EXE_workbook"))
        .arg("record")
        .arg("laptop")
        .arg(figures)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&record.stdout);
    assert!(said.contains("laptop-lm-f32.svg"), "{record:?}");
    fs::read_to_string(folder.path().join("benches/results/laptop.json")).unwrap()
}

/// A fake Python: failed measurements are recorded by name, and if the program itself fails, earlier results
/// are kept and can be recorded.
#[test]
fn failures_are_recorded() {
    let repository = repository();
    let key = r#""model":"lm","preset":"tiny","workload":"decode","dtype":"f32""#;
    let fake = |name: &str, code: u8| {
        let path = repository.path().join(name);
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = -c ] && echo 2.0 && exit 0\n[ -s \"$2/lm.tiny.decode.f32/model.safetensors\" ] || exit 9\n\
             echo '{{\"kind\":\"failed\",{key},\"system\":\"pytorch_eager\",\"reason\":\"no memory\"}}'\nexit {code}\n"
        );
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_string()
    };
    let figures = repository.path().join("target/workbook/compare.json");
    let broken = compare(
        repository.path(),
        &fake("broken", 3),
        &["--peer-cases", "decode"],
    );
    assert_eq!(broken.status.code(), Some(1));
    let kept = fs::read_to_string(&figures).unwrap();
    for part in [
        r#""workload":"decode""#,
        r#""level":5"#,
        "failed: no memory",
    ] {
        assert!(kept.contains(part), "{kept}");
    }
    assert_eq!(recorded(&figures), kept);
    let works = compare(
        repository.path(),
        &fake("works", 0),
        &["--peer-cases", "decode"],
    );
    assert!(
        works.status.success(),
        "{}",
        String::from_utf8_lossy(&works.stderr)
    );
    let figures: Value = serde_json::from_slice(&fs::read(figures).unwrap()).unwrap();
    let notes = figures["notes"].as_array().unwrap();
    let failure = "lm tiny decode f32 pytorch_eager failed: no memory";
    assert_eq!(notes.last().unwrap(), failure, "{notes:?}");
    let settings = notes[0].as_str().unwrap();
    for part in ["threads", "MALLOC_MMAP_MAX_=0", "MALLOC_TRIM_THRESHOLD_="] {
        assert!(settings.contains(part), "{settings}");
    }
}

#[test]
fn pytorch_is_next_to_the_levels() {
    let Some(python) = python("pytorch_is_next_to_the_levels") else {
        return;
    };
    let repository = repository();
    let modes = ["--peer-modes", "eager", "--peer-cases", "lm.tiny", "gnn"];
    let output = compare(repository.path(), &python, &modes);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let path = repository.path().join("target/workbook/compare.json");
    let figures: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let rows = figures["rows"].as_array().unwrap().iter();
    let peers: Vec<_> = rows
        .filter(|row| row["system"] == "pytorch_eager")
        .collect();
    let names: Vec<_> = peers
        .iter()
        .map(|row| row["workload"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["prefill", "decode", "graphs128"]);
    for row in peers {
        assert!(row["max_difference"].as_f64().unwrap() < 1e-5, "{row}");
        assert!(row["speedup"].as_f64().unwrap() > 0., "{row}");
    }
    assert_eq!(figures["notes"].as_array().unwrap().len(), 1);
}
