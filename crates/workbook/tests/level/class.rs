//! `level report` of a learner; `level handout` and `level grade` of a class.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::fixture::{Learner, Ran};
#[cfg(target_os = "linux")]
use crate::nvrtc::skip::skip;
use crate::solutions::{RMS_NORM, ptx};

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path);
    serde_json::from_str(&text.unwrap_or_else(|e| panic!("{}: {e}", path.display()))).unwrap()
}

#[test]
fn a_report_compares_a_level_and_keeps_what_it_measured() {
    let learner = ptx();
    learner.append(include_str!("solutions/candle.rs"));
    learner.edit("Level1.norm_gelu(x, norm, up)", "gelu_of(x, norm, up)");
    let report = |options: &[&str]| {
        let command = ["exercises", "level", "report", "mine", "--samples", "1"];
        learner.run(&[&command, options].concat())
    };
    let ran = report(&["--json", "mine.json"]);
    assert!(ran.code == 0 && ran.stderr.is_empty(), "{ran:?}");
    let figures = json(&learner.folder().join("mine.json"));
    let method = |name: &str| -> Value {
        let all = figures["methods"].as_array().unwrap().iter();
        let found: Vec<&Value> = all.filter(|method| method["name"] == name).collect();
        found[0].clone()
    };
    let (kernel, candle) = (method("norm_linear"), method("norm_gelu"));
    assert_eq!(kernel["replaced"], true);
    assert!(kernel["counts"]["bytes"].as_u64() > kernel["minimum_bytes"].as_u64());
    assert_eq!(
        kernel["times"]["own_ms"],
        Value::Null,
        "a CPU times no kernel"
    );
    assert!(
        kernel["instead"]
            .as_str()
            .unwrap()
            .contains("a CPU only simulates")
    );
    assert!(candle["times"]["own_ms"].as_f64() > Some(0.));
    assert_eq!(candle["times"]["levels"].as_object().unwrap().len(), 5);
    assert_eq!(method("linear")["replaced"], false);
    let rows = figures["whole"]["results"]["rows"].as_array().unwrap();
    let own = rows.iter().filter(|row| row["system"] == "mine");
    assert_eq!(rows.len(), 6 * own.count());
    assert!(figures["machine"]["date"].is_string() && figures["whole"]["flops_per_s"].is_f64());
    let page = fs::read_to_string(learner.file("report.html")).unwrap();
    assert!(page.contains("Roofline of mine on") && page.contains("roof of an H200"));

    let again = report(&["--html", "page.html"]);
    assert!(again.stdout.starts_with("measured on 2"), "{again:?}");
    assert!(learner.folder().join("page.html").is_file());
    // A wrong method is named, and the page has the others.
    learner.edit("gelu_of(x, norm, up)", "gelu_of(x, norm, up)?.neg()");
    let wrong = report(&[]);
    let line = "my-exercises/levels/mine/src/ops.rs:119: norm_gelu: element";
    assert!(wrong.code == 1 && wrong.stdout.contains(line), "{wrong:?}");
    assert!(!wrong.stdout.contains("measured on"), "{wrong:?}");

    learner.edit("gelu_of(x, norm, up)?.neg()", "gelu_of(x, norm)");
    let refused = report(&[]);
    let line = "error: my-exercises/levels/mine/src/ops.rs:120:9: error[E0061]";
    assert!(
        refused.code == 2 && refused.stderr.starts_with(line),
        "{refused:?}"
    );
    report(&["--json", "./one", "--html", "one"]).refused(&["found the same twice"]);
    report(&["--html", "none/a.html"]).refused(&["none/a.html: expected a file in an existing"]);
}

