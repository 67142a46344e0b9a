//! A handout contains no solution and is enough to work with.

use std::fs;
use std::path::Path;

use classroom::Language;
use classroom::source::regions;

use crate::nvrtc;
use crate::run::{Folder, exercises, named};

/// Appends all text in a folder, which has neither solutions nor explanations of them.
fn all_text(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(
            !name.starts_with("solution.") && name != "wrong.toml",
            "{name}"
        );
        if path.is_dir() {
            all_text(&path, text)
        } else {
            *text += &fs::read_to_string(path).unwrap()
        }
    }
}

#[test]
fn it_has_no_solution() {
    let folder = Folder::new();
    folder.run(&["handout", "out"]).ended(0);
    let mut text = String::new();
    all_text(&folder.path("out"), &mut text);
    for exercise in exercises() {
        for region in regions(exercise.solution.as_deref().unwrap()) {
            let solution = region.lines.join("\n");
            assert!(
                !text.contains(&solution),
                "{}, {}",
                exercise.id,
                region.name
            );
        }
        assert!(text.contains(&exercise.starter), "{}", exercise.id);
        let explanation = exercise.explanation.unwrap_or_default();
        let mut lines = explanation.lines().filter(|line| line.len() > 40);
        assert!(!lines.any(|line| text.contains(line)), "{}", exercise.id);
    }
    assert!(!text.contains("Wrong answers that the check rejects"));
    assert!(
        !text.contains("caught_by"),
        "the wrong solutions stay with the teacher"
    );
}

#[test]
fn it_is_enough_to_work_with() {
    let folder = Folder::new();
    folder.run(&["handout", "out", "--session", "2"]).ended(0);
    let with = |args: &[&str]| folder.run(&[&["--exercises", "out"], args].concat());
    let of_session = exercises().into_iter().filter(|e| e.spec.session == 2);
    assert_eq!(
        with(&["list"]).ended(0).lines().count(),
        of_session.count() + 1
    );
    let started = with(&["start", "row-argmax"]);
    let page = "its page is out/pages/09-row-argmax.md.\n";
    assert!(started.ended(0).ends_with(page), "{}", started.stdout);
    let read_me = folder.read("out/README.md");
    let line = "- [09-row-argmax](pages/09-row-argmax.md): Barriers: the first maximum of a row, as a tree in shared memory (session 2, graded, 35 minutes)\n";
    assert!(read_me.contains(line), "{read_me}");
    let page = folder.read("out/pages/09-row-argmax.md");
    for command in [
        " exercises --exercises out start row-argmax\n",
        "cargo ex --exercises out check row-argmax --seed 1\n",
        "`cargo ex --exercises out hint 09` gives a hint",
    ] {
        assert!(page.contains(command), "{command}: {page}");
    }
    assert!(
        with(&["check"])
            .ended(1)
            .contains("09-row-argmax.ptx: row_argmax at ")
    );
    let exercise = named("row-argmax");
    fs::write(
        folder.file(&exercise),
        exercise.solution.as_deref().unwrap(),
    )
    .unwrap();
    with(&["check"]).ended(0);
    let no_solution = "09-row-argmax: a handout has no solutions; ask your teacher for it";
    with(&["solution"]).refused(&[no_solution]);
}

/// Messages do not send a learner in a circle of commands.
#[test]
fn it_says_that_it_has_no_solution_and_three_open_hints() {
    let folder = Folder::new();
    folder
        .run(&["handout", "set two", "--session", "2"])
        .ended(0);
    let with = |args: &[&str]| folder.run(&[&["--exercises", "set two"], args].concat());
    with(&["start", "row-argmax"]).ended(0);
    let no_solution = "09-row-argmax: a handout has no solutions; ask your teacher for it";
    with(&["solution"]).refused(&[no_solution]);
    with(&["solution", "--reveal"]).refused(&[no_solution]);
    let hints: Vec<String> = (0..3)
        .map(|_| with(&["hint"]).ended(0).to_owned())
        .collect();
    let last = "\n(This was the last hint; a handout has no solutions.)\n";
    assert!(hints[2].ends_with(last), "{hints:?}");
    let again = with(&["hint"]).ended(0).to_owned();
    let (_, text) = hints[2].split_once(": ").unwrap();
    assert_eq!(
        again,
        format!("No more hints for 09-row-argmax; the last was: {text}")
    );
    let read_me = folder.read("set two/README.md");
    for part in [
        "Copy this folder, `set two`, into the folder of the workbook, and run there:\n",
        " exercises --exercises 'set two' list\n",
        "The hints are open: each page below ends with three,",
    ] {
        assert!(read_me.contains(part), "{part}: {read_me}");
    }
}

