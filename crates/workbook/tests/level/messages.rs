//! Messages of `check` and `watch`, apart from the verdict.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::fixture::{Learner, Ran};
use crate::solutions::{RMS_NORM, ptx};

fn check(learner: &Learner, method: &str) -> Ran {
    learner.run(&["exercises", "level", "check", "mine", method])
}

/// The line that begins with `Next:`, and the one below it.
fn next(ran: &Ran) -> String {
    let lines = ran
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with("Next: "));
    lines.take(2).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_next_step_is_about_the_method_that_was_checked() {
    let learner = ptx();
    fs::remove_file(learner.file("kernels/rms_norm.ptx")).unwrap();
    let wrong = check(&learner, "norm_linear");
    assert_eq!(wrong.code, 1, "{wrong:?}");
    let said = next(&wrong);
    let expected = "Next: make norm_linear right at odd sizes, in f32 and bf16, without a finding of the simulator.\n      \
                    `cargo ex level hint mine norm_linear` gives a hint; ";
    assert!(said.starts_with(expected), "{said}");
    // The fault stands there once, above.
    assert_eq!(wrong.stdout.matches("no such file").count(), 1, "{wrong:?}");
    assert!(!said.contains("no such file"), "{said}");
    fs::write(learner.file("kernels/rms_norm.ptx"), RMS_NORM).unwrap();
    let other = check(&learner, "linear");
    let said = next(&other);
    assert!(
        other.code == 0 && said.starts_with("Next: make linear take fewer steps"),
        "{other:?}"
    );
}

#[test]
fn a_kernels_hint_is_about_traffic_and_the_starters_milestones_are_counted_apart() {
    let learner = ptx();
    let ran = check(&learner, "norm_linear");
    let count = "\n2 of 111 milestones reached, and 0 that the starter has; left: 104, and 5 that need a GPU (·: not measured)\n";
    assert!(ran.stdout.contains(count), "{ran:?}");
    assert!(
        next(&ran).starts_with("Next: make norm_linear move at most"),
        "{ran:?}"
    );
    let hint = learner.run(&["exercises", "level", "hint", "mine", "norm_linear"]);
    assert!(
        hint.stdout.starts_with("norm_linear moves at most")
            || hint.stdout.contains("norm_linear move at most"),
        "{hint:?}"
    );
    let ran = check(&learner, "linear");
    let count = "\n2 of 111 milestones reached, and 1 that the starter has; left: ";
    assert!(ran.stdout.contains(count), "{ran:?}");
    // A row for the method that was named, and for no other.
    assert!(
        ran.stdout.contains("\nlinear ") && !ran.stdout.contains("\nnorm_linear "),
        "{ran:?}"
    );
}

#[test]
fn a_method_in_place_of_a_levels_name_is_explained() {
    let learner = Learner::new();
    for command in ["check", "hint"] {
        let ran = learner.run(&["exercises", "level", command, "norm_gelu"]);
        let expected = format!("norm_gelu is a method: `cargo ex level {command} mine norm_gelu`");
        ran.refused(&[&expected]);
    }
}

#[test]
fn a_check_says_what_it_checks() {
    let learner = Learner::new();
    assert_eq!(check(&learner, "linear").stderr, "checking linear …\n");
    let all = learner.run(&["exercises", "level", "check"]);
    let expected = format!("checking {} methods …\n", levels::OPS.len());
    assert_eq!(all.stderr, expected);
}

#[test]
fn the_first_hint_about_time_is_for_every_method() {
    let learner = Learner::new();
    let progress = serde_json::json!({
        "linear correct": {"passed": true, "line": ""}, "linear steps": {"passed": true, "line": ""},
    });
    fs::write(learner.file("progress.json"), progress.to_string()).unwrap();
    let hint = || {
        learner
            .run(&["exercises", "level", "hint", "mine", "linear"])
            .stdout
    };
    let first = hint();
    assert!(
        first.contains("faster than level 1") && !first.contains("kernel"),
        "{first}"
    );
    hint();
    let third = hint();
    assert!(
        third.contains("3. If the method launches a kernel: ") && !third.contains("No more"),
        "{third}"
    );
    let fourth = hint();
    assert_eq!(fourth, third + "No more hints; the last was 3.\n");
}