#[test]
fn a_handout_is_a_starter_with_or_without_hints() {
    let learner = Learner::new();
    let handout =
        |options: &[&str]| learner.run(&[&["exercises", "level", "handout"], options].concat());
    let ran = handout(&["with"]);
    assert!(ran.code == 0 && ran.stderr.is_empty(), "{ran:?}");
    let text = |file: &str| fs::read_to_string(learner.folder().join(file)).unwrap();
    // It is what `new` writes, so that no solution comes along.
    let own = fs::read_to_string(learner.file("src/ops.rs")).unwrap();
    assert_eq!(text("with/mine/src/ops.rs"), own);
    assert!(text("with/mine/Cargo.toml").contains("path = \"../../../models\""));
    assert!(text("with/MILESTONES.md").contains("silu(y)"));
    handout(&["with"]).refused(&["with: expected the name of a new folder"]);

    assert_eq!(handout(&["without", "--no-hints"]).code, 0);
    let list = text("without/MILESTONES.md");
    assert!(
        list.contains("## norm_swiglu") && !list.contains("silu(y)"),
        "{list}"
    );
    let own = learner.file("");
    fs::remove_dir_all(&own).unwrap();
    fs::rename(learner.folder().join("without/mine"), &own).unwrap();
    let hint = learner.run(&["exercises", "level", "hint", "mine"]);
    hint.refused(&["levels/mine: expected hints, found a handout without hints"]);
    let check = learner.run(&["exercises", "level", "check", "mine", "linear"]);
    assert_eq!(check.code, 0, "{check:?}");
}

/// Methods that fail in eight ways, in one crate: each costs itself alone.
const FAULTS: [(&str, &str, &str); 8] = [
    (
        "Level1.linear(x, w)",
        "panic!(\"{:?}\", (x, w).0.dims())",
        "src/ops.rs:45:9: linear: panicked: [1, 1, 7]",
    ),
    (
        "Level1.norm_linear(x, norm, w)",
        "loop { std::hint::black_box((x, norm, w)); }",
        "norm_linear: expected it to end within 3 s, found it still running",
    ),
    (
        "Level1.segment_mean(x, segments)",
        "Level1.segment_mean(x, segments)? * f64::NAN",
        "segment_mean: element 0: expected",
    ),
    (
        "Level1.attention(q, k, v)",
        "Level1.attention(q, k, v)?.unsqueeze(0)",
        "attention: expected the shape",
    ),
    (
        "Level1.norm_gelu(x, norm, up)",
        "println!(\"here\");\n        Level1.norm_gelu(x, norm, up)",
        "norm_gelu: wrote to stdout",
    ),
    (
        "Level1.embedding(ids, w)",
        "std::hint::black_box(vec![1u8; 1 << 40]);\n        Level1.embedding(ids, w)",
        "embedding: ended early",
    ),
    (
        "Level1.linear_residual(x, w, residual)",
        "std::fs::write(\"/tmp/candlepower-own-level\", \"\").map_err(candle_core::Error::wrap)?;\n        Level1.linear_residual(x, w, residual)",
        "linear_residual: ",
    ),
    (
        "Level1.norm_qkv(x, norm, w, heads)",
        "let file = std::env::args().next_back().unwrap_or_default();\n        std::fs::write(file, \"[]\").map_err(candle_core::Error::wrap)?;\n        std::process::exit(0)",
        "norm_qkv: expected 9 calls, found 0",
    ),
];

