//! Wrong kernels and wrong Rust code are rejected with one line that names the place.

use std::fs;

use crate::fixture::{Learner, Ran};
use crate::nvrtc;
use crate::solutions::{MEAN, RMS_NORM, cuda, ptx};

/// Edits of the kernel, and parts of the line that rejects each.
const KERNELS: [(&str, &str, &str, &[&str]); 14] = [
    (
        "no guard of the first sweep",
        "    setp.ge.u32 %done, %i, %c;\n    @%done bra summed;",
        "    setp.gt.u32 %done, %i, %c;\n    @%done bra summed;",
        &["rms_norm.ptx:35:", "`ld.global.f32`", "px"],
    ),
    (
        "no guard of the second sweep",
        "    @%done bra end;",
        "    setp.ge.u32 %done, %i, 512;\n    @%done bra end;",
        &["rms_norm.ptx:70: norm_linear: out-of-bounds: `ld.global.f32`"],
    ),
    (
        "no barrier in the tree",
        "tree:\n    bar.sync 0;",
        "tree:",
        &[
            "rms_norm.ptx:43: norm_linear: race: `st.shared.f32`",
            "no barrier orders them",
        ],
    ),
    (
        "no barrier after the tree",
        "    @%active bra tree;\n    bar.sync 0;",
        "    @%active bra tree;",
        &[
            "rms_norm.ptx:55: norm_linear: race: `ld.shared.f32`",
            "which is written by thread 0 of block 0 in line 51: no barrier orders them",
        ],
    ),
    (
        "a barrier that some threads miss",
        "    ld.shared.f32 %sum, [sums];",
        "    setp.ge.u32 %done, %t, 40;\n    @%done ret;\n    bar.sync 0;\n    ld.shared.f32 %sum, [sums];",
        &[
            "rms_norm.ptx:58: norm_linear: barrier-divergence: `bar.sync`",
            "returned without reaching the barrier",
        ],
    ),
    (
        "half of the tree",
        "mov.u32 %stride, 32;",
        "mov.u32 %stride, 16;",
        &["ops.rs:48: norm_linear: element"],
    ),
    (
        "no eps",
        "    add.f32 %scale, %scale, %eps;",
        "",
        &["ops.rs:48: norm_linear: element"],
    ),
    (
        "the mean of the wrong count",
        "cvt.rn.f32.u32 %count, %c;",
        "mov.f32 %count, 0f42800000;",
        &["ops.rs:48: norm_linear: element"],
    ),
    (
        "the root is not inverted",
        "    rcp.rn.f32 %scale, %scale;",
        "",
        &["ops.rs:48: norm_linear: element"],
    ),
    (
        "the weight of the first columns",
        "    add.u64 %w, %w, 256;",
        "",
        &["ops.rs:48: norm_linear: element"],
    ),
    (
        "a step of 32 columns",
        "    add.u64 %to, %to, 256;",
        "    add.u64 %to, %to, 128;",
        &["rms_norm.ptx:73: norm_linear: ", ": `st.global.f32`"],
    ),
    (
        "the row of the output is missing",
        "    add.u64 %y, %y, %off;",
        "    add.u64 %y, %y, %at;",
        &["rms_norm.ptx:73: norm_linear: ", ": `st.global.f32`"],
    ),
    (
        "an endless loop that leaves its row",
        "    add.u32 %i, %i, 64;\n    bra squares;",
        "    bra squares;",
        // Its pointer leaves the row long before the loop counts as endless.
        &["rms_norm.ptx:35: norm_linear: out-of-bounds: `ld.global.f32`"],
    ),
    (
        "a word that is no instruction",
        "    fma.rn.f32 %sum",
        "    fmaa.rn.f32 %sum",
        &["rms_norm.ptx:36:", "fmaa"],
    ),
];

/// Checks exit code 1, no error on stderr, and one line about the method with `parts`.
fn rejected(what: &str, ran: &Ran, parts: &[&str]) -> Result<(), String> {
    let is_line = |line: &&str| line.starts_with("my-exercises/levels/mine/");
    let lines: Vec<&str> = ran.stdout.lines().filter(is_line).collect();
    match &lines[..] {
        [line] if ran.code == 1 && ran.is_quiet() => {
            let has = |part: &&str| line.contains(*part);
            let found = format!("{what}: expected {parts:?}, found {line}");
            parts.iter().all(has).then_some(()).ok_or(found)
        }
        _ => Err(format!("{what}: {ran:?}")),
    }
}

