//! Grades: a submission that hangs or crashes fails with that reason, and the others are still graded.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::{Folder, changed, exercises, finish, named};
use crate::slashes::slashes;

/// Writes a student's file of an exercise.
pub fn submit(folder: &Folder, student: &str, name: &str, text: &str) {
    folder.write(&format!("{student}/{}", named(name).file()), text);
}

/// Finds a grade by student and exercise.
pub fn grade_of<'g>(grades: &'g Value, student: &str, name: &str) -> &'g Value {
    let id = named(name).id;
    let is_it = |g: &&Value| g["student"] == student && g["exercise"] == id;
    grades.as_array().unwrap().iter().find(is_it).unwrap()
}

#[test]
fn every_submission_is_graded_whatever_it_does() {
    let folder = Folder::new();
    let gate = named("swiglu");
    let region = "    gate.silu()? * up\n";
    let guard = named("guard").solution.unwrap();
    submit(&folder, "class/ada", "guard", &guard);
    submit(
        &folder,
        "class/ada",
        "swiglu",
        &changed(&gate, region, "    loop {}\n"),
    );
    submit(
        &folder,
        "class/ada",
        "causality",
        &named("causality").starter,
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
        "swiglu",
        &changed(&gate, region, "    std::process::abort()\n"),
    );
    submit(&folder, "class/bob", "causality", "nonsense");
    submit(&folder, "class/cyd", "guard", "");
    submit(
        &folder,
        "class/cyd",
        "swiglu",
        &changed(&gate, region, "    panic!(\"no\")\n"),
    );
    submit(
        &folder,
        "class/dan",
        "swiglu",
        &changed(&gate, region, "    std::process::exit(0)\n"),
    );
    // Handed in under another name than the runner's.
    folder.write("class/fay/guard.ptx", &guard);
    // A copy of the learner's folder.
    submit(&folder, "class/gus/my-exercises", "guard", &guard);
    // Next to the students' folders, so its student is unknown.
    submit(&folder, "class", "columns", &guard);
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
        "--csv",
        "g.csv",
        "--junit",
        "g.xml",
        "--seed",
        "7",
    ];
    let run = folder.run(&args);
    let session = exercises()
        .into_iter()
        .filter(|e| e.spec.session == 1)
        .count();
    for line in [
        "class/08-columns.ptx: not graded: it is next to the students' folders, not in one of them"
            .into(),
        "class/fay/guard.ptx: not graded: no exercise has this file name; did you mean 07-guard.ptx?"
            .into(),
        "07-guard: 2 passed, 2 failed, 2 missing".into(),
        "08-columns: 0 passed, 0 failed, 6 missing".into(),
        format!("2 of {} passed", 6 * session),
    ] {
        assert!(
            run.ended(1).contains(&format!("{line}\n")),
            "{line}: {}",
            run.stdout
        );
    }
    // Missing submissions are on one line per student.
    let of_ada = format!(
        "ada: 1 of {session} passed; missing: 03-roofline, 05-fused-softmax, 06-one-product, 08-columns"
    );
    assert!(run.stdout.contains(&of_ada), "{}", run.stdout);
    assert!(!run.stdout.contains("ada 08-columns"), "{}", run.stdout);
    assert!(start.elapsed() < Duration::from_secs(120));

    let all: Value = serde_json::from_str(&folder.read("g.json")).unwrap();
    assert_eq!(all["complete"], true);
    let left_out = &all["not_graded"][1];
    let file = left_out["file"].as_str().unwrap();
    assert_eq!(slashes(file), "class/fay/guard.ptx");
    assert_eq!(
        left_out["why"],
        "no exercise has this file name; did you mean 07-guard.ptx?"
    );
    let grades = all["grades"].clone();
    assert_eq!(grades.as_array().unwrap().len(), 6 * session);
    let of_task = grade_of(&grades, "ada", "one-product");
    assert_eq!(
        (&of_task["graded"], &of_task["seed"]),
        (&true.into(), &7.into())
    );
    for (student, name, by) in [
        ("ada", "swiglu", "time"),
        ("ada", "causality", "check"),
        ("ada", "columns", "missing"),
        ("bob", "guard", "endless"),
        ("bob", "swiglu", "crash"),
        ("bob", "causality", "outside"),
        ("cyd", "guard", "outside"),
        ("cyd", "swiglu", "crash"),
        ("dan", "swiglu", "crash"),
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
    assert_eq!(grade_of(&grades, "gus", "guard")["passed"], true);
    let missing = grade_of(&grades, "fay", "guard")["line"].as_str().unwrap();
    assert!(
        slashes(missing).ends_with("found only class/fay/guard.ptx"),
        "{missing}"
    );
    let panic = grade_of(&grades, "cyd", "swiglu")["line"].as_str();
    let panic = panic.unwrap();
    assert!(
        panic.contains("swiglu.rs:") && panic.ends_with(": panicked: no"),
        "{panic}"
    );

    // A nearly right file name is shown in the student's line.
    let of_fay = format!("fay: 0 of {session} passed; missing: ");
    let line = run.stdout.lines().find(|line| line.starts_with(&of_fay));
    assert!(
        line.is_some_and(|line| line.contains("07-guard (found guard.ptx)")),
        "{}",
        run.stdout
    );

    let sheet = folder.read("g.csv");
    assert_eq!(sheet.lines().count(), 1 + 6 * session);
    assert!(sheet.starts_with("student,exercise,graded,passed,by,line,"));
    for row in [
        "ada,07-guard,false,true,,,7,",
        "bob,02-swiglu,false,false,crash,",
    ] {
        assert!(sheet.contains(&format!("\n{row}")), "{row}: {sheet}");
    }

    let junit = folder.read("g.xml");
    assert!(
        junit.contains(&format!(
            "tests=\"{}\" failures=\"{}\"",
            6 * session + 2,
            6 * session - 2
        )),
        "{junit}"
    );
    assert!(
        junit.contains("type=\"time\"") && slashes(&junit).contains("name=\"class/fay/guard.ptx\""),
        "{junit}"
    );
}

