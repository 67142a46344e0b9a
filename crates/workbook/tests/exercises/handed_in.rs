//! Unexpected files and folders of submissions are reported with their student.

use crate::run::{Folder, named};

/// A folder with only the runner's folder is a single student's.
#[test]
fn a_student_has_the_name_of_the_folder() {
    let folder = Folder::new();
    let guard = named("guard").solution.unwrap();
    folder.write("ada/my-exercises/07-guard.ptx", &guard);
    folder.write("ada/note.txt", "");
    let run = folder.run(&["grade", "ada", "--only", "guard"]);
    assert!(
        run.ended(0)
            .ends_with("ada 07-guard: passed\nada: 1 of 1 passed\n1 of 1 passed\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn files_that_look_like_a_submission_are_named() {
    let folder = Folder::new();
    let guard = named("guard").solution.unwrap();
    folder.write("class/ada/07-guard.ptx", &guard);
    folder.write("class/ada/02-COLUMNS.PTX", &guard);
    folder.write("class/bob/41-fp8.rs.txt", "");
    folder.write("class/bob/all.zip", "");
    folder.write("class/bob/note.txt", "");
    folder.write("class/bob/Abgabe/my-exercises/41-fp8.rs", "");
    folder.write("class/bob/Abgabe/my-exercises/note.rs", "");
    folder.write("class/bob/a/b/c/07-guard.ptx", "");
    let run = folder.run(&["grade", "class", "--only", "guard", "--only", "fp8"]);
    let stdout = run.ended(1);
    let deep =
        "it is too deep: submissions belong in the student's folder, or in a folder inside it";
    for (name, why) in [
        (
            "ada/02-COLUMNS.PTX",
            "no exercise has this file name; did you mean 08-columns.ptx?",
        ),
        (
            "bob/41-fp8.rs.txt",
            "no exercise has this file name; did you mean 41-fp8.rs?",
        ),
        ("bob/all.zip", "it is an archive; unpack it first"),
        ("bob/Abgabe/my-exercises/41-fp8.rs", deep),
        ("bob/a/b/c/07-guard.ptx", deep),
    ] {
        let line = format!("class/{name}: not graded: {why}\n");
        assert!(stdout.contains(&line), "{line}: {stdout}");
    }
    assert_eq!(stdout.matches(": not graded: ").count(), 5, "{stdout}");
}

/// The student's folder comes first, then the first folder in it by name.
#[test]
fn second_files_and_those_of_other_sessions_are_named() {
    let folder = Folder::new();
    folder.run(&["handout", "two", "--session", "2"]).ended(0);
    let sum = named("row-argmax").solution.unwrap();
    for place in ["ben", "ben/a", "cyd/b", "cyd/c"] {
        folder.write(&format!("class/{place}/09-row-argmax.ptx"), &sum);
        folder.write(&format!("class/{place}/07-guard.ptx"), "");
    }
    let grade = || folder.run(&["--exercises", "two", "grade", "class", "--graded"]);
    let expected = "\
class/ben/a/09-row-argmax.ptx: not graded: `class/ben/09-row-argmax.ptx` is graded instead
class/cyd/c/09-row-argmax.ptx: not graded: `class/cyd/b/09-row-argmax.ptx` is graded instead
class: not graded: files for exercises that this handout lacks: 4
seed ";
    let run = grade();
    assert!(run.ended(0).starts_with(expected), "{}", run.stdout);
    folder.write("two/others.json", "7");
    grade().refused(&["two/others.json: expected names that `handout` wrote"]);
}

#[test]
fn many_files_are_counted() {
    let folder = Folder::new();
    folder.write("class/ada/07-guard.ptx", &named("guard").solution.unwrap());
    for number in 0..2000 {
        folder.write(&format!("class/ada/a{number}.ptx"), "");
    }
    let run = folder.run(&["grade", "class", "--only", "guard"]);
    let stdout = run.ended(0);
    assert_eq!(stdout.matches(": not graded: ").count(), 21, "{stdout}");
    assert!(
        stdout.contains("class/ada: not graded: 1980 more files\n"),
        "{stdout}"
    );
}

/// A handout is enough to grade a class, without solutions on the machine.
#[test]
fn a_handout_is_enough_to_grade() {
    let folder = Folder::new();
    folder.run(&["handout", "out", "--session", "1"]).ended(0);
    for name in ["guard", "swiglu"] {
        let exercise = named(name);
        let file = format!("eve/{}", exercise.file());
        folder.write(&file, &exercise.solution.unwrap());
    }
    let args = [
        "--exercises",
        "out",
        "grade",
        "eve",
        "--only",
        "guard",
        "--only",
        "swiglu",
    ];
    let run = folder.run(&args);
    assert!(run.ended(0).ends_with("2 of 2 passed\n"), "{}", run.stdout);
}
