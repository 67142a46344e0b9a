//! Bad input: one line that says what was expected and found, and exit code 2.

use crate::run::{Folder, sim};
use crate::{ARGS, SAXPY};

/// Runs saxpy with `more` options instead of the usual arguments.
fn refused(more: &[&str], parts: &[&str]) {
    let folder = Folder::new();
    let file = folder.write("saxpy.ptx", SAXPY);
    sim(&[&[file.as_str()], more].concat()).refused(parts);
    assert_eq!(folder.names(), ["saxpy.ptx"], "no file is left");
}

#[test]
fn texts_that_cannot_be_run() {
    sim(&[]).refused(&[
        "sim: expected a .ptx or .cu file",
        "kernels/src/gelu/level3.ptx",
        "found none",
    ]);
    sim(&["/no/such.ptx"]).refused(&["cannot read `/no/such.ptx`: no such file"]);
    let folder = Folder::new();
    let text = |text: &[u8], parts: &[&str]| {
        let file = folder.write("a.ptx", text);
        let run = sim(&[&[file.as_str()], &ARGS[..]].concat());
        run.refused(&[&[file.as_str(), "expected ", ", found "], parts].concat());
    };
    text(b"\xff\xfe", &["UTF-8 text", "offset 0"]);
    text(b"hello", &["a.ptx:1: "]);
    text(b"", &["a.ptx: expected PTX with a kernel, found none"]);
    let without = SAXPY.replace(".reg .f32 %a, %xi, %yi;", "");
    text(without.as_bytes(), &["a.ptx:", "`%a`"]);
    let other = SAXPY.replace(
        "fma.rn.f32 %yi",
        "wgmma.fence.sync.aligned;\nfma.rn.f32 %yi",
    );
    text(
        other.as_bytes(),
        &[
            "an instruction that the simulator runs",
            "`wgmma.fence.sync.aligned`",
        ],
    );
}

#[test]
fn launches_that_no_gpu_takes() {
    let with = |more: &[&str], parts: &[&str]| refused(&[more, &ARGS].concat(), parts);
    with(
        &["--block", "2048"],
        &["saxpy: block: expected 1 to 1024 threads, found 2048"],
    );
    with(&["--block", "0"], &["found 0"]);
    with(
        &["--entry", ""],
        &["--entry: expected one of saxpy, found an empty name"],
    );
    with(&["--grid", "0"], &["saxpy: grid: expected 1 to"]);
    with(&["--smem", "1000000"], &["shared memory", "1000000"]);
    with(
        &["--grid", "3", "--cluster", "2"],
        &["saxpy: grid: expected a multiple of a cluster's 2 × 1 × 1 blocks"],
    );
    with(
        &["--grid", "1,x"],
        &["--grid: expected one to three numbers", "\"1,x\""],
    );
    with(
        &["--entry", "sum"],
        &["--entry: expected one of saxpy, found sum"],
    );
    with(&["--schedule", "fair"], &["fair", "min-pc"]);
    with(&["--fuel=-1"], &["--fuel"]);
}

#[test]
fn arguments_that_are_not_the_parameters() {
    refused(
        &[],
        &[
            "saxpy: arguments: expected 4 (n: u32, a: f32, x: pointer or u64, y: pointer or u64), found 0",
        ],
    );
    let changed = |number: usize, text: &str, parts: &[&str]| {
        let mut args = ARGS;
        args[2 * number + 1] = text;
        refused(&args, parts);
    };
    changed(
        0,
        "u64:30",
        &["saxpy: n: expected a 32-bit integer (u32), found u64"],
    );
    changed(
        0,
        "f32:30",
        &["saxpy: n: expected a 32-bit integer (u32), found f32"],
    );
    changed(1, "u32:30", &["saxpy: a: expected f32, found u32"]);
    changed(
        2,
        "f32:30",
        &["saxpy: x: expected a buffer or a 64-bit integer (u64), found f32"],
    );
    changed(
        2,
        "f32:30:rnd",
        &["--arg f32:30:rnd: expected random, zeros", "\"rnd\""],
    );
    changed(
        2,
        "f32:30:none.npy",
        &["none.npy: expected a readable file, found no such file"],
    );
    changed(
        3,
        "same:1",
        &["--arg same:1: expected the number of an argument before it"],
    );
}

