//! Labels of a CPU run: Rust twins instead of PTX, and the machine of level 5's table.

use std::process::{Command, Output};

use serde_json::Value;

use crate::fixture::{NOT_TUNED, root};
use crate::peers::repository;

/// Runs the command with an unmeasured number of threads, and without a user's table.
fn on_another_machine(args: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_workbook"))
        .args(args)
        .env("RAYON_NUM_THREADS", "3")
        .env("XDG_CACHE_HOME", home.path())
        .env("HOME", home.path())
        .output()
        .unwrap()
}

/// The machine of the table for any CPU.
fn measured_on() -> String {
    let path = root().join("kernels/src/dispatch/tables/cpu.json");
    let table: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    table["measured_on"].as_str().unwrap().to_string()
}

fn notes(output: &Output) -> Vec<String> {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let notes = stderr.lines().filter(|line| line.starts_with(NOT_TUNED));
    notes.map(str::to_string).collect()
}

#[test]
fn a_table_of_another_machine_is_named_once() {
    let said = notes(&on_another_machine(&[
        "vit", "--level", "5", "--device", "cpu",
    ]));
    let [note] = &said[..] else {
        panic!("expected one note, found {said:?}");
    };
    for part in [
        &format!("measured on {} (20", measured_on()),
        "not tuned for this CPU",
        "-- tune`",
    ] {
        assert!(note.contains(part), "{part} is not in: {note}");
    }
    // Level 4 does not pick kernels, and simulated kernels have no times.
    for args in [
        ["--level", "4", "--device", "cpu"],
        ["--level", "5", "--device", "sim"],
    ] {
        let picture = root().join("crates/cli/pictures/arrow.png");
        let args = [&["vit", "--image", picture.to_str().unwrap()], &args[..]].concat();
        assert_eq!(notes(&on_another_machine(&args)), [""; 0], "{args:?}");
    }
}

#[test]
fn a_trace_of_a_cpu_says_rust_twin() {
    let output = on_another_machine(&["gnn", "--level", "4", "--device", "cpu", "--trace"]);
    notes(&output);
    let stdout = String::from_utf8_lossy(&output.stdout);
    let line = stdout
        .lines()
        .find(|line| line.starts_with("  edge_attention_level4"));
    assert!(line.unwrap().ends_with("  Rust twin"), "{stdout}");
    assert!(stdout.contains("not PTX or CUDA."), "{stdout}");
}

/// Tables, chart and closing text of a comparison on a CPU, in 80 columns.
#[test]
fn a_comparison_on_a_cpu_says_what_ran() {
    let repository = repository();
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_workbook"))
        .args(["--device", "cpu", "--samples", "1"])
        .current_dir(repository.path())
        .env("RAYON_NUM_THREADS", "3")
        .env("XDG_CACHE_HOME", home.path())
        .env("HOME", home.path())
        .output()
        .unwrap();
    assert_eq!(notes(&output).len(), 1);
    let stdout = String::from_utf8_lossy(&output.stdout);
    for part in [
        "\n           3      Rust twin  ",
        "\nMeaning   On this CPU, levels 3 to 5 run Rust",
        "Level 5 is not tuned for this CPU: run\n          cargo run --release -- tune\n",
        "\nTry next  cargo run --release -- profile",
        "\nRead on   cargo run --release -p book",
    ] {
        assert!(stdout.contains(part), "{part:?} is not in: {stdout}");
    }
    assert!(
        !stdout.contains("launches  "),
        "no column without a figure: {stdout}"
    );
    // The first two lines name machines, whose names may be long.
    for line in stdout.lines().skip(2) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let chart = repository.path().join("target/workbook/compare.svg");
    let chart = std::fs::read_to_string(chart).unwrap();
    assert!(chart.contains("level 3 (Rust twin)") && !chart.contains("PTX"));
}
