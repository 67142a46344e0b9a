//! Three reference solutions, which stay out of handouts: candle's ops alone; kernels in PTX and CUDA; a Rust twin.

use std::fs;

use serde_json::Value;

use crate::fixture::{Learner, Ran};
use crate::nvrtc;

/// Whether a milestone is reached, and its line.
fn state(learner: &Learner, key: &str) -> (bool, String) {
    let text = fs::read_to_string(learner.file("progress.json")).unwrap();
    let progress: Value = serde_json::from_str(&text).unwrap();
    let state = &progress[key];
    let line = state["line"].as_str().unwrap_or("not measured");
    (state["passed"] == true, line.to_owned())
}

fn check(learner: &Learner, method: &str, options: &[&str]) -> Ran {
    learner.run(&[&["exercises", "level", "check", "mine", method], options].concat())
}

#[track_caller]
fn right(ran: &Ran) {
    assert!(ran.code == 0 && ran.is_quiet(), "{ran:?}");
}

#[test]
fn candles_ops_make_fewer_steps() {
    let learner = Learner::new();
    learner.append(include_str!("solutions/candle.rs"));
    learner.edit(
        "Level1.norm_qkv(x, norm, w, heads)",
        "qkv(x, norm, w, heads)",
    );
    learner.edit("Level1.norm_gelu(x, norm, up)", "gelu_of(x, norm, up)");
    right(&check(&learner, "norm_qkv", &[]));
    right(&check(&learner, "norm_gelu", &[]));
    for method in ["norm_qkv", "norm_gelu"] {
        for kind in ["correct", "steps"] {
            assert!(
                state(&learner, &format!("{method} {kind}")).0,
                "{method} {kind}"
            );
        }
        let (reached, line) = state(&learner, &format!("{method} traffic"));
        assert!(!reached && line.contains("found none"), "{line}");
    }
    // The models run it, and give level 1's answers.
    let lm = |level| {
        learner
            .run(&["lm", "--level", level, "--max-tokens", "6"])
            .stdout
    };
    assert_eq!(lm("mine"), lm("1"));
}

/// Checks the chapter's examples.
#[test]
fn the_books_examples_are_right_and_make_fewer_steps() {
    let learner = Learner::new();
    learner.append(include_str!("solutions/swiglu.rs"));
    learner.append(include_str!("solutions/norm_twin.rs"));
    learner.edit(
        "        Level1.norm_swiglu(x, norm, gate_up)",
        "        swiglu_of(x, norm, gate_up)",
    );
    learner.edit(
        "        Level1.norm_linear(x, norm, w)",
        "        norm_linear_twin(x, norm, w)",
    );
    for method in ["norm_swiglu", "norm_linear"] {
        right(&check(&learner, method, &["--time"]));
        let (reached, line) = state(&learner, &format!("{method} steps"));
        assert!(reached, "{method}: {line}");
        let (_, line) = state(&learner, &format!("{method} faster1"));
        assert!(line.contains("times the speed of level 1 ("), "{line}");
    }
}

#[test]
fn a_kernel_in_ptx_is_right_in_the_simulator() {
    let learner = ptx();
    right(&check(&learner, "norm_linear", &[]));
    assert!(state(&learner, "norm_linear steps").0);
    let timed = check(&learner, "norm_linear", &["--time"]);
    right(&timed);
    let (reached, line) = state(&learner, "norm_linear faster1");
    let place = "my-exercises/levels/mine/src/ops.rs:48: norm_linear: faster1: expected Rust code";
    assert!(
        !reached && line.starts_with(place) && line.ends_with("a kernel, which needs a GPU"),
        "{line}"
    );
    // On a CPU without `--device sim`, too: the norm of the language model's head.
    let ran = learner.run(&["lm", "--swap", "norm_linear=mine", "--max-tokens", "3"]);
    assert!(
        ran.code == 0 && ran.stderr.contains(" and simulating your kernels)"),
        "{ran:?}"
    );
    // The note is the last line, and not in the middle of the text.
    let note = "note: kernels/rms_norm.ptx is simulated, because";
    let last = ran.stderr.lines().last();
    assert!(last.is_some_and(|line| line.starts_with(note)), "{ran:?}");
    assert_eq!(
        ran.stdout,
        learner
            .run(&["lm", "--level", "1", "--max-tokens", "3"])
            .stdout
    );
}

/// The level with the RMSNorm in PTX.
pub fn ptx() -> Learner {
    let learner = Learner::new();
    learner.edit(
        "        Level1.norm_linear(x, norm, w)",
        "        norm_linear_ptx(x, norm, w)",
    );
    learner.append(include_str!("solutions/ptx.rs"));
    fs::write(learner.file("kernels/rms_norm.ptx"), RMS_NORM).unwrap();
    learner
}