#[test]
fn a_class_is_graded_whatever_its_submissions_do() {
    let ada = ptx();
    let class = ada.folder().join("class");
    let starter = fs::read_to_string(Learner::template()).unwrap();
    let write = |file: &str, text: &str| {
        let path = class.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let own = fs::read_to_string(ada.file("src/ops.rs")).unwrap();
    write("ada/my-exercises/levels/mine/src/ops.rs", &own);
    write(
        "ada/my-exercises/levels/mine/kernels/rms_norm.ptx",
        RMS_NORM,
    );
    write(
        "ada/my-exercises/levels/mine/hints.json",
        "{\"linear correct\": 2, \"linear steps\": 18446744073709551615, \"none\": 7}",
    );
    let mut faults = starter.clone();
    for (from, to, _) in FAULTS {
        assert!(faults.contains(from), "{from}");
        faults = faults.replacen(from, to, 1);
    }
    write("bob/ops.rs", &faults);
    write(
        "cyd.rs",
        &starter.replacen("Level1.linear(x, w)", "Level1.linear(x, y)", 1),
    );
    write(
        "dan/src/ops.rs",
        &(starter.clone()
            + "const N: u64 = { let mut n = 0; while n < u64::MAX { n += 1; } n };\npub fn n() -> u64 { N }\n"),
    );
    write(
        "eve.ptx",
        &RMS_NORM.replacen("    rcp.rn.f32 %scale, %scale;", "", 1),
    );
    let embedding = include_str!("solutions/embedding.rs");
    write(
        "gil/my-exercises/levels/mine/src/ops.rs",
        &(starter.replacen("Level1.embedding(ids, w)", "embedding_ptx(ids, w)", 1) + embedding),
    );
    write(
        "gil/my-exercises/levels/mine/kernels/embedding.ptx",
        include_str!("solutions/embedding.ptx"),
    );
    write("notes.txt", "");
    fs::create_dir_all(class.join("fay")).unwrap();
    let options = [
        "--limit",
        "3",
        "--seed",
        "7",
        "--out",
        "out",
        "--unsandboxed",
    ];
    let starter = ["--starter", "my-exercises/levels/mine"];
    let command = ["exercises", "level", "grade", "class"];
    let ran = ada.run(&[&command[..], &options, &starter].concat());
    graded(&ada, &ran);
}

fn graded(ada: &Learner, ran: &Ran) {
    assert_eq!(ran.code, 1, "{ran:?}");
    let stderr = ran
        .stderr
        .lines()
        .filter(|line| !line.starts_with("warning: no sandbox"));
    assert_eq!(stderr.count(), 0, "{ran:?}");
    let out = ada.folder().join("out");
    let of = |student: &str| json(&out.join(format!("students/{student}.json")));
    let reached = |student: &str| of(student)["reached"].as_u64().unwrap();
    let all = levels::OPS.len() as u64;
    // ada's kernel leaves the matmul to level 1, so that her steps are reported; gil's kernel was repeated.
    assert_eq!((reached("ada"), reached("gil")), (all, all + 2), "{ran:?}");
    let reported = |student: &str| of(student)["reported"].clone();
    assert_eq!(reported("ada")[0]["milestone"], "norm_linear steps");
    assert_eq!(reported("gil"), serde_json::json!([]));
    assert_eq!(reached("bob"), all - FAULTS.len() as u64, "{}", of("bob"));
    let methods = of("bob")["methods"].clone();
    let lines: Vec<&str> = methods
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|m| m["wrong"].as_str())
        .collect();
    for (_, _, line) in FAULTS {
        assert!(
            lines.iter().any(|wrong| wrong.contains(line)),
            "{line}: {lines:?}"
        );
    }
    for (student, line) in [
        (
            "cyd",
            "src/ops.rs:44:26: error[E0425]: cannot find value `y`",
        ),
        ("dan", "src/ops.rs:"),
        ("fay", "expected a submission, found none"),
    ] {
        let refused = of(student)["refused"].as_str().unwrap().to_owned();
        assert!(
            reached(student) == 0 && refused.starts_with(line),
            "{student}: {refused}"
        );
    }
    // The kernel takes the place of the starter's: ada's.
    let eve = of("eve")["methods"].clone();
    let wrong: Vec<&str> = eve
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|m| m["wrong"].as_str())
        .collect();
    assert!(
        wrong.len() == 1 && wrong[0].contains("norm_linear: element"),
        "{wrong:?}"
    );

    let total = json(&out.join("grades.json"));
    assert_eq!(total["submissions"].as_array().unwrap().len(), 7);
    assert!(
        total["not_graded"][0]["file"]
            .as_str()
            .unwrap()
            .ends_with("notes.txt")
    );
    assert_eq!(of("ada")["grades"][0]["hints_used"], 2 + 3);
    let xml = fs::read_to_string(out.join("junit.xml")).unwrap();
    assert!(
        xml.contains("<testsuite name=\"cyd\"") && xml.contains("type=\"compile\""),
        "{xml}"
    );
    let board = fs::read_to_string(out.join("leaderboard.md")).unwrap();
    for row in ["\n| gil | 1 | ", "\n| ada | 2 | "] {
        assert!(board.contains(row), "{row:?}: {board}");
    }
    // ada's kernel leaves the matmul to level 1, so its cost is not that of the method; gil's does all of the work.
    let (_, costs) = board.split_once("## By simulated cost\n").unwrap();
    let rows: Vec<&str> = costs.lines().filter(|row| row.contains('×')).collect();
    let [row] = rows[..] else {
        panic!("expected a row, found {rows:?}");
    };
    assert!(row.starts_with("| embedding | gil | 1 | "), "{row}");
    let ratio = row.split(" | ").nth(3).unwrap().trim_end_matches('×');
    let ratio: f64 = ratio.parse().unwrap();
    assert!((1.0..1.2).contains(&ratio), "{row}");
    // Milestones without a state have the reason and its place.
    let line = |student: &str, key: &str| {
        let graded = of(student);
        let mut grades = graded["grades"].as_array().unwrap().iter();
        let found = grades.find(|grade| grade["exercise"] == key);
        found.unwrap()["line"].as_str().unwrap().to_owned()
    };
    let wrong = line("bob", "linear steps");
    let expected = "not measured, because the method is wrong: src/ops.rs:45:9: linear: panicked";
    assert!(wrong.starts_with(expected), "{wrong}");
}

