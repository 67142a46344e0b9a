//! A learner's commands.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use classroom::page::quoted;
use classroom::{Language, Learner};

use crate::run::{Folder, changed, exercises, finish, named};

#[test]
fn all_exercises_are_listed() {
    let folder = Folder::new();
    let run = folder.run(&[]);
    // Without NVRTC there is one more line.
    let lines = run
        .ended(0)
        .lines()
        .filter(|line| !line.contains(": skipped, because NVRTC"));
    assert_eq!(lines.count(), exercises().len() + 1);
    assert_eq!(run.stdout, folder.run(&["list"]).stdout);
    let own = folder.path("").canonicalize().unwrap().join("my-exercises");
    let place = format!(" solved, in {}; ", quoted(&own));
    assert!(run.stdout.contains(&place), "{place}: {}", run.stdout);
    for exercise in exercises() {
        assert!(run.stdout.contains(exercise.name()), "{}", exercise.id);
    }
    assert!(
        !folder.path("my-exercises").exists(),
        "a list writes nothing"
    );
}

/// The list, `start` and the next exercise use one order, that of the numbers.
#[test]
fn there_is_one_order() {
    let folder = Folder::new();
    let order = ["01", "02", "03", "04", "05", "06", "07", "08"];
    let exercises = exercises();
    assert!(exercises.iter().map(|e| e.number()).is_sorted());
    let list = folder.run(&["list"]);
    let listed = list.ended(0).lines().take(8).map(|line| &line[2..4]);
    assert_eq!(listed.collect::<Vec<_>>(), order);
    let mut learner = Learner::open(&folder.path("my-exercises")).unwrap();
    for number in order {
        let started = folder.run(&["start"]);
        assert!(started.ended(0).starts_with(number), "{}", started.stdout);
        let exercise = exercises.iter().find(|e| e.number() == number).unwrap();
        learner.pass(exercise).unwrap();
    }
}

#[test]
fn from_the_start_to_the_next_exercise() {
    let folder = Folder::new();
    let first = &exercises()[0];
    let run = folder.run(&["start"]);
    assert!(run.ended(0).contains(&first.spec.title), "{}", run.stdout);
    let file = folder.file(first);
    assert_eq!(fs::read_to_string(&file).unwrap(), first.starter);

    let run = folder.run(&["check"]);
    let place = format!("my-exercises/{}:", first.file());
    assert!(run.ended(1).starts_with(&place), "{}", run.stdout);

    fs::write(&file, first.solution.as_deref().unwrap()).unwrap();
    let run = folder.run(&["check"]);
    assert!(
        run.ended(0).starts_with(&format!("{}: passed\n", first.id)),
        "{}",
        run.stdout
    );
    assert!(
        folder
            .run(&["list"])
            .stdout
            .contains(&format!("✓ {}", first.number()))
    );

    let second = &exercises()[1];
    assert!(folder.run(&["start"]).ended(0).contains(&second.spec.title));
    assert!(folder.file(second).is_file());
    // An existing file is not overwritten.
    fs::write(folder.file(second), "mine").unwrap();
    folder.run(&["start"]).ended(0);
    assert_eq!(fs::read_to_string(folder.file(second)).unwrap(), "mine");
}

/// The next exercise follows the one that was solved, not the one that was started last; then the first open one.
#[test]
fn the_next_one_follows_the_one_just_solved() {
    let folder = Folder::new();
    let solve = |name: &str| {
        let exercise = named(name);
        folder.run(&["start", name]).ended(0);
        folder.run(&["start", "transpose"]).ended(0);
        fs::write(
            folder.file(&exercise),
            exercise.solution.as_deref().unwrap(),
        )
        .unwrap();
        folder.run(&["check", name]).ended(0).to_owned()
    };
    let said = solve("guard");
    assert!(said.contains(" start 08` for 08 columns.\n"), "{said}");
    let mut learner = Learner::open(&folder.path("my-exercises")).unwrap();
    let later = exercises().into_iter().filter(|e| e.number() > "08");
    later.for_each(|e| learner.pass(&e).unwrap());
    let said = solve("columns");
    assert!(said.contains(" start 01` for 01 causality.\n"), "{said}");
}

