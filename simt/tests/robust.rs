//! Any text and launch gives a report or an error, without a panic or a hang, and within the memory limit of
//! the options.
//!
//! `SIMT_FUZZ_SECONDS=600 cargo test --release -p simt --test robust -- --nocapture` mutates the workbook's
//! kernels for that time; without the variable it takes one second. `fuzz/` does the same with libFuzzer.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use simt::case::files_below;
use simt::{Arg, Buffer, Dim, Error, Kernel, Module, Options, Report, Schedule};

#[path = "robust/mutate.rs"]
mod mutate;

/// Small limits, so that any run takes milliseconds.
fn limits(schedule: Schedule) -> Options {
    Options {
        fuel: 3_000,
        launch_fuel: 20_000,
        memory: 16 << 20,
        schedule,
        seed: 1,
        parallel: false,
        ..Options::default()
    }
}

/// The workbook's PTX texts.
fn corpus() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = vec![];
    for folder in ["tests", "../kernels"] {
        let files = files_below(&root.join(folder), &["ptx"]).unwrap();
        all.extend(files.iter().map(|path| fs::read_to_string(path).unwrap()));
    }
    assert!(all.len() > 100, "{} texts", all.len());
    all
}

/// Arguments of the right size: buffers for 8-byte parameters, small numbers for the others.
fn arguments(kernel: &Kernel) -> (Vec<Buffer>, Vec<Arg>) {
    let mut buffers = vec![];
    let mut args = vec![];
    for (name, bytes) in kernel.params() {
        match bytes {
            8 => {
                args.push(Arg::Buffer(buffers.len()));
                buffers.push(Buffer::u32s(name, &[1; 256]));
            }
            n => args.push(Arg::Bytes(
                (0..n).map(|i| if i == 0 { 16 } else { 0 }).collect(),
            )),
        }
    }
    (buffers, args)
}

/// Parses a text and launches its kernels; returns the number of reports.
fn run(text: &str, schedule: Schedule) -> usize {
    let Ok(module) = Module::parse(text) else {
        return 0;
    };
    let names: Vec<&str> = module.entries().collect();
    let kernels = names.iter().filter_map(|name| module.kernel(name).ok());
    let dim = Dim {
        grid: [2, 1, 1],
        block: [48, 1, 1],
        smem: 64,
    };
    let launch = |kernel: Kernel| {
        let (mut buffers, args) = arguments(&kernel);
        let report = kernel.launch(dim, &mut buffers, &args, &limits(schedule));
        report.ok().map(|report| report.findings.len())
    };
    kernels.filter_map(launch).count()
}

const SCHEDULES: [Schedule; 4] = [
    Schedule::PostDominator,
    Schedule::MinPc,
    Schedule::MaxPc,
    Schedule::Random,
];

#[test]
fn mutated_kernels() {
    let seconds = std::env::var("SIMT_FUZZ_SECONDS").map_or(1, |s| s.parse().unwrap());
    let seed = std::env::var("SIMT_FUZZ_SEED").map_or(0, |s| s.parse().unwrap());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let corpus = corpus();
    let start = Instant::now();
    let (mut texts, mut reports, mut slowest) = (0, 0, Duration::ZERO);
    while start.elapsed() < Duration::from_secs(seconds) {
        let text = mutate::mutated(&corpus, &mut rng);
        let schedule = SCHEDULES[texts % 4];
        let before = Instant::now();
        let done = std::panic::catch_unwind(|| run(&text, schedule));
        let took = before.elapsed();
        if done.is_err() || took > Duration::from_secs(20) {
            let path = std::env::temp_dir().join(format!("simt-{seed}-{texts}.ptx"));
            fs::write(&path, &text).unwrap();
            panic!(
                "text {texts} of seed {seed}, {took:?}, {schedule:?}: see {}",
                path.display()
            );
        }
        slowest = slowest.max(took);
        reports += done.unwrap_or(0);
        texts += 1;
    }
    println!("{texts} texts, {reports} reports, the slowest took {slowest:?}");
    assert!(texts > 5 && reports > 0, "{texts} texts, {reports} reports");
}

const KERNEL: &str = ".version 8.4
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 tile[];
.entry kernel(.param .u64 out, .param .u32 n, .param .align 4 .b8 rest[12])
{
    .reg .u32 %i, %n;
    .reg .u64 %out, %to;
    .reg .pred %p;
    ld.param.u64 %out, [out];
    ld.param.u32 %n, [n];
    mov.u32 %i, %tid.x;
    setp.ge.u32 %p, %i, %n;
    @%p ret;
    mov.u64 %to, tile;
    mad.wide.u32 %to, %i, 4, %to;
    st.shared.u32 [%to], %i;
    mad.wide.u32 %to, %i, 4, %out;
    st.global.u32 [%to], %i;
    ret;
}
";