/// A pass in a handout shows the same counters before and after as in the repository.
#[test]
fn it_has_the_counters_to_compare_with() {
    let folder = Folder::new();
    let made = folder.run(&["handout", "out"]);
    let lacks_nvrtc = nvrtc::is_missing(made.ended(0), "counters in CUDA of a handout");
    let compared: Vec<_> = exercises()
        .into_iter()
        .filter(|e| e.spec.before.is_some())
        .filter(|e| e.language != Language::Cuda || !lacks_nvrtc)
        .collect();
    assert!(compared.len() >= 9, "{}", compared.len());
    for exercise in compared {
        let (id, name) = (&exercise.id, exercise.name());
        folder.run(&["start", name]).ended(0);
        let solution = exercise.solution.as_deref().unwrap();
        fs::write(folder.file(&exercise), solution).unwrap();
        let table = |with: &[&str]| -> Vec<String> {
            let run = folder.run(&[with, &["check", name, "--seed", "3"]].concat());
            let lines = run.ended(0).lines().map(str::to_owned);
            let from = lines.skip_while(|line| !line.starts_with("At "));
            from.take_while(|line| !line.starts_with("The idea"))
                .collect()
        };
        let in_handout = table(&["--exercises", "out"]);
        assert!(in_handout[0].ends_with(" → yours"), "{id}: {in_handout:?}");
        assert_eq!(in_handout, table(&[]), "{id}");
    }
}

#[test]
fn it_has_the_exercises_that_are_named() {
    let folder = Folder::new();
    let only = ["--only", "22", "--only", "guard"];
    folder
        .run(&[&["handout", "day"], &only[..]].concat())
        .ended(0);
    let listed = folder.run(&["--exercises", "day", "list"]);
    let lines = listed.ended(0).lines();
    let numbers: Vec<&str> = lines
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(numbers, ["07", "22", "0"], "{}", listed.stdout);
    let other = folder.run(&[&["handout", "one", "--session", "1"], &only[..]].concat());
    other.refused(&["--only 22: expected an exercise of session 1"]);
}

/// A page lists the forbidden words, and has no link into the book.
#[test]
fn a_page_has_the_words_that_are_refused() {
    let folder = Folder::new();
    folder.run(&["handout", "out"]).ended(0);
    for exercise in exercises() {
        let page = folder.read(&format!("out/pages/{}.md", exercise.id));
        let has_words = exercise.language != Language::Ptx;
        let words = "- Your regions contain none of the words `include`, ";
        assert_eq!(page.contains(words), has_words, "{}", exercise.id);
        assert!(!page.contains("](../"), "{}", exercise.id);
        assert!(page.contains(&exercise.starter), "{}", exercise.id);
    }
}

#[test]
fn it_writes_over_nothing() {
    let folder = Folder::new();
    folder.write("out/mine", "");
    folder
        .run(&["handout", "out"])
        .refused(&["out: expected the name of a new folder"]);
    assert_eq!(fs::read_dir(folder.path("out")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 1);
}

/// Hints are neither in its files nor on the command line.
#[test]
fn it_may_lack_the_hints() {
    let folder = Folder::new();
    let out = folder.run(&["handout", "out", "--no-hints"]);
    let line = "exercises without their solutions and hints\n";
    assert!(out.ended(0).ends_with(line), "{}", out.stdout);
    let mut text = String::new();
    all_text(&folder.path("out"), &mut text);
    for exercise in exercises() {
        for hint in &exercise.spec.hints {
            assert!(!text.contains(hint.as_str()), "{}: {hint}", exercise.id);
        }
        assert!(text.contains(&exercise.starter), "{}", exercise.id);
    }
    assert!(!text.contains("## Hints") && !text.contains("The hints are open"));
    assert!(text.contains(" is not solved yet") && !text.contains("gives a hint"));
    let with = |args: &[&str]| folder.run(&[&["--exercises", "out"], args].concat());
    with(&["start", "row-argmax"]).ended(0);
    let none = "09-row-argmax: expected hints, found a handout without hints; ask your teacher";
    with(&["hint"]).refused(&[none]);
    let checked = with(&["check"]);
    assert!(
        checked
            .ended(1)
            .contains("09-row-argmax.ptx: row_argmax at ")
            && !checked.stdout.contains("hint"),
        "{}",
        checked.stdout
    );
    fs::write(
        folder.file(&named("row-argmax")),
        named("row-argmax").solution.as_deref().unwrap(),
    )
    .unwrap();
    with(&["check"]).ended(0);
}