/// One line names the file, the line, the finding, the thread and the sizes.
#[test]
fn a_finding_has_its_line() {
    let folder = Folder::new();
    let exercise = named("row-argmax");
    folder.run(&["start", "9"]).ended(0);
    let wrong = changed(
        &exercise,
        "    bar.sync        0;\n    setp.lt.u32     %active, %thread, %stride;",
        "    setp.lt.u32     %active, %thread, %stride;",
    );
    fs::write(folder.file(&exercise), &wrong).unwrap();
    let run = folder.run(&["check", "row-argmax"]);
    let line = run.ended(1).lines().next().unwrap();
    let at = wrong
        .lines()
        .position(|l| l.contains("st.shared.u32   [%mine]"))
        .unwrap()
        + 1;
    assert!(
        line.starts_with(&format!(
            "my-exercises/09-row-argmax.ptx:{at}: race: thread "
        )),
        "{line}"
    );
    assert!(
        line.contains("| st.shared.u32 [%mine], %best; (at columns = "),
        "{line}"
    );
}

/// The same seed gives the same numbers, another seed others.
#[test]
fn a_check_can_be_repeated() {
    let folder = Folder::new();
    folder.run(&["start", "row-argmax"]).ended(0);
    let check = |seed: &str| folder.run(&["check", "--seed", seed]).ended(1).to_owned();
    assert_eq!(check("1"), check("1"));
    assert_ne!(check("1"), check("2"));
}

#[test]
fn outside_of_the_regions_nothing_may_change() {
    let folder = Folder::new();
    let exercise = named("row-argmax");
    folder.run(&["start", "row-argmax"]).ended(0);
    let wrong = changed(&exercise, "partial[128]", "partial[256]");
    fs::write(folder.file(&exercise), &wrong).unwrap();
    let run = folder.run(&["check"]);
    let at = wrong
        .lines()
        .position(|l| l.contains("partial[256]"))
        .unwrap()
        + 1;
    let expected = format!(
        "my-exercises/09-row-argmax.ptx:{at}: expected `.shared .align 4 .u32 partial[128];` as in the starter \
         (nothing may change outside the regions), found `.shared .align 4 .u32 partial[256];`\n"
    );
    assert!(run.ended(1).starts_with(&expected), "{}", run.stdout);
}