/// Counts and times that a level makes up.
#[cfg(target_os = "linux")]
const FORGER: &str = include_str!("solutions/forger.rs");

#[cfg(target_os = "linux")]
#[test]
fn a_forged_level_has_no_points_for_what_it_forged() {
    let learner = Learner::new();
    let class = learner.folder().join("class");
    fs::create_dir(&class).unwrap();
    let starter = fs::read_to_string(Learner::template()).unwrap();
    let slow = ("Level1.linear(x, w)", "Level1.linear(&x.clone(), w)");
    assert!(starter.contains(slow.0));
    let eve = starter.replacen(slow.0, slow.1, 1) + FORGER;
    fs::write(class.join("eve.rs"), eve).unwrap();
    let grade = ["exercises", "level", "grade", "class"];
    let options = ["--time", "--out", "out", "--unsandboxed"];
    let ran = learner.run(&[&grade[..], &options].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    let all = levels::OPS.len();
    // Steps of all methods but `next_token`, and the times of `linear`.
    let eve = json(&learner.folder().join("out/students/eve.json"));
    assert_eq!(
        (&eve["reached"], &eve["of"]),
        (&all.into(), &(3 * all - 1).into())
    );
    let reported = eve["reported"].as_array().unwrap();
    assert_eq!(reported.len(), all - 1 + 5, "{reported:?}");
    let mut grades = eve["grades"].as_array().unwrap().iter();
    let steps = grades.find(|grade| grade["exercise"] == "linear steps");
    let steps = steps.unwrap();
    assert_eq!(steps["passed"], false);
    let steps = steps["line"].as_str().unwrap();
    let expected =
        "linear steps: reported, not checked, because its kernels do not do all of the work: ";
    assert!(steps.starts_with(expected), "{steps}");
    let xml = fs::read_to_string(learner.folder().join("out/junit.xml")).unwrap();
    assert!(!xml.contains("faster"), "{xml}");
    let board = fs::read_to_string(learner.folder().join("out/leaderboard.md")).unwrap();
    let row = format!(
        "\n| eve | 1 | {all} / {} | {} | 1 | 100% | – |\n",
        3 * all - 1,
        all + 4
    );
    assert!(board.contains(&row), "{board}");
}

/// rustc reads the libraries for every level.
#[cfg(target_os = "linux")]
#[test]
fn a_class_that_levels_can_read_is_refused() {
    if let Err(reason) = sandbox::available() {
        return skip("a class that levels can read", &reason.to_string());
    }
    let learner = Learner::new();
    let program = std::env::current_exe().unwrap();
    let libraries = program.ancestors().nth(2).unwrap(); // target/debug, without deps
    let class = tempfile::tempdir_in(libraries).unwrap();
    fs::write(class.path().join("ada.rs"), "").unwrap();
    let class = class.path().display().to_string();
    let found = format!("found it in {}, which", libraries.display());
    learner
        .run(&["exercises", "level", "grade", &class])
        .refused(&[": expected a folder that no submission can read", &found]);
    assert!(!learner.folder().join("level-grades").exists());
}

#[test]
fn a_folder_that_is_no_class_is_refused() {
    let learner = Learner::new();
    let grade = |options: &[&str]| {
        learner.run(&[&["exercises", "level", "grade", "--unsandboxed"], options].concat())
    };
    grade(&["none"]).refused(&["none: expected a folder of students' crates"]);
    fs::create_dir(learner.folder().join("empty")).unwrap();
    grade(&["empty"]).refused(&["empty: expected a folder of students' crates", "found none"]);
    fs::write(learner.folder().join("empty/ada.rs"), "").unwrap();
    grade(&["empty", "--starter", "none"])
        .refused(&["none/src/lib.rs: expected a level of your own"]);
}