#[test]
fn the_last_hint_is_not_about_kernels_where_there_are_none() {
    let learner = Learner::new();
    let ran = check(&learner, "norm_gleu");
    ran.refused(&["found \"norm_gleu\"; did you mean norm_gelu?"]);
    learner.edit("Level1.linear(x, w)", "Level1.linear(x, w)? * 1.");
    fs::write(
        learner.file("progress.json"),
        r#"{"linear correct": {"passed": true, "line": ""}}"#,
    )
    .unwrap();
    let hint = || {
        learner
            .run(&["exercises", "level", "hint", "mine", "linear"])
            .stdout
    };
    let third = [hint(), hint(), hint()][2].clone();
    assert!(
        third.contains("3. Views count, too: reshape the input once, and give"),
        "{third}"
    );
}

#[test]
fn an_element_that_no_thread_wrote_and_a_kernel_that_is_not_there_are_named() {
    let learner = ptx();
    let store = "    st.global.f32";
    let first = RMS_NORM.find(store).unwrap();
    let end = first + RMS_NORM[first..].find('\n').unwrap();
    let without = [&RMS_NORM[..first], &RMS_NORM[end..]].concat();
    fs::write(learner.file("kernels/rms_norm.ptx"), without).unwrap();
    let ran = check(&learner, "norm_linear");
    let expected = "found NaN (either no thread wrote this element, or one stored NaN) (";
    assert!(ran.code == 1 && ran.stdout.contains(expected), "{ran:?}");
    let renamed = RMS_NORM.replace(".entry ", ".entry other_");
    fs::write(learner.file("kernels/rms_norm.ptx"), renamed).unwrap();
    let ran = check(&learner, "norm_linear");
    let lines = fs::read_to_string(learner.file("src/ops.rs")).unwrap();
    let at = |part: &str| 1 + lines.lines().position(|l| l.contains(part)).unwrap();
    let place = |part| {
        format!(
            "my-exercises/levels/mine/src/ops.rs:{}: norm_linear: ",
            at(part)
        )
    };
    let expected = place(".launch(\"rms_norm\")")
        + "kernels/rms_norm.ptx: expected a kernel of this file (other_";
    assert!(ran.code == 1 && ran.stdout.contains(&expected), "{ran:?}");
    fs::write(learner.file("kernels/rms_norm.ptx"), RMS_NORM).unwrap();
    learner.edit(".write(&y)", ".read(&y)");
    let ran = check(&learner, "norm_linear");
    let expected = place(".run()?") + "kernels/rms_norm.ptx: expected `write` for argument ";
    assert!(ran.code == 1 && ran.stdout.contains(&expected), "{ran:?}");
    learner.edit(".read(&y)", ".write(&y)");
    learner.edit(".u32(c).f32(*eps)", ".u32(c)");
    let ran = check(&learner, "norm_linear");
    let expected = place(".run()?") + "kernels/rms_norm.ptx: ";
    assert!(ran.code == 1 && ran.stdout.contains(&expected), "{ran:?}");
}

#[test]
fn a_check_shows_what_a_method_wrote_to_stderr() {
    let learner = Learner::new();
    let right = "        Level1.linear(x, w)";
    let wrong = "        eprintln!(\"x has {:?}\", x.dims());\n        Level1.linear(x, w)? * 2.";
    learner.edit(right, wrong);
    let ran = check(&learner, "linear");
    let last = "    stderr: x has [1, 32, 256]\n(`--seed ";
    let lines = ran.stdout.matches("    stderr: ").count();
    assert!(
        ran.code == 1 && lines == 10 && ran.stdout.contains(last),
        "{ran:?}"
    );
    let memory = "        let _ = (x, w);\n        let all: Vec<u8> = Vec::with_capacity(1 << 50);\n        candle_core::bail!(\"{:p}\", all.as_ptr())";
    learner.edit(wrong, memory);
    let ran = check(&learner, "linear");
    let expected = "out of memory (an allocation of 1125899906842624 bytes)";
    assert!(ran.code == 1 && ran.stdout.contains(expected), "{ran:?}");
    learner.append("\n#[allow(unconditional_recursion)]\nfn deep(n: &mut [u64; 512]) -> u64 {\n    let mut more = *n;\n    more[1] += 1;\n    deep(std::hint::black_box(&mut more)) + more[2]\n}\n");
    learner.edit(
        memory,
        "        let _ = (x, w);\n        candle_core::bail!(\"{}\", deep(&mut [0; 512]))",
    );
    let ran = check(&learner, "linear");
    assert!(
        ran.code == 1 && ran.stdout.contains("): stack overflow"),
        "{ran:?}"
    );
}

