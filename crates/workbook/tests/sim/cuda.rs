//! `.cu` files in the simulator. Without NVRTC, an error says how to install it, and tests that need it are
//! skipped.

use crate::nvrtc;
use crate::run::{Folder, Run, command, finish};

const KERNEL: &str = "\
__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] = fmaxf(2.f * x[i], -INFINITY);
}
";

/// Simulates a kernel in CUDA; returns `None` without NVRTC.
fn sim(folder: &Folder, text: &str) -> Option<Run> {
    let file = folder.write("scale.cu", text);
    let run = finish(command(&[
        &file,
        "--entry",
        "scale",
        "--arg",
        "f32:30:iota",
        "--arg",
        "i32:30",
    ]));
    if nvrtc::is_missing(&run.stderr, "CUDA files in `workbook sim`") {
        assert_eq!(run.code, Some(2));
        return None;
    }
    Some(run)
}

#[test]
fn cuda_is_compiled_with_its_lines() {
    let folder = Folder::new();
    let Some(run) = sim(&folder, KERNEL) else {
        return;
    };
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let expected = format!(
        "\n{}:3: out-of-bounds: thread 30 of block 0: ",
        folder.path("scale.cu")
    );
    assert!(run.stdout.contains(&expected), "{}", run.stdout);
    assert!(
        run.stdout.contains(" | if (i <= n) x[i] = fmaxf("),
        "{}",
        run.stdout
    );
}

#[test]
fn a_finding_says_the_words_of_cuda() {
    let folder = Folder::new();
    let text = "__global__ void scale(float *x, int n) {
  __shared__ float turned[32];
  turned[threadIdx.x] = x[threadIdx.x % n];
  x[threadIdx.x % n] = turned[31 - threadIdx.x];
}
";
    let Some(run) = sim(&folder, text) else {
        return;
    };
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let expected = "no `__syncthreads()` orders them (`__syncwarp()` is enough";
    assert!(run.stdout.contains(expected), "{}", run.stdout);
    assert!(!run.stdout.contains("PTX line"), "{}", run.stdout);
}

#[test]
fn a_kernel_is_compiled_for_the_target_that_it_needs() {
    let folder = Folder::new();
    let copy = "__shared__ float s; unsigned to = __cvta_generic_to_shared(&s);
    asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;\" :: \"r\"(to), \"l\"(x));";
    let copied = format!("if (i == 0) {{ {copy} }} if (i < n)");
    let text = KERNEL.replace("if (i <= n)", &copied);
    let Some(run) = sim(&folder, &text) else {
        return;
    };
    assert_eq!(run.code, Some(0), "{}{}", run.stderr, run.stdout);
    let file = folder.path("scale.cu");
    let args = ["--arg", "f32:30:iota", "--arg", "i32:30", "--arch"];
    let for_target = |target| finish(command(&[&[file.as_str()], &args[..], &[target]].concat()));
    assert_eq!(for_target("sm_80").code, Some(0));
    for_target("sm_75").refused(&["`.target sm_80`", " (`--arch` names another)"]);
}

#[test]
fn headers_beside_the_file_are_found() {
    let folder = Folder::new();
    folder.write("bound.cuh", "constexpr int bound(int n) { return n; }\n");
    let text = KERNEL.replace("i <= n", "i < bound(n)");
    let Some(run) = sim(&folder, &format!("#include \"bound.cuh\"\n{text}")) else {
        return;
    };
    assert_eq!(run.code, Some(0), "{}{}", run.stderr, run.stdout);
}

#[test]
fn a_nested_text_does_not_end_the_process() {
    let folder = Folder::new();
    let nested = |n| {
        let two = format!("{}2.f{}", "(".repeat(n), ")".repeat(n));
        KERNEL.replace("2.f", &two)
    };
    // The compiler's stack is large enough for what is allowed.
    let minus = KERNEL.replace("2.f", &format!("{}2.f", "- ".repeat(20_000)));
    let Some(run) = sim(&folder, &minus) else {
        return;
    };
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert_eq!(sim(&folder, &nested(900)).unwrap().code, Some(1));
    let run = sim(&folder, &nested(20_000)).unwrap();
    run.refused(&["scale.cu:3: nested too deeply"]);
    let run = sim(&folder, &KERNEL.repeat(2000)).unwrap();
    run.refused(&["expected CUDA of at most 262144 bytes"]);
}

#[test]
fn messages_of_the_compiler_are_passed_on() {
    let folder = Folder::new();
    let Some(run) = sim(&folder, &KERNEL.replace("fmaxf", "fmaxg")) else {
        return;
    };
    run.refused(&["scale.cu:3: identifier \"fmaxg\" is undefined\n"]);
    let header = |name: &str| sim(&folder, &format!("#include \"{name}\"\n{KERNEL}"));
    let run = header("none.h").unwrap();
    let expected = "scale.cu:1: cannot open source file \"none.h\"; headers come from ";
    run.refused(&[expected, "CUDA_HOME", "`pip install nvidia-cuda-runtime "]);
    let run = header("my_bf16.h").unwrap();
    run.refused(&["\"my_bf16.h\"; headers come from ", "`common/vector.cuh`"]);
    let run = sim(&folder, &KERNEL.replace("int i", "uint32_t i")).unwrap();
    let expected = "scale.cu:2: identifier \"uint32_t\" is undefined; NVRTC has no `<cstdint>`";
    run.refused(&[expected, "`unsigned long long`"]);
    let run = sim(&folder, &format!("{KERNEL}int main() {{ return x; }}\n")).unwrap();
    run.refused(&[
        "scale.cu:5: ",
        "; NVRTC takes only kernels; put host code between",
    ]);
}

/// If a toolkit is named, no other one is used.
#[test]
fn without_nvrtc_a_line_says_how_to_get_it() {
    let folder = Folder::new();
    let file = folder.write("scale.cu", KERNEL);
    let mut command = command(&[&file]);
    command.env("CUDA_HOME", folder.path(""));
    let named = format!("found none in CUDA_HOME={}", folder.path(""));
    let how = "`cargo run --release -- doctor` shows how";
    finish(command).refused(&[&file, "expected NVRTC", how, &named]);
}