/// A handout is no class, and grading everything prints how to grade less.
#[test]
fn a_handout_is_not_graded_and_a_part_can_be() {
    let folder = Folder::new();
    folder.run(&["handout", "out", "--session", "1"]).ended(0);
    let run = folder.run(&["grade", "out"]);
    let found = "students' folders, found a handout; it goes after `--exercises`\n";
    assert!(
        run.code == Some(2) && run.stderr.ends_with(found),
        "{}",
        run.stderr
    );
    submit(&folder, "eve", "guard", &named("guard").solution.unwrap());
    let tip = "(`--session N`, `--graded` or `--only EXERCISE` grades only what was set)\n";
    assert!(folder.run(&["grade", "eve"]).ended(1).ends_with(tip));
    assert!(
        !folder
            .run(&["grade", "eve", "--session", "1"])
            .ended(1)
            .contains(tip)
    );
}

/// A folder with submissions is a single student's; exit code 0 if all passed.
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
    let of_eve = lines.iter().filter(|line| line.starts_with("eve "));
    assert!(
        of_eve.clone().all(|line| line.ends_with(": passed")),
        "{lines:?}"
    );
    let count = of_eve.count();
    assert_eq!(lines[lines.len() - 1], format!("{count} of {count} passed"));

    let run = folder.run(&["grade", "eve", "--graded", "--session", "2"]);
    assert!(
        run.ended(0)
            .ends_with("eve 09-row-argmax: passed\neve: 1 of 1 passed\n1 of 1 passed\n")
    );
    let run = folder.run(&["grade", "eve", "--only", "transpose", "--only", "rope"]);
    assert!(
        run.code.is_some() && run.stdout.ends_with(" of 2 passed\n"),
        "{}",
        run.stdout
    );
}

/// The same seed gives the same grades and lines; a random seed is printed.
#[test]
fn grades_can_be_repeated() {
    let folder = Folder::new();
    submit(&folder, "eve", "row-argmax", &named("row-argmax").starter);
    let grade = |args: &[&str]| {
        let all = [&["grade", "eve", "--only", "row-argmax"], args].concat();
        folder.run(&all).ended(1).to_owned()
    };
    let first = grade(&[]);
    let seed = first
        .split_whitespace()
        .nth(1)
        .unwrap()
        .trim_end_matches(':');
    assert_eq!(grade(&["--seed", seed]), first);
    assert_ne!(grade(&["--seed", "1"]), grade(&["--seed", "2"]));
}

