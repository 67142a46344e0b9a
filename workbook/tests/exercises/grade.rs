//! Grades: a submission that never ends or that crashes is a failure with that reason, and the others are graded.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::{Folder, changed, exercises, named};

/// Puts a text where a student's file of an exercise belongs.
fn submit(folder: &Folder, student: &str, name: &str, text: &str) {
    folder.write(&format!("{student}/{}", named(name).file()), text);
}

/// The grades by student and exercise.
fn grade_of<'g>(grades: &'g Value, student: &str, name: &str) -> &'g Value {
    let id = named(name).id;
    let is_it = |g: &&Value| g["student"] == student && g["exercise"] == id;
    grades.as_array().unwrap().iter().find(is_it).unwrap()
}

#[test]
fn every_submission_is_graded_whatever_it_does() {
    let folder = Folder::new();
    let gate = named("swapped-gate");
    let region = "    gate.silu()? * up\n";
    let guard = named("guard").solution.unwrap();
    submit(&folder, "class/ada", "guard", &guard);
    submit(
        &folder,
        "class/ada",
        "swapped-gate",
        &changed(&gate, region, "    loop {}\n"),
    );
    submit(
        &folder,
        "class/ada",
        "unused-mask",
        &named("unused-mask").starter,
    );
    submit(
        &folder,
        "class/bob",
        "guard",
        &changed(
            &named("guard"),
            "    @%out bra       end;\n",
            "here:\n    bra here;\n",
        ),
    );
    submit(
        &folder,
        "class/bob",
        "swapped-gate",
        &changed(&gate, region, "    std::process::abort()\n"),
    );
    submit(&folder, "class/bob", "unused-mask", "nonsense");
    submit(&folder, "class/cyd", "guard", "");
    submit(
        &folder,
        "class/cyd",
        "swapped-gate",
        &changed(&gate, region, "    panic!(\"no\")\n"),
    );
    submit(
        &folder,
        "class/dan",
        "swapped-gate",
        &changed(&gate, region, "    std::process::exit(0)\n"),
    );
    // Handed in, under another name than the runner's.
    folder.write("class/fay/guard.ptx", &guard);
    folder.write("class/.git/config", "");

    let start = Instant::now();
    let args = [
        "grade",
        "class",
        "--session",
        "1",
        "--limit",
        "3",
        "--json",
        "g.json",
        "--junit",
        "g.xml",
    ];
    let run = folder.run(&args);
    assert!(run.ended(1).ends_with(" passed\n"), "{}", run.stdout);
    assert!(start.elapsed() < Duration::from_secs(120));

    let grades: Value = serde_json::from_str(&folder.read("g.json")).unwrap();
    let session = exercises()
        .into_iter()
        .filter(|e| e.spec.session == 1)
        .count();
    assert_eq!(grades.as_array().unwrap().len(), 5 * session);
    for (student, name, by) in [
        ("ada", "swapped-gate", "time"),
        ("ada", "unused-mask", "check"),
        ("ada", "columns", "missing"),
        ("bob", "guard", "endless"),
        ("bob", "swapped-gate", "crash"),
        ("bob", "unused-mask", "outside"),
        ("cyd", "guard", "outside"),
        ("cyd", "swapped-gate", "crash"),
        ("dan", "swapped-gate", "crash"),
        ("fay", "guard", "missing"),
    ] {
        let grade = grade_of(&grades, student, name);
        assert_eq!(
            (&grade["passed"], &grade["by"]),
            (&Value::Bool(false), &by.into()),
            "{grade}"
        );
    }
    assert_eq!(grade_of(&grades, "ada", "guard")["passed"], true);
    let panic = grade_of(&grades, "cyd", "swapped-gate")["line"].as_str();
    let panic = panic.unwrap();
    assert!(
        panic.contains("swapped-gate.rs:") && panic.ends_with(": panicked: no"),
        "{panic}"
    );

    let junit = folder.read("g.xml");
    assert!(
        junit.contains(&format!(
            "tests=\"{}\" failures=\"{}\"",
            5 * session,
            5 * session - 1
        )),
        "{junit}"
    );
    assert!(
        junit.contains("type=\"time\"") && junit.contains("type=\"crash\""),
        "{junit}"
    );
}

/// A folder that has submissions itself is one student's; the code is 0 when all have passed.
#[test]
fn one_student_who_has_done_all() {
    let folder = Folder::new();
    for exercise in exercises().iter().filter(|e| e.spec.session == 2) {
        submit(
            &folder,
            "eve",
            exercise.name(),
            exercise.solution.as_deref().unwrap(),
        );
    }
    let run = folder.run(&["grade", "eve", "--session", "2"]);
    let lines: Vec<&str> = run.ended(0).lines().collect();
    assert!(
        lines
            .iter()
            .rev()
            .skip(1)
            .all(|line| line.starts_with("eve ") && line.ends_with(": passed")),
        "{lines:?}"
    );
}
