//! Invalid recorded figures are rejected before anything is written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{root, run_in};

/// Folder of the records.
const RESULTS: &str = "benches/results";

/// A repository with records and without charts.
fn repository() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("models/tiny")).unwrap();
    for kind in ["", "ops", "small", "sweep"] {
        fs::create_dir_all(at(RESULTS).join(kind)).unwrap();
        for name in ["cpu.json", "h200.json"] {
            let from = root().join(RESULTS).join(kind).join(name);
            fs::copy(from, at(RESULTS).join(kind).join(name)).unwrap();
        }
    }
    fs::write(
        at("README.md"),
        "<!-- levels:begin -->\n<!-- levels:end -->\n\
         <!-- results:begin -->\n<!-- results:end -->\n",
    )
    .unwrap();
    folder
}

fn load(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Sets a field of the third row of a record.
fn set(path: &Path, field: &str, value: &Value) {
    let mut record = load(path);
    record["rows"][2][field] = value.clone();
    fs::write(path, record.to_string()).unwrap();
}

/// All files below a folder, with their contents.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(tree(&path));
            files.insert(path, vec![]);
        } else {
            let bytes = fs::read(&path).unwrap();
            files.insert(path, bytes);
        }
    }
    files
}

/// Asserts that the command fails with one line that has all `parts`, and changes nothing.
fn refuses(repository: &TempDir, args: &[&str], parts: &[&str]) {
    let before = tree(repository.path());
    let run = run_in(repository.path(), args);
    run.refused(parts);
    assert!(
        tree(repository.path()) == before,
        "{args:?} wrote something"
    );
}

#[test]
fn a_part_with_odd_figures_is_not_recorded() {
    for (field, value, parts) in [
        (
            "median_ms",
            json!(0),
            [
                "`median_ms`: expected a number from 1e-9 to 1e12",
                "found 0",
            ],
        ),
        ("median_ms", json!(-1.5), ["`median_ms`", "found -1.5"]),
        ("low_ms", json!(0), ["`low_ms`", "found 0"]),
        ("high_ms", json!(1e300), ["`high_ms`", "found 1000000"]),
        ("device_ms", json!(-1), ["`device_ms`", "found -1"]),
        ("speedup", json!(0), ["`speedup`", "found 0"]),
        (
            "median_ms",
            json!(null),
            ["part.json", "invalid type: null"],
        ),
        ("level", json!(0), ["`level`: expected 1 to 5", "found 0"]),
        ("level", json!(6), ["`level`: expected 1 to 5", "found 6"]),
        (
            "model",
            json!(""),
            ["`model`: expected a name of 1 to 60 letters", "found \"\""],
        ),
        ("workload", json!("../x"), ["`workload`", "found \"../x\""]),
        ("system", json!(""), ["`system`", "found \"\""]),
        (
            "origin",
            json!({"commit": "<!-- results:end -->", "date": "2026-11-21"}),
            ["`origin.commit`", "found <!-- results:end -->"],
        ),
    ] {
        let repository = repository();
        let part = repository.path().join("part.json");
        fs::copy(root().join(RESULTS).join("cpu.json"), &part).unwrap();
        set(&part, field, &value);
        let parts = [&["part.json"], &parts[..]].concat();
        refuses(&repository, &["record", "new", "part.json"], &parts);
        refuses(&repository, &["record", "cpu", "part.json"], &parts);
    }
}

/// A measurement of minutes would be lost.
#[test]
fn figures_that_cannot_be_written_are_refused_before_any_work() {
    let repository = repository();
    let at = |name: &str| repository.path().join(name);
    fs::write(at("target"), "a file").unwrap();
    for command in ["ops", "sweep", "small"] {
        let args = [command, "--device", "cpu"];
        run_in(repository.path(), &args).refused_so(&["cannot write `target/workbook`: "]);
    }
    fs::remove_file(at("target")).unwrap();
    fs::create_dir_all(at("target/workbook/ops.json")).unwrap();
    let parts = ["ops.json: expected the name of a file, found a folder"];
    refuses(&repository, &["ops", "--device", "cpu"], &parts);
    fs::write(at("benches/results/charts"), "a file").unwrap();
    let args = ["sweep", "--device", "cpu", "--record", "new"];
    run_in(repository.path(), &args).refused_so(&["benches/results/charts"]);
}