/// Fails with all that was accepted or rejected in other words.
#[track_caller]
fn none(faults: impl Iterator<Item = Result<(), String>>) {
    let faults: Vec<String> = faults.filter_map(Result::err).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn wrong_kernels_are_rejected_at_their_line() {
    let learner = ptx();
    let check = || {
        learner.run(&[
            "exercises",
            "level",
            "check",
            "mine",
            "norm_linear",
            "--seed",
            "7",
        ])
    };
    assert_eq!(check().code, 0);
    let fault = |(what, from, to, parts): (&str, &str, &str, &[&str])| {
        assert!(RMS_NORM.contains(from), "{what}");
        fs::write(
            learner.file("kernels/rms_norm.ptx"),
            RMS_NORM.replacen(from, to, 1),
        )
        .unwrap();
        rejected(what, &check(), parts)
    };
    none(KERNELS.into_iter().map(fault));
    fs::remove_file(learner.file("kernels/rms_norm.ptx")).unwrap();
    none(std::iter::once(rejected(
        "no file",
        &check(),
        &["ops.rs:", "rms_norm.ptx`: no such file"],
    )));
    fs::write(learner.file("kernels/rms_norm.ptx"), RMS_NORM).unwrap();
    assert_eq!(check().code, 0, "the kernel is right again");
}

/// Edits of the kernel in CUDA C++, and parts of the line that rejects each: the compiled PTX names the file's lines.
const IN_CUDA: [(&str, &str, &str, &[&str]); 3] = [
    (
        "one row too many",
        "i < end; ++i",
        "i <= end; ++i",
        &["kernels/mean.cu:6: segment_mean: ", ": `ld.global"],
    ),
    (
        "the mean of a graph without nodes",
        "end > first ? sum / (end - first) : 0.f",
        "sum / (end - first)",
        &["ops.rs:124: segment_mean: element", "found NaN"],
    ),
    (
        "all graphs in the first row",
        "y[(size_t)blockIdx.x * c + j]",
        "y[j]",
        &["kernels/mean.cu:7: segment_mean: race: `st.global"],
    ),
];

#[test]
fn wrong_kernels_in_cuda_are_rejected_at_their_line() {
    let learner = cuda();
    let options = ["check", "mine", "segment_mean", "--seed", "7"];
    let check = || learner.run(&[&["exercises", "level"], &options[..]].concat());
    let right = check();
    if nvrtc::is_missing(&right.stdout, "wrong kernels in CUDA of a level") {
        return;
    }
    assert_eq!(right.code, 0, "{right:?}");
    let fault = |(what, from, to, parts): (&str, &str, &str, &[&str])| {
        assert_eq!(MEAN.matches(from).count(), 1, "{what}");
        fs::write(learner.file("kernels/mean.cu"), MEAN.replace(from, to)).unwrap();
        rejected(what, &check(), parts)
    };
    none(IN_CUDA.into_iter().map(fault));
}

#[test]
fn the_approximation_of_gelu_is_recognised() {
    let learner = Learner::new();
    learner.append(&include_str!("solutions/candle.rs").replace(".gelu_erf()", ".gelu()"));
    learner.edit("Level1.norm_gelu(x, norm, up)", "gelu_of(x, norm, up)");
    let ran = learner.run(&["exercises", "level", "check", "mine", "norm_gelu"]);
    let parts = [
        "norm_gelu: element ",
        "; looks like the tanh approximation of GELU, but the models use erf (",
    ];
    none(std::iter::once(rejected("tanh", &ran, &parts)));
}

#[test]
fn wrong_code_is_rejected_and_costs_nothing_else() {
    let learner = Learner::new();
    let right = "        Level1.linear(x, w)";
    let mut faults = vec![];
    for (what, to, parts) in [
        (
            "a panic",
            "        panic!(\"of {:?}\", (x, w).0.dims())",
            &["ops.rs:44:9: linear: panicked: of [1, 1, 7]"][..],
        ),
        (
            "an error",
            "        candle_core::bail!(\"no {:?}\", (x, w).0.dims())",
            &["ops.rs:43: linear: no [1, 1, 7]"],
        ),
        (
            "NaN",
            "        Level1.linear(x, w)? * f64::NAN",
            &["ops.rs:43: linear: element 0: expected", "found NaN"],
        ),
        (
            "a shape",
            "        Level1.linear(x, w)?.unsqueeze(0)",
            &["ops.rs:43: linear: expected the shape [1, 1, 3], found [1, 1, 1, 3]"],
        ),
        (
            "a dtype",
            "        Level1.linear(x, w)?.to_dtype(candle_core::DType::F64)",
            &["linear: expected f32, found f64"],
        ),
        (
            "stdout",
            "        println!(\"here\");\n        Level1.linear(x, w)",
            &["ops.rs:43: linear: wrote to stdout", "\"here\""],
        ),
        (
            "an exit",
            "        std::process::exit((x, w).0.rank() as i32 - 3)",
            &["ops.rs:43: linear: ended early"],
        ),
        (
            "an abort",
            "        let _ = (x, w);\n        std::process::abort()",
            &["ops.rs:43: linear: ended early", "signal"],
        ),
        (
            "memory",
            "        let _ = (x, w);\n        Tensor::zeros(1 << 34, candle_core::DType::F32, &candle_core::Device::Cpu)",
            &["ops.rs:43: linear: "],
        ),
        (
            "a twin",
            "        if level_kit::on_cpu(x.device()) {\n            return Level1.linear(x, w)? * 2.;\n        }\n        Level1.linear(x, w)",
            &["ops.rs:43: linear: element 0: expected"],
        ),
        (
            "no bias",
            "        Level1.linear(x, &Linear::new(w.weight.tensor().clone(), None))",
            &["linear: element"],
        ),
    ] {
        learner.edit(right, to);
        let ran = learner.run(&["exercises", "level", "check", "mine", "--seed", "7"]);
        faults.push(rejected(what, &ran, parts));
        let ticks = ran.stdout.lines().filter(|line| line.contains("  ✓"));
        assert_eq!(
            ticks.count(),
            levels::OPS.len() - 1,
            "{what}: {}",
            ran.stdout
        );
        learner.edit(to, right);
    }
    none(faults.into_iter());
}

#[test]
fn an_endless_loop_ends_at_its_limit() {
    let learner = Learner::new();
    learner.edit(
        "Level1.linear(x, w)",
        "loop { std::hint::black_box((x, w)); }",
    );
    let options = ["check", "mine", "linear", "--limit", "1"];
    let ran = learner.run(&[&["exercises", "level"], &options[..]].concat());
    none(std::iter::once(rejected(
        "a loop",
        &ran,
        &["ops.rs:43: linear: expected it to end within 1 s, found it still running"],
    )));
}