/// rustc's error for code that does not compile; the check's for code that does.
#[test]
fn rust_that_does_not_compile_and_rust_that_is_wrong() {
    let folder = Folder::new();
    let exercise = named("swiglu");
    folder.run(&["start", "swiglu"]).ended(0);
    let run = folder.run(&["check"]);
    let place = "my-exercises/02-swiglu.rs: swiglu at T = ";
    assert!(run.ended(1).starts_with(place), "{}", run.stdout);
    fs::write(
        folder.file(&exercise),
        changed(&exercise, "gate.silu()? * up", "gate.silu()? * down"),
    )
    .unwrap();
    let run = folder.run(&["check"]);
    let place = "my-exercises/02-swiglu.rs:";
    assert!(
        run.ended(1).starts_with(place) && run.stdout.contains("`down`"),
        "{}",
        run.stdout
    );
    // The whole error, with the code and what the compiler advises.
    fs::write(
        folder.file(&exercise),
        changed(&exercise, "gate.silu()? * up", "gate.silu()? * upp"),
    )
    .unwrap();
    let run = folder.run(&["check"]);
    let code = "\n    15 |     gate.silu()? * upp\n       |                    ^^^";
    assert!(run.ended(1).contains(code), "{}", run.stdout);
    assert!(run.stdout.contains("help: "), "{}", run.stdout);
    assert!(
        run.stdout.contains("--> my-exercises/02-swiglu.rs:15:20\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn hints_come_one_after_the_other() {
    let folder = Folder::new();
    let exercise = named("guard");
    folder.run(&["start", "guard"]).ended(0);
    for (shown, number) in [(1, 1), (2, 2), (3, 3), (4, 3)] {
        let run = folder.run(&["hint"]);
        let hint = &exercise.spec.hints[number - 1];
        let text = run.ended(0);
        let expected = if shown == 4 {
            format!("No more hints for 07-guard; the last was: {hint}\n")
        } else {
            format!("Hint {number} of 3 for 07-guard: {hint}\n")
        };
        assert!(text.starts_with(&expected), "{text}");
        let last = text.contains("exercises solution 07 --reveal` shows a solution");
        assert_eq!(last, number == 3, "{text}");
    }
    assert!(
        folder
            .run(&["hint", "row-argmax"])
            .ended(0)
            .starts_with("Hint 1 of 3 for 09-row-argmax")
    );
}

#[test]
fn a_reset_keeps_what_was_written() {
    let folder = Folder::new();
    let exercise = named("guard");
    folder.run(&["start", "guard"]).ended(0);
    fs::write(folder.file(&exercise), "mine").unwrap();
    folder.run(&["reset"]).ended(0);
    assert_eq!(
        fs::read_to_string(folder.file(&exercise)).unwrap(),
        exercise.starter
    );
    assert_eq!(folder.read("my-exercises/07-guard.ptx.old"), "mine");
    folder.run(&["reset"]).ended(0);
    assert_eq!(folder.read("my-exercises/07-guard.ptx.old"), "mine");
}

/// A limit on the size of files is like a full disk: the starter cannot be written.
#[cfg(target_os = "linux")]
#[test]
fn a_failed_reset_leaves_what_was_written() {
    let folder = Folder::new();
    let exercise = named("guard");
    folder.run(&["start", "guard"]).ended(0);
    fs::write(folder.file(&exercise), "mine").unwrap();
    let mut command = std::process::Command::new("sh");
    let limited = "ulimit -f 0; exec \"$@\"";
    command.args(["-c", limited, "sh", env!("CARGO_BIN_EXE_workbook")]);
    command
        .args(["exercises", "reset"])
        .current_dir(folder.path(""));
    finish(&mut command).refused(&["cannot write", "07-guard.ptx", "file too large"]);
    assert_eq!(fs::read_to_string(folder.file(&exercise)).unwrap(), "mine");
    let names = fs::read_dir(folder.path("my-exercises")).unwrap();
    let is_left = |name: &str| name.contains(".old") || name.starts_with(".partial");
    let mut names = names.map(|entry| entry.unwrap().file_name());
    assert!(!names.any(|name| is_left(&name.to_string_lossy())));
}

/// After a reset, list and check agree that the exercise is unsolved.
#[test]
fn a_reset_takes_the_pass_back() {
    let folder = Folder::new();
    let exercise = named("guard");
    folder.run(&["start", "guard"]).ended(0);
    fs::write(
        folder.file(&exercise),
        exercise.solution.as_deref().unwrap(),
    )
    .unwrap();
    folder.run(&["check"]).ended(0);
    let is_solved = || folder.run(&["list"]).ended(0).contains("✓ 07 guard");
    assert!(is_solved());
    // A later failure does not undo the pass, and the check says so.
    fs::write(folder.file(&exercise), &exercise.starter).unwrap();
    let run = folder.run(&["check"]);
    assert!(
        run.ended(1).contains("(07-guard still counts as solved, "),
        "{}",
        run.stdout
    );
    assert!(is_solved());
    let reset = folder.run(&["reset"]);
    assert!(
        reset
            .ended(0)
            .ends_with("07-guard no longer counts as solved\n"),
        "{}",
        reset.stdout
    );
    assert!(!is_solved());
    let run = folder.run(&["check"]);
    assert!(
        run.ended(1).contains("(07-guard is not solved yet; "),
        "{}",
        run.stdout
    );
    let again = folder.run(&["reset"]);
    assert!(
        again.ended(0).ends_with("already is the starter\n"),
        "{}",
        again.stdout
    );
}

#[test]
fn the_solution_comes_after_a_pass_or_when_asked_for_outright() {
    let folder = Folder::new();
    let exercise = named("guard");
    let solution = exercise.solution.as_deref().unwrap();
    folder.run(&["start", "guard"]).ended(0);
    folder
        .run(&["solution"])
        .refused(&["07-guard: not solved yet; pass `--reveal`"]);
    assert_eq!(folder.run(&["solution", "--reveal"]).ended(0), solution);
    fs::write(folder.file(&exercise), solution).unwrap();
    folder.run(&["check"]).ended(0);
    assert_eq!(folder.run(&["solution"]).ended(0), solution);
    for _ in &exercise.spec.hints[1..] {
        folder.run(&["hint", "guard"]).ended(0);
    }
    let last = folder.run(&["hint", "guard"]);
    let last = last.ended(0);
    assert!(last.contains("solution 07` shows a solution"), "{last}");
}

/// Nothing runs before predictions are written.
#[test]
fn an_optimisation_is_predicted_first() {
    let folder = Folder::new();
    folder.run(&["start", "tile-without-reuse"]).ended(0);
    let run = folder.run(&["check"]);
    assert!(
        run.ended(1).contains(
            "loads: expected your prediction first (one of more, same, fewer), found nothing"
        ),
        "{}",
        run.stdout
    );
    let exercise = named("tile-without-reuse");
    fs::write(
        folder.file(&exercise),
        changed(&exercise, "// wavefronts = 64", "// wavefronts = 60"),
    )
    .unwrap();
    let run = folder.run(&["check"]);
    assert!(
        run.ended(1)
            .contains("predictions: expected all 5 to be right, found 4;"),
        "{}",
        run.stdout
    );
    // First predictions are kept, whatever follows.
    let wrong = changed(&exercise, "// wavefronts = 64", "// wavefronts = 61");
    fs::write(folder.file(&exercise), wrong).unwrap();
    let run = folder.run(&["check"]);
    let said = " as the simulator counts), found `61`";
    assert!(run.ended(1).contains(said), "{}", run.stdout);
    fs::write(folder.file(&exercise), exercise.solution.unwrap()).unwrap();
    let run = folder.run(&["check"]);
    let said = "wavefronts = 64: counted 64 (you first said 60)\n";
    assert!(run.ended(0).contains(said), "{}", run.stdout);
}

/// A check takes at most three seconds once the library is in the page cache.
#[test]
fn a_check_is_soon_done() {
    let folder = Folder::new();
    for name in ["row-argmax", "transpose", "row-in-registers", "swiglu"] {
        folder.run(&["start", name]).ended(0);
        let solution = named(name).solution.unwrap();
        fs::write(folder.file(&named(name)), solution).unwrap();
        folder.run(&["check"]).ended(0);
        let start = Instant::now();
        folder.run(&["check"]).ended(0);
        assert!(
            start.elapsed() < Duration::from_secs(3),
            "{name}: {:?}",
            start.elapsed()
        );
    }
}

/// Suggested commands work for a folder of another name, too.
#[test]
fn another_folder_is_named_in_the_next_command() {
    let folder = Folder::new();
    let run = folder.run(&["start", "--dir", "mine"]);
    assert!(
        run.ended(0).contains(" exercises --dir mine check`"),
        "{}",
        run.stdout
    );
    assert!(folder.path("mine/01-causality.rs").is_file());
    folder.run(&["handout", "out"]).ended(0);
    let run = folder.run(&["--exercises", "out", "start", "transpose"]);
    let command = " exercises --exercises out check`";
    assert!(run.ended(0).contains(command), "{}", run.stdout);
}

/// A closed pipe, as by `| head`, is no error.
#[test]
fn a_reader_that_is_gone_is_no_fault() {
    let folder = Folder::new();
    let (stdout, stderr) = (Stdio::piped(), Stdio::piped());
    let mut command = folder.command(&["list"]);
    let mut child = command.stdout(stdout).stderr(stderr).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    assert!(ended.status.success());
}

/// A task is printed for a terminal: no fences, no comments, and commands for the learner's folder.
#[test]
fn a_task_can_be_followed_as_it_is_printed() {
    let folder = Folder::new();
    let run = folder.run(&["--dir", "mine", "start", "two-copies"]);
    let task = run.ended(0);
    assert!(task.contains("sim mine/12-two-copies.ptx"), "{task}");
    assert!(!task.contains("```") && !task.contains("<!--"), "{task}");
}

/// The learner's folder is found from inside it and from folders next to it.
#[test]
fn the_folder_is_found_from_within() {
    let folder = Folder::new();
    folder.run(&["start", "row-argmax"]).ended(0);
    fs::create_dir_all(folder.path("deep/er")).unwrap();
    for (from, shown) in [
        ("my-exercises", "./09-row-argmax.ptx:"),
        ("deep/er", "../../my-exercises/09-row-argmax.ptx:"),
    ] {
        let output = folder
            .command(&["check"])
            .current_dir(folder.path(from))
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.starts_with(shown), "{from}: {said}");
    }
    assert!(!folder.path("my-exercises/my-exercises").exists());
}

#[test]
fn a_second_reset_keeps_what_the_first_has_kept() {
    let folder = Folder::new();
    let exercise = named("row-argmax");
    folder.run(&["start", "row-argmax"]).ended(0);
    for (text, kept) in [
        ("first", "09-row-argmax.ptx.old"),
        ("second", "09-row-argmax.ptx.old.2"),
    ] {
        fs::write(folder.file(&exercise), text).unwrap();
        assert!(folder.run(&["reset"]).ended(0).contains(kept));
    }
    assert_eq!(folder.read("my-exercises/09-row-argmax.ptx.old"), "first");
    assert_eq!(
        folder.read("my-exercises/09-row-argmax.ptx.old.2"),
        "second"
    );
}

/// A file name names its exercise, ignoring case.
#[test]
fn an_exercise_has_several_names() {
    let folder = Folder::new();
    let files = ["07-guard.ptx", "my-exercises/07-guard.ptx"];
    for name in ["7", "07", "Guard", "07-guard"].into_iter().chain(files) {
        let run = folder.run(&["start", name]);
        assert!(
            run.ended(0).starts_with("07 One thread per element"),
            "{name}"
        );
    }
}

/// Without NVRTC, CUDA exercises are skipped with a note.
#[test]
fn without_nvrtc_the_way_goes_on() {
    let folder = Folder::new();
    let without = |args: &[&str]| {
        let mut command = folder.command(args);
        finish(command.env("CUDA_HOME", folder.path("none")))
    };
    let in_rust = exercises()
        .into_iter()
        .filter(|e| e.language != Language::Cuda);
    let mut learner = Learner::open(&folder.path("my-exercises")).unwrap();
    for exercise in in_rust.filter(|e| e.name() != "four-warps") {
        learner.start(&exercise).unwrap();
        learner.pass(&exercise).unwrap();
    }
    let started = without(&["start", "warp-max-cuda"]);
    let said = "It cannot be checked here, because NVRTC is not installed; ";
    assert!(started.ended(0).contains(said), "{}", started.stdout);
    let other = "Check it with";
    assert!(!started.stdout.contains(other), "{}", started.stdout);
    assert!(
        started
            .stdout
            .contains("; exercise prefix-sum covers the same topic"),
        "{}",
        started.stdout
    );
    without(&["check"]).refused(&[
        "expected NVRTC",
        " exercises start` goes on to the next exercise",
    ]);
    let next = without(&["start"]);
    assert!(next.ended(0).starts_with("24 "), "{}", next.stdout);
    assert!(next.stdout.contains("23 warp-max-cuda"), "{}", next.stdout);
    learner.pass(&named("four-warps")).unwrap();
    for command in ["start", "watch", "list"] {
        let run = without(&[command]);
        let said = run.ended(0);
        assert!(
            said.contains("16 tiled-matmul-cuda, 18 register-tile-cuda, "),
            "{said}"
        );
        assert!(said.contains("35 gemv-cuda: skipped"), "{said}");
    }
}

/// After a pass, predictions are shown next to counted values, for both kernels.
#[test]
fn a_pass_shows_what_was_counted() {
    let folder = Folder::new();
    let exercise = named("tile-without-reuse");
    folder.run(&["start", "tile-without-reuse"]).ended(0);
    let solution = exercise.solution.as_deref().unwrap();
    fs::write(folder.file(&exercise), solution).unwrap();
    let run = folder.run(&["check"]);
    for line in [
        "wavefronts = 64: counted 64\n",
        "instructions = more: counted ",
        " in direct\n",
    ] {
        assert!(run.ended(0).contains(line), "{}", run.stdout);
    }
}

/// A path must be the learner's file.
#[test]
fn a_file_is_named_by_its_path() {
    let (folder, guard) = (Folder::new(), named("guard"));
    folder.run(&["start", "row-argmax"]).ended(0);
    folder.run(&["start", "transpose"]).ended(0);
    let path = "my-exercises/09-row-argmax.ptx";
    assert!(folder.run(&["check", path]).ended(1).starts_with(path));
    assert!(
        folder
            .run(&["hint", path])
            .ended(0)
            .contains("09-row-argmax")
    );
    assert!(folder.run(&["reset", path]).ended(0).starts_with(path));
    let run = folder.run(&["solution", "--reveal", "./my-exercises/07-guard.ptx"]);
    assert_eq!(run.ended(0), guard.solution.unwrap());
    folder.write("other/09-row-argmax.ptx", "");
    folder.run(&["check", "other/09-row-argmax.ptx"]).refused(&[
        "expected a file in my-exercises, or `--dir other`, found a file in another folder",
    ]);
}

/// Commands in messages can be pasted: with the repository's alias if cargo knows it, and a short seed.
#[test]
fn messages_have_commands_to_paste() {
    let folder = Folder::new();
    folder.run(&["start", "row-argmax"]).ended(0);
    let last = |folder: &Folder| {
        let said = folder.run(&["check"]).ended(1).to_owned();
        said.lines().last().unwrap().to_owned()
    };
    let begin = "(09-row-argmax is not solved yet; `cargo";
    assert!(
        last(&folder).starts_with(&format!(
            "{begin} run --release -p workbook -- exercises hint 09`"
        )),
        "{}",
        last(&folder)
    );
    folder.write("exercises/prelude/Cargo.toml", "");
    folder.write(".cargo/config.toml", "");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../exercises");
    let said = folder
        .run(&["--exercises", root, "check"])
        .ended(1)
        .to_owned();
    let command = format!("cargo ex --exercises {root} check 09 --seed ");
    let (_, seed) = said.split_once(&command).unwrap();
    let seed: u64 = seed.split('`').next().unwrap().parse().unwrap();
    assert!(u32::try_from(seed).is_ok(), "{said}");
}

/// The alias in messages is the repository's.
#[test]
fn the_alias_is_there() {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cargo/config.toml");
    let config = fs::read_to_string(config).unwrap();
    assert!(config.contains("\nex = \"run --release -p workbook -- exercises\"\n"));
}
