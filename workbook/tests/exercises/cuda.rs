//! The exercise in CUDA, where NVRTC is found; where it is not, one line names its sibling.

use std::fs;

use classroom::source::Edit;
use classroom::spec::Wrong;
use classroom::{Exercise, Language};

use crate::run::{Folder, Run, exercises};

/// Checks a text; `None`, and a line that says so, where there is no compiler.
fn check(folder: &Folder, exercise: &Exercise, text: &str) -> Option<Run> {
    fs::write(folder.file(exercise), text).unwrap();
    let run = folder.run(&["check"]);
    if run.stderr.contains("expected NVRTC") {
        let sibling = exercise.spec.sibling.as_deref().unwrap();
        run.refused(&["the exercise", sibling, "is about the same and needs none"]);
        eprintln!("skipped: {}: {}", exercise.id, run.stderr);
        return None;
    }
    Some(run)
}

#[test]
fn solutions_pass_and_wrong_ones_are_rejected() {
    for exercise in exercises().iter().filter(|e| e.language == Language::Cuda) {
        let folder = Folder::new();
        folder.run(&["start", exercise.name()]).ended(0);
        let solution = exercise.solution.as_deref().unwrap();
        let Some(run) = check(&folder, exercise, solution) else {
            return;
        };
        run.ended(0);
        check(&folder, exercise, &exercise.starter)
            .unwrap()
            .ended(1);
        for wrong in exercise.bank().unwrap().wrong {
            let Wrong {
                what,
                replace,
                with,
                caught_by,
            } = wrong;
            let text = Edit { replace, with }
                .apply(solution, &exercise.id)
                .unwrap();
            fs::write(folder.file(exercise), text).unwrap();
            let file = folder.file(exercise).display().to_string();
            let run = folder.run(&["verdict", exercise.name(), &file, "--limit", "10"]);
            let expected = format!("{{\"passed\":false,\"by\":\"{caught_by}\",");
            assert!(
                run.ended(0).starts_with(&expected),
                "{what}: {}",
                run.stdout
            );
        }
    }
}