fn kernel() -> Kernel {
    Module::parse(KERNEL).unwrap().kernel("kernel").unwrap()
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![
        0..4u32,
        0..2000u32,
        any::<u32>(),
        Just(u32::MAX),
        Just(1 << 16)
    ]
}

fn argument() -> impl Strategy<Value = Arg> {
    prop_oneof![
        any::<u32>().prop_map(Arg::U32),
        any::<u64>().prop_map(Arg::U64),
        any::<f32>().prop_map(Arg::F32),
        (0..3usize).prop_map(Arg::Buffer),
        (0..3usize, any::<u64>()).prop_map(|(i, at)| Arg::Inside(i, at)),
        Just(Arg::Null),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(Arg::Bytes),
    ]
}

fn launch(dim: Dim, args: &[Arg], bytes: usize) -> Result<Report, Error> {
    let mut buffers = [
        Buffer::uninitialised("out", bytes),
        Buffer::new("other", vec![]),
    ];
    kernel().launch(dim, &mut buffers, args, &limits(Schedule::default()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn any_launch(
        grid in [number(), number(), number()],
        block in [number(), number(), number()],
        smem in number(),
        args in prop::collection::vec(argument(), 0..5),
        bytes in 0..5000usize,
    ) {
        let _ = launch(Dim { grid, block, smem }, &args, bytes);
    }

    /// Launches that a GPU accepts, with arguments of the right sizes.
    #[test]
    fn right_launches(
        (x, y, z, blocks) in (1..40u32, 1..5u32, 1..5u32, 1..4u32),
        (smem, n, bytes) in (0..5000u32, any::<u32>(), 0..5000usize),
        first in prop_oneof![Just(Arg::Buffer(0)), Just(Arg::Null), any::<u64>().prop_map(Arg::U64),
            any::<u64>().prop_map(|at| Arg::Inside(0, at))],
    ) {
        let dim = Dim { grid: [blocks, 1, 1], block: [x, y, z], smem };
        let args = [first, Arg::U32(n), Arg::Bytes(vec![0; 12])];
        let report = launch(dim, &args, bytes);
        prop_assert!(report.is_ok(), "{report:?}");
    }
}

/// Texts that would exhaust memory or run forever give an error or a finding.
#[test]
fn too_much_of_anything() {
    let body = |declared: &str, body: &str| {
        format!(
            ".version 8.4\n.target sm_90\n.address_size 64\n{declared}\n.entry kernel() {{ {body} ret; }}"
        )
    };
    let mut texts: Vec<String> = [
        ".local .b8 x[1000000000];",
        ".local .b8 x[1000000000]; .local .b8 y[1000000000];",
        ".shared .b8 x[1000000000]; .shared .b8 y[1000000000];",
        ".reg .b32 %r<1000000>; .reg .b64 %d<1000000>; .reg .pred %p<1000000>;",
        &".reg .b32 %r<1000000>; { ".repeat(60),
    ]
    .iter()
    .map(|declared| {
        body(
            "",
            &format!("{declared} {}", "}".repeat(declared.matches('{').count())),
        )
    })
    .collect();
    for space in ["global", "const", "shared"] {
        let variables: Vec<String> = (0..40)
            .map(|i| format!(".{space} .b8 v{i}[1000000000];"))
            .collect();
        texts.push(body(&variables.join("\n"), ""));
    }
    // Functions that call the next one twice, nested 40 deep, and single calls nested 5000 deep.
    for (depth, calls) in [(40, 2), (5000, 1)] {
        let function = |i: usize| {
            let call = format!("call f{};", i + 1).repeat(if i + 1 < depth { calls } else { 0 });
            format!(".func f{i}() {{ {call} ret; }}")
        };
        let functions: Vec<String> = (0..depth).rev().map(function).collect();
        texts.push(body(&functions.join("\n"), "call f0;"));
    }
    // A list of targets that each of many instructions copies.
    let (list, jumps) = ("end,".repeat(4_000), "brx.idx %i, list;\n".repeat(4_000));
    let jumps = format!(".reg .u32 %i; list: .branchtargets {list} end;\n{jumps} end:");
    texts.push(body("", &jumps));
    for text in &texts {
        let module = Module::parse(text).unwrap();
        let dim = Dim {
            grid: [1; 3],
            block: [1024, 1, 1],
            smem: 0,
        };
        let options = Options {
            memory: 64 << 20,
            ..Options::default()
        };
        let launched = module
            .kernel("kernel")
            .and_then(|k| k.launch(dim, &mut [], &[], &options));
        let error = launched.err().map(|e| e.to_string());
        assert!(error.is_some(), "{:.300}", text);
    }
}

/// Blocks that do nothing but clear their registers, which no instruction counts.
#[test]
fn many_blocks_with_many_registers_are_refused() {
    let text = ".version 8.4\n.target sm_90\n.address_size 64\n.entry kernel() { .reg .b32 %r<10000>; ret; }";
    let kernel = Module::parse(text).unwrap().kernel("kernel").unwrap();
    let launch = |blocks| {
        let grid = [blocks, 1, 1];
        let block = [1024, 1, 1];
        let dim = Dim {
            grid,
            block,
            smem: 0,
        };
        kernel.launch(dim, &mut [], &[], &Options::default())
    };
    assert!(launch(2).is_ok());
    let begin = Instant::now();
    let error = launch(4_194_303).unwrap_err().to_string();
    let expected =
        "registers, local and shared memory of all blocks: expected at most 1280000000000 bytes";
    assert!(error.contains(expected), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(5));
}

/// Loops that only a limit ends.
#[test]
fn loops_that_take_more_and_more() {
    let text = |body: &str| {
        format!(".version 8.4\n.target sm_90\n.address_size 64
            .global .align 16 .b8 data[4096];
            .entry kernel() {{ .shared .align 16 .b8 tile[4096]; .reg .u64 %s; .reg .u64 %g; .reg .u32 %x;
            mov.u64 %s, tile; mov.u64 %g, data;
            loop: {body} bra loop; }}")
    };
    for body in [
        "cp.async.ca.shared.global [%s], [%g], 16;",
        "cp.async.ca.shared.global [%s], [%g], 16; cp.async.commit_group;",
        "bar.arrive 1, 64;",
        "membar.gl; atom.global.add.u32 %x, [%g], 1;",
        "st.volatile.global.u32 [%g], 1; add.u64 %g, %g, 4;",
    ] {
        let kernel = Module::parse(&text(body))
            .unwrap()
            .kernel("kernel")
            .unwrap();
        let dim = Dim {
            grid: [2, 1, 1],
            block: [64, 1, 1],
            smem: 0,
        };
        let options = Options {
            fuel: 200_000,
            ..Options::default()
        };
        let report = kernel.launch(dim, &mut [], &[], &options).unwrap();
        assert!(!report.is_clean(), "{body}");
    }
}

/// Each instruction reads a register that none has written, and each finding is looked up by its instruction.
#[test]
fn many_findings_are_fast() {
    let n = 50_000;
    let adds = "add.u32 %x, %none, 1;\n".repeat(n);
    let text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n.entry kernel() {{ .reg .u32 %x, %none; {adds} ret; }}"
    );
    let kernel = Module::parse(&text).unwrap().kernel("kernel").unwrap();
    let dim = Dim {
        grid: [2, 1, 1],
        block: [32, 1, 1],
        smem: 0,
    };
    let begin = Instant::now();
    let report = kernel.launch(dim, &mut [], &[], &Options::default());
    assert_eq!(report.unwrap().findings.len(), n);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// Each character counts, because a text takes as long as thousands of instructions.
#[test]
fn an_endless_print_ends_after_as_many_characters_as_instructions() {
    let letters = "97,".repeat(4000);
    let text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64
        .extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);
        .global .align 8 .b8 text[4001] = {{{letters}0}};
        .entry kernel() {{ .reg .b64 %f;
        mov.u64 %f, text;
        loop: {{ .param .b64 f; st.param.b64 [f], %f; .param .b64 v; st.param.b64 [v], %f;
        .param .b32 r; call.uni (r), vprintf, (f, v); }}
        bra loop; }}"
    );
    let kernel = Module::parse(&text).unwrap().kernel("kernel").unwrap();
    let dim = Dim {
        grid: [1; 3],
        block: [32, 1, 1],
        smem: 0,
    };
    let options = Options {
        fuel: 1_000_000,
        printed: usize::MAX,
        ..Options::default()
    };
    let report = kernel.launch(dim, &mut [], &[], &options).unwrap();
    assert!(!report.is_clean());
    let printed = report.printed.len();
    assert!((4000..1_000_000).contains(&printed), "{printed} characters");
}
