//! Bad input: one line, exit code 2, nothing written.

use std::fs;

use crate::run::{Folder, changed, named};

#[test]
fn names_and_places() {
    let folder = Folder::new();
    let here = folder.path("").canonicalize().unwrap();
    let looked = format!(
        "found none in {}, and no folder my-exercises",
        here.display()
    );
    for command in ["check", "hint"] {
        folder.run(&[command]).refused(&[
            "exercises: expected the name of an exercise",
            &looked,
            "my-exercises",
        ]);
    }
    folder
        .run(&["hint", "--dir", "mine"])
        .refused(&["found none in mine"]);
    folder.run(&["start", "row-product"]).refused(&[
        "expected the number or name of an exercise",
        "found \"row-product\"",
    ]);
    folder
        .run(&["start", "gaurd"])
        .refused(&["found \"gaurd\"; did you mean guard?"]);
    folder
        .run(&["start", "tiled"])
        .refused(&["found \"tiled\"; did you mean tiled-matmul or tiled-matmul-cuda?"]);
    folder.run(&["start", "99"]).refused(&["found \"99\""]);
    folder.run(&["check", "guard"]).refused(&[
        "07-guard.ptx: expected the file created by `cargo ",
        "exercises start guard`, found none",
    ]);
    folder.run(&["reset", "guard"]).refused(&["07-guard.ptx"]);
    folder.run(&["jump"]).refused(&["jump"]);
    assert!(!folder.path("my-exercises").exists());
}

#[test]
fn a_progress_that_is_none() {
    let folder = Folder::new();
    for text in ["{\"current\": 7}", "[]", "[null]", ""] {
        folder.write("my-exercises/.candlepower.json", text);
        folder
            .run(&["list"])
            .refused(&[".candlepower.json: expected a file written by `exercises`"]);
    }
}

#[test]
fn exercises_that_are_none() {
    let folder = Folder::new();
    folder
        .run(&["--exercises", "nowhere", "list"])
        .refused(&["nowhere: expected a folder of exercises"]);
    folder.write("empty/readme", "");
    folder
        .run(&["--exercises", "empty", "list"])
        .refused(&["empty: expected folders of exercises, found none"]);
    folder.write("odd/1-topic/01-one/exercise.toml", "title = 3\n");
    folder
        .run(&["--exercises", "odd", "list"])
        .refused(&["exercise.toml: expected an exercise", "line 1"]);
}

/// An archive without the exercises: the error suggests the handout.
#[test]
fn an_archive_without_exercises_needs_a_handout() {
    let folder = Folder::new();
    folder.write("exercises/prelude/Cargo.toml", "");
    for command in ["list", "start", "check"] {
        folder.run(&[command]).refused(&[
            "exercises: expected folders of exercises, found none; ",
            "use your teacher's handout: `cargo ex --exercises HANDOUT list`",
        ]);
    }
}

#[test]
fn a_folder_that_is_a_file() {
    let folder = Folder::new();
    folder.write("my-exercises", "");
    folder.run(&["start"]).refused(&["my-exercises"]);
}

#[test]
fn mistakes_of_a_teacher_are_named() {
    let folder = Folder::new();
    folder
        .run(&["grade", "nowhere"])
        .refused(&["nowhere: expected a folder of submissions, or of students' folders"]);
    folder.write("empty/readme", "");
    folder
        .run(&["grade", "empty"])
        .refused(&["empty: expected a folder of submissions", "found none"]);
    folder
        .run(&["grade", "empty", "--limit", "0"])
        .refused(&["--limit"]);
    folder
        .run(&["grade", "empty", "--session", "9"])
        .refused(&["--session: expected 1 to 5, found 9"]);
    folder
        .run(&["grade", "empty", "--json", "no/where.json"])
        .refused(&["no/where.json"]);
    folder
        .run(&["grade", "empty", "--only", "row-product"])
        .refused(&["found \"row-product\""]);
    folder
        .run(&["grade", "empty", "--graded", "--only", "guard"])
        .refused(&["--graded: expected a graded task"]);
    folder
        .run(&["grade", "empty", "--session", "1", "--only", "row-argmax"])
        .refused(&[
            "--only row-argmax: expected an exercise of session 1, as `--session` says, ",
            "found one of session 2; leave out `--session`",
        ]);
    folder
        .run(&["handout", "empty"])
        .refused(&["empty: expected the name of a new folder"]);
    folder
        .run(&["handout", "no/where"])
        .refused(&["no: expected an existing folder, to create the new one in, found none"]);
}

/// A launch that no GPU accepts is rejected with its line.
#[test]
fn launches_that_are_none() {
    let folder = Folder::new();
    let exercise = named("layer-norm");
    folder.run(&["start", "layer-norm"]).ended(0);
    for (launch, what) in [
        ("--grid 1,70000 --block 32", "65535"),
        ("--grid 2 --block 2000", "1024 threads"),
        (
            "--grid 2147483647,2 --block 32",
            "as many as the simulator takes",
        ),
        ("--grid 2,3 --block 32 --smem 4294967295", "shared memory"),
        ("", "expected a line"),
        (
            "--grid {rows} --block 32",
            ": --grid: unknown name {rows}; known names are {batch}, ",
        ),
        (
            "--grid {batch}*{steps} --block 32",
            "commas (names: {batch}, {columns}, {steps}), found `{batch}*{steps}`",
        ),
    ] {
        let text = changed(&exercise, "--grid {steps},{batch} --block 32", launch);
        let at = text
            .lines()
            .position(|l| l.contains("// launch ="))
            .unwrap()
            + 1;
        fs::write(folder.file(&exercise), text).unwrap();
        let run = folder.run(&["check"]);
        let line = run.ended(1);
        assert!(
            line.starts_with(&format!("my-exercises/10-layer-norm.ptx:{at}: "))
                && line.contains(what),
            "{line}"
        );
    }
}