/// Two outputs in one file, and an output that replaces an input, also by way of a link.
#[test]
fn outputs_that_are_other_files() {
    let folder = Folder::new();
    let file = folder.write("saxpy.ptx", SAXPY);
    let array = folder.write("a.npy", "an input");
    let with = |more: &[&str], part: &str| {
        sim(&[&[file.as_str()], more, &ARGS].concat()).refused(&[part]);
    };
    let [other, input] = [folder.path("./saxpy.ptx"), format!("f32:{array}")];
    with(&["--json", &other], "expected another file than the inputs");
    with(&["--json", &array, "--arg", &input], "than the inputs");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), SAXPY);
    #[cfg(unix)]
    {
        let [same, link] = ["same", "link"].map(|name| folder.path(name));
        std::os::unix::fs::symlink("same", &link).unwrap();
        with(&["--json", &same, "--trace", &link], "the same twice");
        let names = ["a.npy", "link", "saxpy.ptx"];
        assert_eq!(folder.names(), names, "no file is written");
    }
}

#[test]
fn outputs_that_cannot_be() {
    let with = |more: &[&str], parts: &[&str]| refused(&[more, &ARGS].concat(), parts);
    with(
        &["--json", "/no/such/folder/a.json"],
        &["/no/such/folder/a.json", "no such folder"],
    );
    with(&["--trace", "/"], &["/: expected the name of a file"]);
    with(
        &["--dump", "y.npy"],
        &["--dump: expected K:FILE.npy", "y.npy"],
    );
    with(
        &["--dump", "2:"],
        &["--dump: expected K:FILE.npy", "found 2:"],
    );
    with(
        &["--dump", "1:/tmp/y.npy"],
        &["--dump: expected the number of a buffer (2, 3), found 1"],
    );
    with(&["--dump", "9:/tmp/y.npy"], &["(2, 3), found 9"]);
    with(&["--trace-warp", "1"], &["--trace"]);
    with(
        &["--trace", "/tmp/t.json", "--trace-steps", "30000000"],
        &["--trace-steps: expected at most 1000000, found 30000000"],
    );
    with(
        &["--trace", "/tmp/t.json", "--trace-warp", "1"],
        &["--trace-warp: expected a number below 1"],
    );
    with(
        &["--trace", "/tmp/t.json", "--trace-block", "0,1"],
        &["--trace-block", "[1, 1, 1]", "0,1"],
    );
}

/// Also where the fuel would last for hours.
#[test]
fn a_launch_beyond_its_time_limit_is_refused() {
    let ptx = SAXPY.replace("    ret;", "    bra end;");
    assert_ne!(ptx, SAXPY);
    let folder = Folder::new();
    let file = folder.write("endless.ptx", ptx);
    let fuel = u64::MAX.to_string();
    let args = [&[&file, "--limit", "1", "--fuel", &fuel][..], &ARGS].concat();
    sim(&args).refused(&["--limit: expected a launch that ends within 1 second "]);
}

/// Escapes in a kernel's output, and in names of files in it, do not act on a terminal.
#[test]
fn escapes_are_shown() {
    let ptx = "\
.version 7.0
.target sm_75
.address_size 64
.file 1 \"\u{1b}[2Ja\u{202e}.cu\"
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .b8 text[6] = {27, 91, 50, 74, 10, 0};
.visible .entry k(.param .u64 p)
{
.reg .b64 %d<3>;
.reg .b32 %r<3>;
.loc 1 5 0
mov.u64 %d1, text;
mov.u64 %d2, 0;
{
.param .b64 a;
.param .b64 b;
.param .b32 r;
st.param.b64 [a], %d1;
st.param.b64 [b], %d2;
call (r), vprintf, (a, b);
}
ld.global.u32 %r1, [0];
ret;
}
";
    let folder = Folder::new();
    let run = sim(&[&folder.write("a.ptx", ptx), "--arg", "u64:0"]);
    assert!(run.stdout.contains("\\u{1b}[2J\n"), "{}", run.stdout);
    assert!(
        run.stdout.contains("\\u{1b}[2Ja\\u{202e}.cu"),
        "{}",
        run.stdout
    );
    let shown = run.stdout + &run.stderr;
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
}
