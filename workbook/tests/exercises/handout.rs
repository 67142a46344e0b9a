//! A handout has no solution in it, and is enough to work with.

use std::fs;
use std::path::Path;

use classroom::source::regions;

use crate::run::{Folder, exercises, named};

/// All that is in a folder, as one text.
fn all_text(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all_text(&path, text),
            false => *text += &fs::read_to_string(path).unwrap(),
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
    }
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
    let started = with(&["start", "row-sum"]);
    let page = "its page is out/pages/07-row-sum.md.\n";
    assert!(started.ended(0).ends_with(page), "{}", started.stdout);
    let read_me = folder.read("out/README.md");
    let line = "- [07-row-sum](pages/07-row-sum.md): The sum of a row, as a tree (session 2, graded, 35 minutes)\n";
    assert!(read_me.contains(line), "{read_me}");
    assert!(
        folder
            .read("out/pages/07-row-sum.md")
            .contains(" exercises --exercises THIS_FOLDER start row-sum\n")
    );
    assert!(
        with(&["check"])
            .ended(1)
            .contains("07-row-sum.ptx: row_sum at ")
    );
    let exercise = named("row-sum");
    fs::write(
        folder.file(&exercise),
        exercise.solution.as_deref().unwrap(),
    )
    .unwrap();
    with(&["check"]).ended(0);
    with(&["solution"])
        .refused(&["07-row-sum: expected a solution, found none, because this is a handout"]);
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