#[test]
fn a_check_shows_what_a_kernel_prints() {
    let learner = ptx();
    let print = "{ .reg .b64 %f; mov.u64 %f, said; cvta.global.u64 %f, %f; .param .b64 f; st.param.b64 [f], %f; .param .b64 v; \
                 st.param.b64 [v], %f; .param .b32 r; call.uni (r), vprintf, (f, v); }\nscaled:";
    let declared = ".address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);\n\
                    .global .align 1 .b8 said[4] = {104, 105, 10, 0};\n";
    let text = RMS_NORM.replacen("scaled:", print, 1);
    let text = text.replacen(".address_size 64\n", declared, 1);
    fs::write(learner.file("kernels/rms_norm.ptx"), text).unwrap();
    let ran = check(&learner, "norm_linear");
    assert_eq!(ran.code, 0, "{ran:?}");
    let line = "norm_linear: printf in rms_norm, call 1 in f32, launch 1: hi\n";
    assert_eq!(ran.stdout.matches(line).count(), 20, "{ran:?}");
    let more = "\nnorm_linear: … ";
    assert!(
        ran.stdout.contains(more) && ran.stdout.contains(" more lines of printf\n"),
        "{ran:?}"
    );
}

#[test]
fn a_fault_in_a_header_names_the_line_that_calls_it() {
    let learner = ptx();
    let wrong = RMS_NORM.replacen(
        "    @%done bra end;",
        "    setp.ge.u32 %done, %i, 512;\n    @%done bra end;\n    LOC",
        1,
    );
    let wrong = wrong.replacen(
        ".address_size 64\n",
        ".address_size 64\n.file 1 \"kernels/rows.cuh\"\n.file 2 \"kernels/norm.cu\"\n",
        1,
    );
    for (loc, caller) in [
        (
            ".loc 1 7 0, function_name $f, inlined_at 2 12 0",
            "norm.cu:12",
        ),
        (".loc 1 7 0", "rms_norm.ptx:8"),
    ] {
        let text = wrong.replace("LOC", loc);
        fs::write(learner.file("kernels/rms_norm.ptx"), text).unwrap();
        let ran = check(&learner, "norm_linear");
        let header = "my-exercises/levels/mine/kernels/rows.cuh:7: norm_linear: out-of-bounds: ";
        let caller = format!("(in code that my-exercises/levels/mine/kernels/{caller} calls)");
        assert!(
            ran.code == 1 && ran.stdout.contains(header) && ran.stdout.contains(&caller),
            "{ran:?}"
        );
    }
}

/// `level watch`, which ends with the test.
struct Watch(Child, BufReader<ChildStdout>);