#[test]
fn a_record_with_an_odd_name_is_refused() {
    let repository = repository();
    let results = repository.path().join(RESULTS);
    fs::copy(results.join("cpu.json"), results.join("a](b).json")).unwrap();
    let parts = ["a](b).json: expected a name of letters", "\"a](b)\""];
    refuses(
        &repository,
        &["record", "cpu", "benches/results/cpu.json"],
        &parts,
    );
}

#[test]
fn a_name_leaves_room_for_the_names_of_charts() {
    let repository = repository();
    let part = repository.path().join("part.json");
    fs::copy(root().join(RESULTS).join("cpu.json"), &part).unwrap();
    let name = "n".repeat(65);
    let parts = ["NAME: expected a name of at most 64 characters, found 65"];
    refuses(&repository, &["record", &name, "part.json"], &parts);
}

/// Otherwise, one of them would replace the other's results.
#[test]
fn a_second_comparison_is_refused() {
    let repository = repository();
    let left = repository.path().join("target/workbook/compare.json");
    let _first = data::Lock::of(&left).unwrap();
    let args = ["compare", "--device", "cpu"];
    refuses(
        &repository,
        &args,
        &["compare.json: expected no other program that changes it (wait for it to end"],
    );
}

#[test]
fn the_row_is_named() {
    let repository = repository();
    let part = repository.path().join("part.json");
    fs::copy(root().join(RESULTS).join("cpu.json"), &part).unwrap();
    set(&part, "median_ms", &json!(0));
    let row = &load(&part)["rows"][2];
    let text = |field: &str| row[field].as_str().unwrap().to_string();
    let names = ["model", "preset", "workload", "dtype"].map(text);
    let key = format!(
        "part.json: row 3, {}.level{}: `",
        names.join("."),
        row["level"]
    );
    refuses(&repository, &["record", "new", "part.json"], &[&key]);
}

/// The page of all results needs both records.
#[test]
fn a_part_beside_odd_records_is_not_recorded() {
    let repository = repository();
    set(
        &repository.path().join(RESULTS).join("h200.json"),
        "median_ms",
        &json!(0),
    );
    let part = root()
        .join(RESULTS)
        .join("cpu.json")
        .canonicalize()
        .unwrap();
    let parts = ["h200.json: row 3", "`median_ms`"];
    refuses(
        &repository,
        &["record", "cpu", part.to_str().unwrap()],
        &parts,
    );
}

#[test]
fn a_good_part_is_recorded() {
    let repository = repository();
    let part = root()
        .join(RESULTS)
        .join("cpu.json")
        .canonicalize()
        .unwrap();
    let run = run_in(
        repository.path(),
        &["record", "new", part.to_str().unwrap()],
    );
    assert!(run.fine().contains("new-lm-f32.svg"), "{}", run.stdout);
    let read = |page: &str| fs::read_to_string(repository.path().join(page)).unwrap();
    let page = read("benches/results/README.md");
    assert!(page.contains("| lm tiny prefill | "), "{page}");
    let readme = read("README.md");
    for part in [
        "| [5](levels/level5/src/ops.rs) | ",
        "| LM 26 M, one token, f32 | ",
    ] {
        assert!(readme.contains(part), "{readme}");
    }
    let charts = repository.path().join(RESULTS).join("charts");
    assert!(charts.join("overview.svg").exists());
    let is_png = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "png");
    assert!(
        !tree(&charts).keys().any(is_png),
        "a PNG that nothing reads"
    );
}