/// The kernel of [`ptx`].
pub const RMS_NORM: &str = include_str!("solutions/rms_norm.ptx");

/// The level with the mean in CUDA C++.
pub fn cuda() -> Learner {
    let learner = Learner::new();
    learner.edit(
        "        Level1.segment_mean(x, segments)",
        "        segment_mean_cuda(x, segments)",
    );
    learner.append(include_str!("solutions/cuda.rs"));
    fs::write(learner.file("kernels/mean.cu"), MEAN).unwrap();
    learner
}

/// The kernel of [`cuda`].
pub const MEAN: &str = include_str!("solutions/mean.cu");

#[test]
fn a_kernel_in_cuda_moves_the_minimum() {
    let learner = cuda();
    let progress = r#"{"segment_mean traffic": {"passed": true, "line": ""}}"#;
    fs::write(learner.file("progress.json"), progress).unwrap();
    let ran = check(&learner, "segment_mean", &[]);
    if nvrtc::is_missing(&ran.stdout, "a level's kernel in CUDA") {
        // A milestone of another terminal stays.
        assert!(state(&learner, "segment_mean traffic").0, "{ran:?}");
        assert!(ran.stdout.contains("; not checked\n"), "{ran:?}");
        return assert_eq!(ran.code, 1, "{ran:?}");
    }
    right(&ran);
    for kind in ["correct", "steps", "traffic"] {
        let (reached, line) = state(&learner, &format!("segment_mean {kind}"));
        assert!(reached, "{kind}: {line}");
    }
    // The compiler's error names file and line.
    let text = MEAN.replace("sum +=", "total +=");
    fs::write(learner.file("kernels/mean.cu"), text).unwrap();
    let ran = check(&learner, "segment_mean", &[]);
    let expected = "my-exercises/levels/mine/kernels/mean.cu:6: segment_mean: identifier \"total\" is undefined\n";
    assert!(ran.code == 1 && ran.stdout.contains(expected), "{ran:?}");
}

/// A kernel that loads x three times moves 1.14 times the minimum bytes, but candle reads the other operands.
#[test]
fn a_kernel_that_reads_one_operand_thrice_does_not_move_the_minimum() {
    let learner = Learner::new();
    learner.edit(
        "        Level1.linear_residual(x, w, residual)",
        "        copied_residual(x, w, residual)",
    );
    learner.append(include_str!("solutions/thrice.rs"));
    let text = include_str!("solutions/thrice.ptx");
    fs::write(learner.file("kernels/thrice.ptx"), text).unwrap();
    right(&check(&learner, "linear_residual", &[]));
    let (reached, line) = state(&learner, "linear_residual traffic");
    let place = "my-exercises/levels/mine/src/ops.rs:109: linear_residual: traffic: ";
    assert!(line.starts_with(place), "{line}");
    let expected = "expected kernels that read all operands, found 0 of 8192 bytes of residual read: \
                    only what kernels load and store is counted";
    assert!(!reached && line.ends_with(expected), "{line}");
}

/// The kernel moves 1.08 times the minimum bytes, reads all operands and writes all results, but computes nothing.
#[test]
fn a_kernel_that_copies_a_result_of_rust_code_does_not_move_the_minimum() {
    let learner = Learner::new();
    learner.edit("        Level1.linear(x, w)", "        copied_linear(x, w)");
    learner.append(include_str!("solutions/cheat.rs"));
    let text = include_str!("solutions/cheat.ptx");
    fs::write(learner.file("kernels/cheat.ptx"), text).unwrap();
    right(&check(&learner, "linear", &[]));
    let (reached, line) = state(&learner, "linear traffic");
    let place = "my-exercises/levels/mine/src/ops.rs:43: linear: traffic: expected kernels that compute \
                 the results, found that they do not on other operands (element 0: expected ";
    assert!(!reached && line.starts_with(place), "{line}");
    let (reached, line) = state(&learner, "linear steps");
    let place =
        "my-exercises/levels/mine/src/ops.rs:43: linear: steps: expected fewer than level 1's ";
    assert!(!reached && line.starts_with(place), "{line}");
}

/// Learners build in release, where level 3 is faster: `cargo test --release -p workbook --test level a_rust_twin`.
#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "the levels are compared as learners build them: --release"
)]
fn a_rust_twin_is_faster_than_level_3() {
    let learner = Learner::new();
    learner.append(include_str!("solutions/twin.rs"));
    learner.edit(
        "        Level1.attention(q, k, v)",
        "        attention_twin(q, k, v)",
    );
    // Other tests run meanwhile, so that a comparison may be disturbed; it is repeated.
    let mut found = String::new();
    for _ in 0..5 {
        right(&check(&learner, "attention", &["--time"]));
        let (reached, line) = state(&learner, "attention faster3");
        if reached {
            println!("attention faster3: {line}");
            return;
        }
        found = line;
    }
    panic!("{found}");
}
