//! The files and lines that `grade` writes.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::grade::{grade_of, submit};
use crate::run::{Folder, changed, named};

/// The file of the results holds what has been checked so far.
#[test]
fn results_are_written_as_they_come() {
    let folder = Folder::new();
    submit(&folder, "eve", "guard", &named("guard").solution.unwrap());
    let endless = changed(&named("swiglu"), "    gate.silu()? * up\n", "    loop {}\n");
    submit(&folder, "eve", "swiglu", &endless);
    let mut command = folder.command(&[
        "grade", "eve", "--only", "guard", "--only", "swiglu", "--limit", "300", "--json", "g.json",
    ]);
    let mut grade = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    while !folder.path("g.json").exists() {
        assert!(begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    grade.kill().unwrap();
    grade.wait().unwrap();
    let all: Value = serde_json::from_str(&folder.read("g.json")).unwrap();
    assert_eq!(all["complete"], false);
    assert_eq!(all["grades"].as_array().unwrap().len(), 1);
    assert_eq!(grade_of(&all["grades"], "eve", "guard")["passed"], true);
}

/// No file is written over another.
#[test]
fn each_output_is_a_file_of_its_own() {
    let folder = Folder::new();
    submit(&folder, "eve", "guard", &named("guard").solution.unwrap());
    let run = folder.run(&["grade", "eve", "--json", "x", "--junit", "./x"]);
    run.refused(&["./x: expected a file of its own for each output, found the same twice"]);
    assert!(!folder.path("x").exists());
}

/// An output that is a submission would replace it.
#[test]
fn no_output_is_a_submission() {
    let folder = Folder::new();
    let solution = named("guard").solution.unwrap();
    submit(&folder, "class/eve", "guard", &solution);
    let file = format!("class/eve/{}", named("guard").file());
    let run = folder.run(&["grade", "class", "--json", &file]);
    run.refused(&[
        &file,
        "expected another file than the inputs and a person's work, found a text",
    ]);
    assert_eq!(folder.read(&file), solution);
}

/// As `grade … | head -1` does.
#[cfg(unix)]
#[test]
fn a_closed_pipe_changes_neither_files_nor_exit_code() {
    let folder = Folder::new();
    submit(&folder, "eve", "guard", "nonsense");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let args = [
        "grade", "eve", "--only", "guard", "--json", "g.json", "--junit", "g.xml",
    ];
    let status = folder.command(&args).stdout(writer).status().unwrap();
    assert_eq!(status.code(), Some(1));
    let all: Value = serde_json::from_str(&folder.read("g.json")).unwrap();
    assert_eq!(all["complete"], true);
    assert!(folder.path("g.xml").exists());
}

/// `RUST_BACKTRACE` of the teacher's shell changes no result.
#[test]
fn a_backtrace_is_no_part_of_a_result() {
    let folder = Folder::new();
    let text = changed(
        &named("swiglu"),
        "gate.silu()? * up",
        "gate.silu()?.narrow(1, 0, 99 * f)? * up",
    );
    submit(&folder, "eve", "swiglu", &text);
    let panics = changed(&named("causality"), "weights.matmul(v)", "panic!(\"no\")");
    submit(&folder, "eve", "causality", &panics);
    let grade = |trace: &str| {
        let args = [
            "grade",
            "eve",
            "--only",
            "swiglu",
            "--only",
            "causality",
            "--seed",
            "1",
        ];
        let mut command = folder.command(&args);
        command
            .env("RUST_BACKTRACE", trace)
            .env("RUST_LIB_BACKTRACE", trace);
        crate::run::finish(&mut command).ended(1).to_owned()
    };
    let without = grade("0");
    assert!(
        without.contains(".rs:15: candle refuses an operation"),
        "{without}"
    );
    assert_eq!(grade("full"), without);
}