#[test]
fn files_of_all_kinds_are_recorded_each_in_its_place() {
    let repository = repository();
    let files = [
        "cpu.json",
        "ops/cpu.json",
        "small/cpu.json",
        "sweep/cpu.json",
    ];
    let paths = files.map(|file| root().join(RESULTS).join(file).canonicalize().unwrap());
    let paths = paths.iter().map(|path| path.to_str().unwrap());
    let args: Vec<&str> = ["record", "new"].into_iter().chain(paths).collect();
    let run = run_in(repository.path(), &args);
    run.fine();
    for file in files {
        let at = |file: &str| repository.path().join(RESULTS).join(file);
        let new = file.replace("cpu", "new");
        assert!(load(&at(file)) == load(&at(&new)), "{file}");
    }
    for chart in [
        "new-lm-f32",
        "new-roofline-f32",
        "new-small",
        "new-lm-readme-tokens-f32",
    ] {
        assert!(
            run.stdout.contains(&format!("{chart}.svg")),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn figures_of_no_kind_are_not_recorded() {
    let repository = repository();
    refuses(
        &repository,
        &["record", "cpu"],
        &["target/workbook", "figures of a run", "none"],
    );
    let part = repository.path().join("part.json");
    for (text, found) in [
        ("{}", "missing field `kind`"),
        (r#"{"kind": "pears"}"#, "unknown variant `pears`"),
        ("[1]", "expected value"),
        ("", "an empty file"),
    ] {
        fs::write(&part, text).unwrap();
        let parts = ["part.json: expected recorded figures", found];
        refuses(&repository, &["record", "cpu", "part.json"], &parts);
    }
    run_in(repository.path(), &["record", "cpu", "none.json"]).unreadable("none.json");
    refuses(
        &repository,
        &["record", "a/b", "part.json"],
        &["NAME: expected a name", "a/b"],
    );
}

#[test]
fn an_incomplete_op_does_not_replace_a_complete_one() {
    let repository = repository();
    let part = repository.path().join("part.json");
    let mut ops = load(&repository.path().join(RESULTS).join("ops/cpu.json"));
    let rows = ops["rows"].as_array_mut().unwrap();
    rows.retain(|row| row["op"] == "linear" && row["shape"] != "128x512x512");
    fs::write(&part, ops.to_string()).unwrap();
    let parts = [
        "part.json: expected 128x512x512 linear f32, as",
        "ops/cpu.json has it, found none",
    ];
    refuses(&repository, &["record", "cpu", "part.json"], &parts);
}

/// It would stop each later drawing.
#[test]
fn a_worklog_without_what_it_is_compared_with_is_not_recorded() {
    let repository = repository();
    let mut worklog = load(&root().join(RESULTS).join("worklogs/h200.json"));
    let rows = worklog["rows"].as_array_mut().unwrap();
    rows.retain(|row| row["level"] != "candle");
    let parts = ["candle: expected a recorded row, found none"];
    for at in ["part.json", "benches/results/worklogs/h200.json"] {
        let file = repository.path().join(at);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, worklog.to_string()).unwrap();
        let name = [at, ": matmul ", parts[0]];
        refuses(&repository, &["record", "new", "part.json"], &name);
    }
}

#[test]
fn odd_records_are_not_drawn() {
    for (record, field, value) in [
        ("cpu.json", "median_ms", json!(0)),
        ("h200.json", "high_ms", json!(-1)),
        ("ops/cpu.json", "host_us", json!(0)),
        ("ops/h200.json", "graph_us", json!(-1)),
        ("ops/h200.json", "level", json!("level9")),
        ("ops/h200.json", "shape", json!("")),
        ("ops/cpu.json", "flops", json!(0)),
        ("small/cpu.json", "low_us", json!(0)),
        ("small/h200.json", "device_us", json!(0)),
        ("sweep/cpu.json", "level", json!(0)),
        ("sweep/h200.json", "size", json!(0)),
        ("sweep/h200.json", "what", json!("")),
    ] {
        let repository = repository();
        set(&repository.path().join(RESULTS).join(record), field, &value);
        let found = format!("{value}");
        let parts = [record, "row 3, ", &format!("`{field}`"), &found];
        refuses(&repository, &["redraw"], &parts);
    }
}

#[test]
fn a_readme_without_a_place_stops_the_drawing() {
    let repository = repository();
    let readme = repository.path().join("README.md");
    let text = fs::read_to_string(&readme).unwrap();
    for marker in ["<!-- levels:begin -->", "<!-- results:end -->"] {
        fs::write(&readme, text.replace(marker, "")).unwrap();
        refuses(&repository, &["redraw"], &["README.md", marker]);
    }
}
