//! The CUDA exercises. Without NVRTC the command suggests the PTX sibling, and the rest of the test is
//! skipped.

use std::fs;

use classroom::source::Edit;
use classroom::{Exercise, Language};

use crate::nvrtc;
use crate::run::{Folder, Run, changed, exercises, finish_awaited, named};

/// Checks a text; returns `None` without NVRTC.
fn check(folder: &Folder, exercise: &Exercise, text: &str) -> Option<Run> {
    fs::write(folder.file(exercise), text).unwrap();
    let run = folder.run(&["check"]);
    if nvrtc::is_missing(&run.stderr, &format!("the exercise {}", exercise.id)) {
        let sibling = exercise.spec.sibling.as_deref().unwrap();
        run.refused(&[&format!("; exercise {sibling} covers the same topic")]);
        return None;
    }
    Some(run)
}

/// Returns the check's verdict on a text as JSON.
fn verdict(folder: &Folder, exercise: &Exercise, text: &str) -> Run {
    fs::write(folder.file(exercise), text).unwrap();
    let file = folder.file(exercise).display().to_string();
    let seed = rand::random::<u32>().to_string();
    finish_awaited(&mut folder.command(&[
        "verdict",
        exercise.name(),
        &file,
        "--limit",
        "10",
        "--seed",
        &seed,
    ]))
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
        let starter = check(&folder, exercise, &exercise.starter).unwrap();
        // Buffers are named as in the file.
        assert!(starter.ended(1).contains(": y[0"), "{}", starter.stdout);
        let bank = exercise.bank().unwrap();
        let with = |what: &str, replace: String, with: String, expected: &str| {
            let text = Edit { replace, with }
                .apply(solution, &exercise.id)
                .unwrap();
            let run = verdict(&folder, exercise, &text);
            assert!(run.ended(0).starts_with(expected), "{what}: {}", run.stdout);
        };
        for wrong in bank.wrong {
            let expected = format!("{{\"passed\":false,\"by\":\"{}\",", wrong.caught_by);
            with(&wrong.what, wrong.replace, wrong.with, &expected);
        }
        for right in bank.right {
            with(&right.what, right.replace, right.with, "{\"passed\":true,");
        }
    }
}

/// A compiler error names its line like any finding.
#[test]
fn a_compilers_error_has_its_line() {
    let (folder, exercise) = (Folder::new(), named("warp-max-cuda"));
    folder.run(&["start", "warp-max-cuda"]).ended(0);
    let wrong = changed(
        &exercise,
        "__shfl_xor_sync(0xffffffff",
        "__shfl_xor(0xffffffff",
    );
    let at = 1 + wrong
        .lines()
        .position(|l| l.contains("__shfl_xor("))
        .unwrap();
    if let Some(run) = check(&folder, &exercise, &wrong) {
        let place = format!("my-exercises/23-warp-max-cuda.cu:{at}: error: ");
        assert!(run.ended(1).starts_with(&place), "{}", run.stdout);
    }
}

/// The output of `printf` is shown below the verdict, and a finding names places in the learner's own file.
#[test]
fn printf_of_a_kernel_is_shown_and_locations_are_short() {
    let (folder, exercise) = (Folder::new(), named("warp-max-cuda"));
    folder.run(&["start", "warp-max-cuda"]).ended(0);
    let max = "    max = fmaxf(max, row[column]);\n";
    let prints = changed(
        &exercise,
        max,
        &format!("{max}    if (column == 0) printf(\"row %d\\n\", blockIdx.x);\n"),
    );
    let Some(run) = check(&folder, &exercise, &prints) else {
        return;
    };
    let (_, said) = run
        .ended(0)
        .split_once("23-warp-max-cuda: passed\n")
        .unwrap();
    assert!(
        said.starts_with("it printed:\n    row 0\n    row 1\n"),
        "{said}"
    );
    let loops = "  for (int bit = 16;";
    let races = changed(
        &exercise,
        loops,
        &format!(
            "  __shared__ float all[32];\n  all[threadIdx.x] = value;\n  value += 0 * all[31 - threadIdx.x];\n  printf(\"here\\n\");\n{loops}"
        ),
    );
    let run = check(&folder, &exercise, &races).unwrap();
    let line = run.ended(1).lines().next().unwrap();
    assert!(line.contains(": race: "), "{line}");
    assert_eq!(
        line.matches("my-exercises/23-warp-max-cuda.cu:").count(),
        2,
        "{line}"
    );
    assert_eq!(line.matches("23-warp-max-cuda.cu").count(), 2, "{line}");
    let folder = folder.path("").display().to_string();
    assert!(!line.contains(folder.trim_end_matches('/')), "{line}");
    assert!(run.stdout.contains("\nit printed"), "{}", run.stdout);
}