impl Watch {
    fn new(learner: &Learner) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
        command.args(["exercises", "level", "watch", "mine", "--poll"]);
        command.current_dir(learner.folder());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self(child, out)
    }

    /// Its output of one pass, up to an empty line.
    fn pass(&mut self) -> String {
        let mut all = String::new();
        loop {
            let before = all.len();
            self.1.read_line(&mut all).unwrap();
            if all[before..].trim().is_empty() {
                return all;
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The seconds from a save to the verdict, which a pass of `watch` prints: `(1.2 s)`.
fn seconds(pass: &str) -> f64 {
    let line = pass.lines().find_map(|line| {
        let number = line.strip_prefix('(')?.strip_suffix(" s)")?;
        number.parse().ok()
    });
    line.unwrap_or_else(|| panic!("no time in {pass}"))
}

/// Seconds after which a verdict has to be there on two cores: after an edit of Rust code, which is compiled, and of a kernel.
/// Here other tests run, too, and nothing is a release build, so that five times as long is accepted.
const AFTER_RUST: f64 = 5. * 5.;
const AFTER_PTX: f64 = 5. * 2.;

#[test]
fn a_watch_times_the_method_that_was_edited() {
    let learner = ptx();
    learner.append(include_str!("solutions/candle.rs"));
    learner.edit("Level1.norm_gelu(x, norm, up)", "gelu_of(x, norm, up)");
    let mut watch = Watch::new(&learner);
    let first = watch.pass();
    // Not of the kernel, which no CPU times.
    assert!(first.contains("timing norm_gelu …"), "{first}");
    learner.edit(
        "Level1.norm_qkv(x, norm, w, heads)",
        "qkv(x, norm, w, heads)",
    );
    let qkv = watch.pass();
    assert!(qkv.contains("norm_qkv: right, reached steps\n"), "{qkv}");
    assert!(seconds(&qkv) < AFTER_RUST, "{qkv}");
    assert!(
        qkv.contains("Next: make norm_qkv_skip take fewer steps"),
        "{qkv}"
    );
    learner.edit(
        "        gelu_of(x, norm, up)",
        "        let up = up;\n        gelu_of(x, norm, up)",
    );
    let gelu = watch.pass();
    assert!(gelu.contains("norm_gelu: right\n"), "{gelu}");
    assert!(gelu.contains("Next: make norm_qkv_skip "), "{gelu}");
    fs::write(
        learner.file("kernels/rms_norm.ptx"),
        RMS_NORM.to_owned() + "\n",
    )
    .unwrap();
    let linear = watch.pass();
    assert!(seconds(&linear) < AFTER_PTX, "{linear}");
    let expected = "norm_linear: a CPU cannot time a kernel\n";
    assert!(
        linear.contains(expected) && !linear.contains("timing"),
        "{linear}"
    );
    let expected = "norm_linear: traffic: expected kernels that read all operands, found 0 of ";
    assert!(linear.contains(expected), "{linear}");
    // Outside of all methods: the three that are replaced are checked, and no row of them changes.
    learner.append("\n// The end.\n");
    let same = watch.pass();
    assert!(
        same.contains("\n3 methods as before\n") || same.starts_with("3 methods as before\n"),
        "{same}"
    );
    assert!(
        !same.contains("milestones reached") && !same.contains(": traffic: "),
        "{same}"
    );
    learner.edit("gelu_of(x, norm, up)", "gelu_of(x, norm, up)?.neg()");
    let fault = watch.pass();
    assert_eq!(
        fault.matches("norm_gelu: element 0: ").count(),
        1,
        "{fault}"
    );
    assert!(fault.contains("norm_gelu: wrong\n"), "{fault}");
    learner.edit("gelu_of(x, norm, up)?.neg()", "gelu_of(y, norm, up)");
    let wrong = watch.pass();
    assert!(
        wrong.contains("ops.rs:") && wrong.contains("error[E0425]: cannot find value `y`"),
        "{wrong}"
    );
    assert!(
        wrong.contains(" |         gelu_of(y, norm, up)\n"),
        "{wrong}{}",
        watch.pass()
    );
}

/// Numbers and texts in the files of a level, which may come from somebody else.
#[test]
fn files_of_a_level_say_nothing_impossible() {
    let learner = Learner::new();
    let hint = || learner.run(&["exercises", "level", "hint", "mine", "linear"]);
    let first = hint();
    let key = fs::read_to_string(learner.file("hints.json")).unwrap();
    let many = key.replace('1', &u64::MAX.to_string());
    fs::write(learner.file("hints.json"), many).unwrap();
    let last = hint();
    assert!(first.code == 0 && last.code == 0, "{last:?}");
    assert!(
        last.stdout.ends_with("No more hints; the last was 3.\n"),
        "{last:?}"
    );
    fs::write(learner.file("hints.json"), key.replace('1', "-1")).unwrap();
    hint().refused(&["levels/mine/hints.json: invalid value: integer `-1`"]);
    fs::write(learner.file("hints.json"), "{}").unwrap();
    let state = r#"{"linear correct": {"passed": false, "line": "\u001b[2J"}, "none": {"passed": true, "line": ""}}"#;
    fs::write(learner.file("progress.json"), state).unwrap();
    let check = learner.run(&["exercises", "level", "check", "mine", "embedding"]);
    let kept = fs::read_to_string(learner.file("progress.json")).unwrap();
    assert!(
        check.code == 0 && !check.stdout.contains('\u{1b}'),
        "{check:?}"
    );
    assert!(
        kept.contains("linear correct") && !kept.contains("\"none\""),
        "{kept}"
    );
}