/// A cargo that waits for another one takes no time of a check: `grade` asks it once, before the first.
#[cfg(unix)]
#[test]
fn cargo_is_asked_before_the_checks() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    for name in ["class/eve", "class/bob"] {
        let gate = named("swiglu");
        submit(&folder, name, "swiglu", gate.solution.as_deref().unwrap());
    }
    let cargo = folder.write(
        "cargo",
        &format!(
            "#!/bin/sh\necho asked >> \"$0.log\"\nexec {:?} \"$@\"\n",
            env!("CARGO")
        ),
    );
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&cargo, executable).unwrap();
    let mut command = folder.command(&["grade", "class", "--only", "swiglu"]);
    let run = finish(command.env("CARGO", &cargo));
    assert!(run.ended(0).ends_with("2 of 2 passed\n"), "{}", run.stdout);
    assert_eq!(folder.read("cargo.log"), "asked\n");
}

/// Processes that a submission leaves do not delay the grades, and are killed.
#[test]
#[cfg_attr(windows, ignore = "it starts `sleep`")]
fn processes_of_a_submission_end_with_it() {
    let folder = Folder::new();
    let gate = named("swiglu");
    let line =
        "    let _ = std::process::Command::new(\"sleep\").arg(\"3127\").spawn();\n    loop {}\n";
    let text = changed(&gate, "    gate.silu()? * up\n", line);
    submit(&folder, "eve", "swiglu", &text);
    let start = Instant::now();
    let run = folder.run(&["grade", "eve", "--only", "swiglu", "--limit", "2"]);
    assert!(run.ended(1).contains("time: "), "{}", run.stdout);
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let asleep = processes.filter(|process| {
        let line = std::fs::read(process.path().join("cmdline"));
        line.is_ok_and(|line| line.starts_with(b"sleep\x003127"))
    });
    assert_eq!(asleep.count(), 0);
}

/// Nearly right names are reported before the error that there is nothing to grade.
#[test]
fn wrong_names_are_told_before_there_is_nothing_to_grade() {
    let folder = Folder::new();
    let names = [
        "06-one-product (1).rs",
        "06-one-product - Copy.rs",
        "04_one_product.rs",
        "one-product.rs",
    ];
    for name in names {
        folder.write(&format!("eve/{name}"), "");
        folder.write(&format!("class/bob/{name}"), "");
    }
    for (class, student) in [("eve", "eve"), ("class", "class/bob")] {
        let run = folder.run(&["grade", class]);
        let expected = format!(
            "error: {class}: expected a folder of submissions, or of students' folders, found none\n"
        );
        assert_eq!((run.code, run.stderr), (Some(2), expected));
        for name in names {
            let line = format!(
                "{student}/{name}: not graded: no exercise has this file name; did you mean 06-one-product.rs?\n"
            );
            assert!(run.stdout.contains(&line), "{}", run.stdout);
        }
    }
}

/// With the learner's progress next to the submission, the grade has hints and first predictions.
#[test]
fn a_grade_knows_hints_and_first_predictions() {
    let folder = Folder::new();
    folder.run(&["start", "tile-without-reuse"]).ended(0);
    folder.run(&["hint"]).ended(0);
    let exercise = named("tile-without-reuse");
    let file = "my-exercises/37-tile-without-reuse.ptx";
    folder.write(
        file,
        &changed(&exercise, "// barriers = 32", "// barriers = 8"),
    );
    folder.run(&["check"]).ended(1);
    folder.write(file, &exercise.solution.unwrap());
    submit(&folder, "class/ada", "guard", &named("guard").starter);
    let only = ["--only", "37", "--json", "g.json", "--junit", "g.xml"];
    folder
        .run(&[&["grade", "my-exercises"], &only[..]].concat())
        .ended(0);
    let all: Value = serde_json::from_str(&folder.read("g.json")).unwrap();
    let grade = &all["grades"][0];
    assert_eq!(
        (&grade["hints_used"], &grade["first_prediction"]["barriers"]),
        (&1.into(), &"8".into())
    );
    let xml = folder.read("g.xml");
    for (name, value) in [
        ("hints_used", "1\""),
        ("graded", "false\""),
        ("first_prediction", "barriers = 8, "),
    ] {
        let property = format!("<property name=\"{name}\" value=\"{value}");
        assert!(xml.contains(&property), "{property}: {xml}");
    }
    let only = ["--only", "guard", "--json", "g.json"];
    folder
        .run(&[&["grade", "class"], &only[..]].concat())
        .ended(1);
    let all: Value = serde_json::from_str(&folder.read("g.json")).unwrap();
    let grade = all["grades"][0].as_object().unwrap();
    assert!(!grade.contains_key("hints_used") && !grade.contains_key("first_prediction"));
}
