//! `level new`, `--level mine` and `--swap norm_qkv=mine`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::fixture::{Learner, Ran};
use crate::nvrtc;
use crate::solutions::ptx;

#[test]
fn a_new_level_compiles_and_gives_the_answers_of_level_1() {
    let learner = Learner::new();
    let lm = |options: &[&str]| {
        let ran = learner.run(&[&["lm", "--max-tokens", "6"], options].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran
    };
    let one = lm(&["--level", "1"]);
    let mine = lm(&["--level", "mine"]);
    assert_eq!(mine.stdout, one.stdout);
    assert!(
        mine.stderr.starts_with("mine, tiny, f32, cpu"),
        "{}",
        mine.stderr
    );
    let swapped = lm(&["--level", "4", "--swap", "norm_qkv=mine,linear_residual=2"]);
    let expected = "level 4 with norm_qkv=mine,linear_residual=2, tiny";
    assert!(swapped.stderr.starts_with(expected), "{}", swapped.stderr);
}

#[test]
fn the_comparison_has_a_row_of_it() {
    let learner = Learner::new();
    let ran = learner.run(&[
        "compare",
        "--level",
        "mine",
        "--samples",
        "1",
        "--model",
        "vit",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let row = ran.stdout.lines().find(|line| line.contains(" mine "));
    assert!(
        row.is_some_and(|row| row.contains("your own") && row.contains('×')),
        "{ran:?}"
    );
}

#[test]
fn the_comparison_on_a_cpu_has_level_1_in_place_of_a_kernel() {
    let learner = ptx();
    let options = ["--level", "mine", "--samples", "1", "--model", "lm"];
    let ran = learner.run(&[&["compare"], &options[..]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let sentence = "The whole models run level 1's norm_linear here: it is a kernel, which a CPU only simulates.";
    assert_eq!(ran.stdout.matches(sentence).count(), 1, "{ran:?}");
    assert!(!ran.stderr.contains("is simulated"), "{ran:?}");
}

#[test]
fn a_level_with_another_answer_is_not_compared() {
    let learner = Learner::new();
    learner.edit(
        "Level1.linear_residual(x, w, residual)",
        "Level1.linear(x, w)",
    );
    let ran = learner.run(&[
        "compare",
        "--level",
        "mine",
        "--samples",
        "1",
        "--model",
        "vit",
    ]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let line = "\nmy-exercises/levels/mine/src/ops.rs:109: linear_residual: element 0: expected ";
    assert!(ran.stdout.contains(line), "{ran:?}");
    let row = "\n  not compared: mine: wrong in linear_residual\n";
    assert!(ran.stdout.contains(row), "{ran:?}");
    // The other levels have their rows.
    for level in ["  1 ", "  2 ", "  3 ", "  4 ", "  5 "] {
        let mut rows = ran.stdout.lines().filter(|row| row.contains('×'));
        assert!(rows.any(|row| row.contains(level)), "{level}: {ran:?}");
    }
    assert!(!ran.stdout.contains("your own"), "{ran:?}");
}

/// Code of a learner in place of a result, and the line about it in a comparison.
#[test]
fn the_comparison_survives_a_level_that_panics_or_loops() {
    for (code, line) in [
        ("panic!(\"{:?}\", x.dims())", "panicked: ["),
        (
            "loop { std::hint::black_box((x, w)); }",
            "expected it to end within 20 s",
        ),
        (
            "println!(\"here\");\n        Level1.linear(x, w)",
            "wrote to stdout",
        ),
    ] {
        let learner = Learner::new();
        learner.edit("Level1.linear(x, w)", code);
        let ran = learner.run(&["--level", "mine", "--samples", "1", "--model", "vit"]);
        let row = "\n  not compared: mine: wrong in linear\n";
        assert!(ran.code == 1 && ran.stdout.contains(row), "{ran:?}");
        let place = ran
            .stdout
            .lines()
            .find(|line| line.contains("src/ops.rs:4"));
        assert!(place.is_some_and(|it| it.contains(line)), "{line}: {ran:?}");
        assert!(ran.is_quiet_but_for_progress(), "{ran:?}");
    }
}

/// The check has no call with ten images.
const AT_TEN: &str = "if q.dim(0)? == 10 {
            panic!(\"ten\");
        }
        Level1.attention(q, k, v)";

#[test]
fn a_panic_in_a_whole_model_is_one_line() {
    let learner = Learner::new();
    learner.edit("Level1.attention(q, k, v)", AT_TEN);
    let place = "my-exercises/levels/mine/src/ops.rs:90:13: panicked: ten";
    let ran = learner.run(&["--level", "mine", "--samples", "1", "--model", "vit"]);
    let row = format!("\n  not compared: mine: batch10: {place}\n");
    assert!(ran.code == 1 && ran.stdout.contains(&row), "{ran:?}");
    assert!(ran.is_quiet_but_for_progress(), "{ran:?}");

    let report = ["exercises", "level", "report", "mine", "--samples", "1"];
    let ran = learner.run(&report);
    let line = format!("Not compared: vit: mine: batch10: {place}");
    assert!(ran.stdout.contains(&line), "{ran:?}");
    let page = fs::read_to_string(learner.file("report.html")).unwrap();
    assert!(page.contains(&line), "{page}");

    learner.edit("if q.dim(0)? == 10", "if q.dim(0)? > 0");
    let ran = learner.run(&["vit", "--level", "mine"]);
    let line = format!("error: {place} (`cargo ex level check mine` tests the methods)\n");
    assert!(ran.code == 1 && ran.stderr.ends_with(&line), "{ran:?}");
    assert!(!ran.stderr.contains("RUST_BACKTRACE"), "{ran:?}");
}

/// The process of the comparison ends with the level; the page has the other levels.
#[test]
fn a_report_without_a_comparison_has_the_reason() {
    let learner = Learner::new();
    let abort = AT_TEN.replace("panic!(\"ten\")", "std::process::exit(3)");
    learner.edit("Level1.attention(q, k, v)", &abort);
    let ran = learner.run(&["exercises", "level", "report", "mine", "--samples", "1"]);
    let line = "Not compared: my-exercises/levels/mine/src/ops.rs: whole models: ended early";
    assert!(ran.stdout.contains(line), "{ran:?}");
    let page = fs::read_to_string(learner.file("report.html")).unwrap();
    assert!(page.contains(line) && page.contains("level 5"), "{page}");
}

#[test]
fn a_profile_shows_its_ops() {
    let learner = Learner::new();
    let profile = |options: &[&str]| {
        let command = ["profile", "--model", "lm", "--workload", "decode"];
        learner.run(&[&command[..], &["--samples", "1"], options].concat())
    };
    let ran = profile(&["--level", "mine", "--csv", "mine.csv"]);
    assert!(ran.code == 0 && ran.stderr.is_empty(), "{ran:?}");
    assert!(ran.stdout.contains("\nlm tiny, mine, decode: "), "{ran:?}");
    let csv = fs::read_to_string(learner.folder().join("mine.csv")).unwrap();
    assert!(csv.contains("lm,tiny,mine,f32,decode,norm_qkv,"), "{csv}");
    profile(&["--level", "other"]).refused(&["level other: expected a level of your own"]);
    let swapped = profile(&["--level", "3", "--swap", "norm_qkv=mine"]);
    assert_eq!(swapped.code, 0, "{swapped:?}");
}

/// The program of level 4, which cargo builds, compiles a level, too, and its kernels in CUDA.
#[test]
fn an_example_swaps_a_method_in() {
    let learner = Learner::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = |swap: &str| {
        let mut command = cli::own::cargo();
        command.current_dir(learner.folder());
        command.args(["run", "--quiet", "--manifest-path"]);
        command.arg(root.join("Cargo.toml"));
        let options = ["-p", "level4", "--example", "lm", "--", "--max-tokens", "4"];
        command.args(options).args(["--swap", swap]);
        Ran::from(command.output().unwrap())
    };
    let two = example("norm_qkv=2");
    assert_eq!(two.code, 0, "{two:?}");
    let mine = example("norm_qkv=mine");
    assert_eq!((mine.code, &mine.stdout), (0, &two.stdout), "{mine:?}");
    assert!(
        mine.stderr.contains("level 4 with norm_qkv=mine"),
        "{mine:?}"
    );
    learner.append(include_str!("solutions/copy.rs"));
    learner.edit(
        "        Level1.embedding(ids, w)",
        "        copied(&Level1.embedding(ids, w)?)",
    );
    fs::write(
        learner.file("kernels/copy.cu"),
        include_str!("solutions/copy.cu"),
    )
    .unwrap();
    let copied = example("embedding=mine");
    if !nvrtc::is_missing(&copied.stderr, "a level's kernel in CUDA in an example") {
        assert_eq!(
            (copied.code, &copied.stdout),
            (0, &two.stdout),
            "{copied:?}"
        );
    }
}

#[test]
fn errors_of_the_compiler_have_their_place_and_their_text() {
    let learner = Learner::new();
    learner.edit("Level1.linear(x, w)", "Level1.linear(y, w)");
    let place =
        "error: my-exercises/levels/mine/src/ops.rs:44:23: error[E0425]: cannot find value `y`";
    let text = "\n  --> my-exercises/levels/mine/src/ops.rs:44:23\n";
    let shown = "\n44 |         Level1.linear(y, w)\n";
    for command in [
        &["lm", "--level", "mine"][..],
        &["vit", "--swap", "linear=mine"],
        &["exercises", "level", "check"],
        &["exercises", "level", "check", "mine", "embedding"],
    ] {
        let ran = learner.run(command);
        assert!(ran.code == 2 && ran.stderr.starts_with(place), "{ran:?}");
        let once = |part: &str| ran.stderr.matches(part).count() == 1;
        assert!(once(text) && once(shown) && !once("errors)"), "{ran:?}");
    }
    learner.edit("Level1.attention(q, k, v)", "Level1.attention(q, k)");
    let ran = learner.run(&["exercises", "level", "check"]);
    let has = |part: &str| ran.stderr.contains(part);
    let line = ran.stderr.lines().next().unwrap_or_default();
    assert!(
        ran.code == 2 && line.starts_with("error: my-exercises/"),
        "{ran:?}"
    );
    assert!(has(text) && has("argument #3"), "{ran:?}");
    assert!(ran.stderr.ends_with("\n(2 errors)\n"), "{ran:?}");
    learner.edit("Level1.attention(q, k)", "Level1.attention(q, k, v)");
    learner.edit("Level1.linear(y, w)", "Level1.linear(x, w)");
    assert_eq!(learner.run(&["vit", "--level", "mine"]).code, 0);
    fs::write(learner.file("src/lib.rs"), "mod ops;\n").unwrap();
    let ran = learner.run(&["lm", "--level", "mine"]);
    let line = ran.stderr.lines().next().unwrap_or_default();
    let expected = "error: my-exercises/levels/mine/src/lib.rs: expected `pub fn ops() ->";
    assert!(ran.code == 2 && line.starts_with(expected), "{ran:?}");
    assert!(line.contains("error[E0423]"), "{ran:?}");
}

#[test]
fn a_level_that_is_not_there_is_named() {
    let learner = Learner::new();
    let expected = "level other: expected a level of your own (`cargo ex level new other` makes one), or a number from 1 to 5";
    learner
        .run(&["lm", "--level", "other"])
        .refused(&[expected]);
    learner
        .run(&["gnn", "--swap", "attention=other"])
        .refused(&[expected]);
    learner.run(&["compare", "--level", "3"]).refused(&[
        "--level: expected the name of a level of your own",
        "found 3",
    ]);
    let again = learner.run(&["exercises", "level", "new", "mine"]);
    again.refused(&[
        "levels/mine: expected a new folder",
        "found one that exists",
    ]);
    for name in [
        "level6", "my-level", "Mine", "", "models", "a/b", "fn", "yield", "core", "9x",
    ] {
        let refused = learner.run(&["exercises", "level", "new", name]);
        let expected = "NAME: expected lowercase letters, digits and `_` after a lowercase letter";
        refused.refused(&[expected]);
    }
    let elsewhere = ["exercises", "--dir", "elsewhere", "level", "check", "mine"];
    learner.run(&elsewhere).refused(&["elsewhere/levels/mine"]);
    let levels = learner.file("..").read_dir().unwrap();
    assert_eq!(levels.count(), 1, "nothing is written");
}

/// The crate is there, and not compiled yet, when the first command is killed.
#[test]
fn a_level_whose_command_was_killed_is_made_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let new = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
        command.args(["exercises", "level", "new", "mine"]);
        command.current_dir(folder.path());
        command
    };
    let level = folder.path().join("my-exercises/levels/mine");
    let mut first = new().stdout(Stdio::null()).spawn().unwrap();
    while !level.exists() {
        assert!(first.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(1));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let again = Ran::from(new().output().unwrap());
    assert!(
        again.code == 0 && again.stdout.contains("is level 1 now"),
        "{again:?}"
    );
    let left = level.read_dir().unwrap();
    let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    // Made now, or changed before it was: it stays as it is.
    Ran::from(new().output().unwrap()).refused(&["levels/mine: expected a new folder"]);
    for file in [".candlepower-unfinished", "src/ops.rs"] {
        fs::write(level.join(file), "").unwrap();
    }
    Ran::from(new().output().unwrap()).refused(&["levels/mine: expected a new folder"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_rustc_cannot_name_gets_no_level() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join(OsStr::from_bytes(b"a\xff"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
    command.args(["exercises", "level", "new", "mine", "--dir"]);
    let ran = Ran::from(command.arg(&dir).output().unwrap());
    ran.refused(&["--dir: expected a path in UTF-8"]);
    assert!(!dir.exists());
}
