//! Tests of `workbook sim`.

mod book;
mod cuda;
mod files;
#[path = "../shared/nvrtc.rs"]
mod nvrtc;
mod refused;
mod run;
#[path = "../shared/slashes.rs"]
mod slashes;
mod terminal;

use run::{Folder, sim};

/// y = a·x + y over n elements, for a block of 32 threads; the guard is correct.
const SAXPY: &str = include_str!("saxpy.ptx");

const ARGS: [&str; 8] = [
    "--arg",
    "u32:30",
    "--arg",
    "f32:2",
    "--arg",
    "f32:30:iota",
    "--arg",
    "f32:30:1",
];

#[test]
fn a_right_kernel_has_no_findings() {
    let folder = Folder::new();
    let file = folder.write("saxpy.ptx", SAXPY);
    let run = sim(&[&[file.as_str()], &ARGS[..]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.ends_with("\nno findings\n"), "{}", run.stdout);
    assert!(
        run.stdout
            .starts_with("saxpy: grid 1 × 1 × 1, block 32 × 1 × 1\n")
    );
    assert_eq!(run.stderr, "");
}

/// Each finding is one line with class, thread, buffer and instruction.
#[test]
fn a_wrong_kernel_has_a_line_a_finding() {
    let folder = Folder::new();
    let file = folder.write("wrong.ptx", SAXPY.replace("setp.ge.u32", "setp.gt.u32"));
    let run = sim(&[&[file.as_str()], &ARGS[..]].concat());
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let findings: Vec<&str> = run
        .stdout
        .lines()
        .filter(|l| l.starts_with(&file))
        .collect();
    assert_eq!(findings.len(), 3, "{}", run.stdout);
    let expected = "out-of-bounds: thread 30 of block 0: read of 4 bytes at byte 120 of x (f32:30), \
                    which has 120 bytes | ld.global.f32 %xi, [%at];";
    assert!(findings[0].ends_with(expected), "{}", findings[0]);
    let line = SAXPY
        .lines()
        .position(|l| l.contains("%xi, [%at]"))
        .unwrap()
        + 1;
    assert!(findings[0].starts_with(&format!("{file}:{line}: ")));
    assert!(run.stdout.ends_with("\n3 findings\n"));
    assert_eq!(run.stderr, "");
}

/// A finding names the source line, and shows it if the file is next to the PTX.
#[test]
fn the_source_is_named_and_shown() {
    let folder = Folder::new();
    let located = SAXPY
        .replace("setp.ge.u32", "setp.gt.u32")
        .replace(
            "    ld.global.f32 %xi",
            "    .loc 1 2 5\n    ld.global.f32 %xi",
        )
        .replace(".visible", ".file 1 \"/nowhere/saxpy.cu\"\n.visible");
    let file = folder.write("saxpy.ptx", located);
    let run = sim(&[&[file.as_str()], &ARGS[..]].concat());
    assert!(
        run.stdout.contains("\n/nowhere/saxpy.cu:2 (PTX line "),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains(" | ld.global.f32 %xi, [%at];\n"),
        "{}",
        run.stdout
    );
    let source = folder.write("saxpy.cu", "// saxpy\n  y[i] = a * x[i] + y[i];\n");
    let run = sim(&[&[file.as_str()], &ARGS[..]].concat());
    assert!(
        run.stdout.contains(&format!("\n{source}:2 (PTX line ")),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains(" | y[i] = a * x[i] + y[i];\n"),
        "{}",
        run.stdout
    );
}

/// Costs by line: 30 of 32 lanes active after the guard, 4 sectors per request.
#[test]
fn lines_have_costs() {
    let folder = Folder::new();
    let file = folder.write("saxpy.ptx", SAXPY);
    let run = sim(&[&[file.as_str(), "--lines"], &ARGS[..]].concat());
    let row = |text: &str| {
        let found = run.stdout.lines().find(|line| line.ends_with(text));
        let words = found.unwrap().split_whitespace();
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    let load = row("ld.global.f32 %xi, [%at];");
    assert_eq!(load[1..4], ["1", "30.0", "4/4"], "{}", run.stdout);
}

/// A launch that is too small leaves elements unwritten: how many, and the first.
#[test]
fn unwritten_results_are_named() {
    let folder = Folder::new();
    let file = folder.write("saxpy.ptx", SAXPY);
    let last_line = |y: &str, more: &[&str]| {
        let mut args = ARGS;
        (args[1], args[5], args[7]) = ("u32:33", "f32:33:iota", y);
        let run = sim(&[&[file.as_str()], more, &args[..]].concat());
        assert_eq!(run.code, Some(0), "{}", run.stdout);
        let lines: Vec<String> = run.stdout.lines().map(str::to_owned).collect();
        lines[lines.len() - 2].clone()
    };
    let changed =
        "  y: 31 of 33 elements changed; 1.000 3.000 5.000 7.000 9.000 11.000 13.000 15.000 …";
    assert_eq!(last_line("f32:33:1", &[]), changed);
    let dump = folder.path("y.npy");
    let wrote = format!("wrote y to {dump}");
    assert_eq!(
        last_line("f32:33:1", &["--dump", &format!("3:{dump}")]),
        wrote
    );

    // All bits set is what `poison` is filled with, and a value that a kernel may write.
    let ones = SAXPY.replace("ld.global.f32 %yi, [%to];", "mov.f32 %yi, 0fFFFFFFFF;");
    let ones = ones.replace("fma.rn.f32", "// fma.rn.f32");
    let file = folder.write("ones.ptx", ones);
    let args = |n| {
        let args = ["--arg", n, "--arg", "f32:1", "--arg", "f32:33:iota"];
        [&[file.as_str()], &args[..], &["--arg", "u32:33:poison"]].concat()
    };
    let run = sim(&args("u32:30"));
    let written = "  y: 30 of 33 elements written, first missing 30; 4294967295 4294967295 ";
    assert!(run.stdout.contains(written), "{}", run.stdout);

    // Without the costs, only what is missing is shown.
    let quiet = |n| sim(&[&args(n)[..], &["--quiet", "--grid", "2"]].concat()).stdout;
    let missing = quiet("u32:30");
    assert!(missing.starts_with(written), "{missing}");
    assert!(missing.ends_with(" …\nno findings\n"), "{missing}");
    assert_eq!(quiet("u32:33"), "no findings\n");
}

#[test]
fn a_seed_means_the_same_numbers() {
    let folder = Folder::new();
    let file = folder.write("saxpy.ptx", SAXPY);
    let drawn = |seed: &str| {
        let y = folder.path("y.npy");
        let dump = format!("3:{y}");
        let args = [
            file.as_str(),
            "--seed",
            seed,
            "--dump",
            &dump,
            "--arg",
            "u32:4",
            "--arg",
            "f32:1",
            "--arg",
            "f32:4:zeros",
            "--arg",
            "f32:4:random",
        ];
        assert_eq!(sim(&args).code, Some(0));
        std::fs::read(y).unwrap()
    };
    assert_eq!(drawn("1"), drawn("1"));
    assert_ne!(drawn("1"), drawn("2"));
}

/// Under each schedule, and out of fuel.
#[test]
fn schedules_and_fuel() {
    let folder = Folder::new();
    let file = folder.write("saxpy.ptx", SAXPY);
    for schedule in ["post-dominator", "min-pc", "max-pc", "random"] {
        let options = ["--schedule", schedule, "--serial"];
        let run = sim(&[&[file.as_str()], &options[..], &ARGS].concat());
        assert_eq!(run.code, Some(0), "{schedule}: {}", run.stdout);
    }
    let run = sim(&[&[file.as_str(), "--fuel", "5"], &ARGS[..]].concat());
    assert_eq!(run.code, Some(1));
    let expected = ": endless: thread 0 of block 0: still running after 5 instructions";
    assert!(run.stdout.contains(expected), "{}", run.stdout);
    let endless = SAXPY.replace(
        "    ld.param.u32",
        "again:\n    bra again;\n    ld.param.u32",
    );
    assert_ne!(endless, SAXPY);
    let file = folder.write("endless.ptx", endless);
    let run = sim(&[&[file.as_str(), "--quiet", "--grid", "1000"], &ARGS[..]].concat());
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let expected = ": endless: thread 0 of block 0: still running after 20000000 instructions";
    assert_eq!(run.stdout.matches(expected).count(), 1, "{}", run.stdout);
}
