//! Execution of a grid: divergence, barriers, shuffles, fuel, launches, `printf`.

use simt::{Arg, Buffer, Class, Dim, Error, Module, Options, Report, Schedule};

use super::floor::note;

const SCHEDULES: [(Schedule, u64); 6] = [
    (Schedule::PostDominator, 0),
    (Schedule::MinPc, 0),
    (Schedule::MaxPc, 0),
    (Schedule::Random, 1),
    (Schedule::Random, 2),
    (Schedule::Random, 3),
];

/// A kernel with one buffer, `out`: `%i` is the thread, `%to` the address of its element.
fn text(declared: &str, body: &str) -> String {
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n
        .entry kernel(.param .u64 out)\n{{
        .reg .u32 %i, %k, %n, %x, %y, %old;
        .reg .u64 %out, %to;
        .reg .pred %p, %q, %r;
        {declared}
        ld.param.u64 %out, [out];
        mov.u32 %i, %tid.x;
        mad.wide.u32 %to, %i, 4, %out;
        {body}
        ret;\n}}\n"
    )
}

fn dim(grid: u32, block: u32) -> Dim {
    Dim {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        smem: 0,
    }
}

fn launch(text: &str, dim: Dim, options: &Options) -> simt::Result<(Vec<u32>, Report)> {
    let kernel = Module::parse(text)?.kernel("kernel")?;
    let mut buffers = [Buffer::u32s("out", &[0; 256])];
    let report = kernel.launch(dim, &mut buffers, &[Arg::Buffer(0)], options)?;
    note(&report);
    Ok((buffers[0].to_u32s(), report))
}

/// Classes of the findings of a kernel, in one block of this many threads.
fn found(threads: u32, declared: &str, body: &str) -> Vec<Class> {
    let (_, report) = launch(&text(declared, body), dim(1, threads), &Options::default()).unwrap();
    report.findings.iter().map(|f| f.class).collect()
}

/// Lanes whose guard is false do not branch, whatever the other lanes do.
#[test]
fn a_guarded_branch_by_index() {
    let targets = "ts: .branchtargets A, B;";
    let body = |index: &str| {
        format!(
            "{index} setp.lt.u32 %p, %i, 4; mov.u32 %x, 0;
            @%p brx.idx %k, ts;
            mov.u32 %x, 7; bra E; A: mov.u32 %x, 1; bra E; B: mov.u32 %x, 2;
            E: st.global.u32 [%to], %x;"
        )
    };
    check(8, targets, &body("mov.u32 %k, 0;"), |i| {
        if i < 4 { 1 } else { 7 }
    });
    check(8, targets, &body("and.b32 %k, %i, 1;"), |i| {
        if i < 4 { 1 + i % 2 } else { 7 }
    });
    assert_eq!(found(8, targets, &body("")), [Class::Uninitialised]);
}

/// A barrier counts warps: one with fewer lanes, or whose other lanes have returned, counts as a whole.
#[test]
fn a_barrier_with_a_count_counts_warps() {
    let sync = "mov.u32 %x, 1; bar.sync 1, 64; st.global.u32 [%to], %x;";
    check(48, "", sync, |i| u32::from(i < 48));
    let some = format!("setp.ge.u32 %p, %i, 56; @%p exit; {sync}");
    check(64, "", &some, |i| u32::from(i < 56));
}

#[test]
fn unwritten_predicates_are_found() {
    for body in [
        "selp.b32 %x, 1, 2, %q;",
        "setp.eq.and.u32 %p, %i, %i, %q;",
        "setp.eq.u32 %p, %i, %i; and.pred %p, %p, %q;",
        "vote.sync.ballot.b32 %x, %q, 0xffffffff;",
        "bar.red.popc.u32 %x, 0, %q;",
    ] {
        assert_eq!(found(32, "", body), [Class::Uninitialised], "{body}");
    }
}

/// Two shuffles meet only if their qualifiers are equal.
#[test]
fn shuffles_meet_only_with_equal_qualifiers() {
    let body = |a: &str, b: &str| {
        format!("setp.lt.u32 %p, %i, 16; @%p bra A; {a} bra E; A: {b} E: st.global.u32 [%to], %x;")
    };
    let up = "shfl.sync.up.b32 %x, %i, 1, 0, 0xffffffff;";
    let down = "shfl.sync.down.b32 %x, %i, 1, 31, 0xffffffff;";
    assert_eq!(found(32, "", &body(up, up)), []);
    assert!(!found(32, "", &body(up, down)).is_empty());
}

/// Atomic f32 sums flush subnormals in global memory, but not in shared memory.
#[test]
fn atomic_sums_of_subnormals() {
    let add = ".reg .f32 %v; mov.b32 %v, 1; red.global.add.f32 [%out], %v;";
    check(32, "", add, |_| 0);
    let shared = ".reg .f32 %v; mov.b32 %x, 0; setp.eq.u32 %p, %i, 0; @%p st.shared.u32 [s], %x; bar.sync 0;
        mov.b32 %v, 1; red.shared.add.f32 [s], %v; bar.sync 0; ld.shared.u32 %x, [s]; st.global.u32 [%to], %x;";
    check(32, ".shared .align 4 .b32 s;", shared, |_| 32);
}

/// Runs one block of this many threads under every schedule: there must be no findings, and element i must be
/// `expected(i)`.
fn check(threads: u32, declared: &str, body: &str, expected: impl Fn(u32) -> u32) {
    let text = text(declared, body);
    for (schedule, seed) in SCHEDULES {
        let options = Options {
            schedule,
            seed,
            fuel: 4_000_000,
            ..Options::default()
        };
        let (out, report) = launch(&text, dim(1, threads), &options).unwrap();
        let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{schedule:?} {seed}: {found:#?}");
        let expected: Vec<u32> = (0..threads).map(&expected).collect();
        assert_eq!(out[..threads as usize], expected, "{schedule:?} {seed}");
    }
}

#[test]
fn both_sides_of_a_branch() {
    let body = "
        setp.lt.u32 %p, %i, 11;
        @%p bra small;
        mul.lo.u32 %x, %i, 3;
        bra store;
        small: add.u32 %x, %i, 100;
        store: st.global.u32 [%to], %x;";
    check(48, "", body, |i| if i < 11 { i + 100 } else { 3 * i });
}

#[test]
fn lanes_meet_again_after_a_branch() {
    let body = "
        setp.lt.u32 %p, %i, 11;
        mov.u32 %x, 0;
        @%p bra meet;
        mov.u32 %x, 1;
        meet: vote.sync.ballot.b32 %x, %p, 0xffffffff;
        st.global.u32 [%to], %x;";
    check(32, "", body, |_| 0x7ff);
    let (_, report) = launch(&text("", body), dim(1, 32), &Options::default()).unwrap();
    let stores = report
        .lines
        .iter()
        .find(|l| l.form == "st.global.u32")
        .unwrap();
    assert_eq!((stores.counts.warps, stores.counts.threads), (1, 32));
    assert_eq!(report.total.divergent, 1);
}

#[test]
fn loops_with_different_trip_counts() {
    let body = "
        mov.u32 %x, 0;
        mov.u32 %k, 0;
        again: setp.ge.u32 %p, %k, %i;
        @%p bra done;
        add.u32 %k, %k, 1;
        add.u32 %x, %x, %k;
        bra again;
        done: st.global.u32 [%to], %x;";
    check(64, "", body, |i| i * (i + 1) / 2);
}

#[test]
fn a_branch_in_a_loop_in_a_branch() {
    let body = "
        mov.u32 %x, 0;
        setp.lt.u32 %p, %i, 5;
        @%p bra store;
        mov.u32 %k, 0;
        again: and.b32 %y, %k, 1;
        setp.eq.u32 %q, %y, 0;
        @%q bra next;
        add.u32 %x, %x, %k;
        setp.gt.u32 %r, %x, 20;
        @%r bra store;
        next: add.u32 %k, %k, 1;
        setp.lt.u32 %p, %k, %i;
        @%p bra again;
        store: st.global.u32 [%to], %x;";
    let model = |i: u32| {
        let mut x = 0;
        for k in (0..if i < 5 { 0 } else { i }).filter(|k| k % 2 == 1) {
            x += k;
            if x > 20 {
                break;
            }
        }
        x
    };
    check(40, "", body, model);
}

#[test]
fn some_lanes_return_in_a_loop() {
    let body = "
        mov.u32 %k, 0;
        again: setp.eq.u32 %p, %k, %i;
        @%p st.global.u32 [%to], %k;
        @%p ret;
        add.u32 %k, %k, 1;
        bra again;";
    check(40, "", body, |i| i);
}

/// The lock's owner and the waiting lanes are in one warp, so both must make progress.
#[test]
fn a_spin_lock_within_a_warp() {
    let body = "
        setp.eq.u32 %p, %i, 0;
        mov.u32 %x, 0;
        @%p st.shared.u32 [lock], %x;
        @%p st.shared.u32 [count], %x;
        bar.sync 0;
        try: atom.shared.cas.b32 %old, [lock], 0, 1;
        setp.ne.u32 %q, %old, 0;
        @%q bra try;
        membar.cta;
        ld.shared.u32 %x, [count];
        add.u32 %x, %x, 1;
        st.shared.u32 [count], %x;
        membar.cta;
        atom.shared.exch.b32 %old, [lock], 0;
        bar.sync 0;
        ld.shared.u32 %x, [count];
        st.global.u32 [%to], %x;";
    check(64, ".shared .b32 lock; .shared .b32 count;", body, |_| 64);
}

/// The second warp waits for a flag that the first one sets after its data and a fence.
#[test]
fn a_message_behind_a_fence() {
    for fence in [
        "membar.cta",
        "membar.gl",
        "membar.sys",
        "fence.acq_rel.gpu",
        "fence.sc.cta",
    ] {
        let body = format!(
            "mov.u32 %x, 0;
            setp.eq.u32 %p, %i, 0;
            @%p st.shared.u32 [flag], %x;
            bar.sync 0;
            setp.ge.u32 %q, %i, 32;
            @%q bra wait;
            @!%p bra store;
            mov.u32 %x, 7;
            st.shared.u32 [message], %x;
            {fence};
            atom.shared.exch.b32 %old, [flag], 1;
            bra store;
            wait: atom.shared.or.b32 %old, [flag], 0;
            setp.eq.u32 %r, %old, 0;
            @%r bra wait;
            {fence};
            ld.shared.u32 %x, [message];
            store: st.global.u32 [%to], %x;"
        );
        let declared = ".shared .b32 flag; .shared .b32 message;";
        check(
            64,
            declared,
            &body,
            |i| if i == 0 || i >= 32 { 7 } else { 0 },
        );
    }
}

#[test]
fn barriers_with_counts() {
    // Each pair of warps swaps values through shared memory, with a barrier of its own.
    let body = "
        mov.u32 %k, tile;
        mad.lo.u32 %k, %i, 4, %k;
        st.shared.u32 [%k], %i;
        shr.u32 %n, %i, 6;
        add.u32 %n, %n, 1;
        bar.sync %n, 64;
        mov.u32 %k, tile;
        xor.b32 %y, %i, 32;
        mad.lo.u32 %k, %y, 4, %k;
        ld.shared.u32 %x, [%k];
        st.global.u32 [%to], %x;";
    check(128, ".shared .b32 tile[128];", body, |i| i ^ 32);
}

/// `barrier` works as `bar` for lanes that arrive from different instructions.
#[test]
fn a_barrier_in_both_branches() {
    let body = "
        mov.u32 %n, block;
        mad.lo.u32 %x, %i, 4, %n;
        st.shared.u32 [%x], %i;
        setp.lt.u32 %p, %i, 50;
        @%p bra lower;
        barrier.sync 0;
        bra read;
        lower: barrier.sync 0;
        read: sub.u32 %y, 95, %i;
        mad.lo.u32 %y, %y, 4, %n;
        ld.shared.u32 %y, [%y];
        st.global.u32 [%to], %y;";
    check(96, ".shared .b32 block[96];", body, |i| 95 - i);
}

#[test]
fn a_producer_arrives_and_a_consumer_waits() {
    let body = "
        setp.ge.u32 %p, %i, 32;
        mov.u32 %k, tile;
        mad.lo.u32 %k, %i, 4, %k;
        @%p bra consume;
        st.shared.u32 [%k + 128], %i;
        bar.arrive 1, 64;
        bra store;
        consume: bar.sync 1, 64;
        ld.shared.u32 %i, [%k];
        store: st.global.u32 [%to], %i;";
    check(64, ".shared .b32 tile[64];", body, |i| i % 32);
}

#[test]
fn a_barrier_that_reduces() {
    let body = "
        and.b32 %x, %i, 3;
        setp.eq.u32 %p, %x, 0;
        setp.lt.u32 %q, %i, 96;
        bar.red.popc.u32 %n, 0, %p;
        bar.red.and.pred %r, 0, %q;
        selp.u32 %x, 1000, 0, %r;
        bar.red.or.pred %r, 0, !%p;
        selp.u32 %y, 100, 0, %r;
        add.u32 %x, %x, %y;
        add.u32 %x, %x, %n;
        st.global.u32 [%to], %x;";
    check(96, "", body, |_| 1000 + 100 + 24);
}

/// Members of a shuffle that arrive from different instructions wait for each other.
#[test]
fn shuffles_in_both_branches() {
    let body = "
        setp.lt.u32 %p, %i, 16;
        @%p bra lower;
        add.u32 %y, %i, 100;
        shfl.sync.bfly.b32 %x, %y, 16, 31, 0xffffffff;
        bra store;
        lower: shfl.sync.bfly.b32 %x, %i, 16, 31, 0xffffffff;
        store: st.global.u32 [%to], %x;";
    check(32, "", body, |i| if i < 16 { i + 116 } else { i - 16 });
}

#[test]
fn two_member_masks_split_a_shuffle() {
    // One instruction with two member masks: each half shuffles separately.
    let body = "
        setp.lt.u32 %p, %i, 16;
        selp.u32 %n, 0x0000ffff, 0xffff0000, %p;
        setp.eq.u32 %q, %i, 3;
        vote.sync.ballot.b32 %x, %q, %n;
        redux.sync.add.u32 %y, %i, %n;
        add.u32 %x, %x, %y;
        st.global.u32 [%to], %x;";
    check(32, "", body, |i| if i < 16 { 8 + 120 } else { 376 });
}

#[test]
fn a_shuffle_in_a_loop_that_lanes_leave() {
    // The mask names the active lanes, which are those still in the loop.
    let body = "
        mov.u32 %k, 0;
        again: setp.lt.u32 %p, %k, %i;
        vote.sync.ballot.b32 %n, %p, 0xffffffff;
        setp.ne.u32 %q, %n, 0;
        @%p add.u32 %k, %k, 1;
        @%q bra again;
        st.global.u32 [%to], %k;";
    check(32, "", body, |i| i);
}

/// A function's registers and parameters, with all lanes and with some.
#[test]
fn calls() {
    let function = ".func (.param .f32 sum) twice(.param .f32 a, .param .b64 b)\n{
        .reg .f32 %a, %b; .reg .b64 %x;
        ld.param.f32 %a, [a];
        ld.param.b64 %x, [b];
        cvt.rn.f32.u64 %b, %x;
        add.f32 %a, %a, %b;
        st.param.f32 [sum], %a;
        ret;\n}\n";
    for (call, most) in [("call.uni", 64), ("@%p call", 40)] {
        let body = format!(
            "setp.lt.u32 %p, %i, {most};
            cvt.rn.f32.u32 %f, %i;
            cvt.u64.u32 %d, %i;
            mul.lo.u64 %d, %d, 3;
            {{ .param .f32 a; .param .b64 b; .param .f32 sum;
            st.param.f32 [a], %f;
            st.param.b64 [b], %d;
            {call} (sum), twice, (a, b);
            @%p ld.param.f32 %f, [sum]; }}
            cvt.rzi.u32.f32 %x, %f;
            st.global.u32 [%to], %x;"
        );
        let text = text(".reg .f32 %f; .reg .b64 %d;", &body);
        let text = text.replace(".entry", &format!("{function}.entry"));
        let (out, report) = launch(&text, dim(1, 64), &Options::default()).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        let expected = (0..64).map(|i| if i < most { 4 * i } else { i });
        assert_eq!(out[..64], expected.collect::<Vec<u32>>());
    }
}

#[test]
fn a_trap_ends_a_launch() {
    let body = "setp.eq.u32 %p, %i, 5; @%p trap; st.global.u32 [%to], %i;";
    let (_, report) = launch(&text("", body), dim(1, 32), &Options::default()).unwrap();
    let [finding] = &report.findings[..] else {
        panic!("{:?}", report.findings)
    };
    assert_eq!(
        (finding.class, finding.thread.thread),
        (Class::Trap, [5, 0, 0])
    );
}

#[test]
fn fuel_ends_a_loop() {
    let text = text("", "again: bra again;");
    let options = Options {
        fuel: 1000,
        ..Options::default()
    };
    let (_, report) = launch(&text, dim(1, 32), &options).unwrap();
    let [finding] = &report.findings[..] else {
        panic!("{:?}", report.findings)
    };
    assert_eq!(finding.class, Class::Endless);
    assert!(finding.what.contains("1000 instructions"), "{finding}");
    assert_eq!(report.total.warps, 1000);
}

#[test]
fn launches_that_no_gpu_takes() {
    let kernel = Module::parse(&text("", ""))
        .unwrap()
        .kernel("kernel")
        .unwrap();
    let error = |dim: Dim, args: &[Arg]| -> String {
        let mut buffers = [Buffer::u32s("out", &[0])];
        let error = kernel.launch(dim, &mut buffers, args, &Options::default());
        let error = error.expect_err("an error");
        assert!(matches!(error, Error::Launch { .. }));
        error.to_string()
    };
    let good = [Arg::Buffer(0)];
    assert_eq!(
        error(dim(1, 1025), &good),
        "kernel: block: expected 1 to 1024 threads, found 1025"
    );
    assert!(error(dim(1, 0), &good).contains("threads"));
    assert!(error(dim(0, 32), &good).contains("blocks"));
    let smem = 228 << 10;
    assert!(error(Dim { smem, ..dim(1, 32) }, &good).contains("shared"));
    assert_eq!(
        error(dim(1, 32), &[]),
        "kernel: arguments: expected 1 (out: pointer or u64), found 0"
    );
    assert_eq!(
        error(dim(1, 32), &[Arg::F64(1.)]),
        "kernel: out: expected a buffer or a 64-bit integer (u64), found f64"
    );
    assert!(error(dim(1, 32), &[Arg::U32(1)]).ends_with("(u64), found u32"));
    assert!(error(dim(1, 32), &[Arg::Buffer(3)]).contains("number 3"));
}

/// `.maxntid` is a limit; with `.reqntid`, each axis must be equal.
#[test]
fn a_block_of_another_size_than_the_kernel_asks_for_is_refused() {
    let launch = |directive: &str, block: [u32; 3]| {
        let entry = format!("{directive}\n{{");
        let text = text("", "").replacen('{', &entry, 1);
        let kernel = Module::parse(&text).unwrap().kernel("kernel").unwrap();
        let dim = Dim { block, ..dim(1, 1) };
        let mut buffers = [Buffer::u32s("out", &[0; 256])];
        let launched = kernel.launch(dim, &mut buffers, &[Arg::Buffer(0)], &Options::default());
        launched.map(|_| ()).map_err(|error| error.to_string())
    };
    let refused = |line: &str| Err(format!("kernel: block: expected {line}"));
    for (directive, block, expected) in [
        (".reqntid 256, 1, 1", [256, 1, 1], Ok(())),
        (
            ".reqntid 256, 1, 1",
            [128, 1, 1],
            refused("exactly 256 threads, found 128"),
        ),
        (
            ".reqntid 256, 1, 1",
            [512, 1, 1],
            refused("exactly 256 threads, found 512"),
        ),
        (
            ".reqntid 256, 1, 1",
            [32, 8, 1],
            refused("256 × 1 × 1 threads, found 32 × 8 × 1 threads"),
        ),
        (".maxntid 256, 1, 1", [128, 1, 1], Ok(())),
        (
            ".maxntid 256, 1, 1",
            [512, 1, 1],
            refused("at most 256 threads, found 512"),
        ),
    ] {
        assert_eq!(launch(directive, block), expected, "{directive} {block:?}");
    }
}

/// nvcc's output for `if (threadIdx.x < 2) printf("thread %d: %f\n", threadIdx.x, 0.5);`.
const PRINTS: &str = include_str!("printf.ptx");

#[test]
fn printf_prints() {
    let (_, report) = launch(PRINTS, dim(2, 32), &Options::default()).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    let block = "thread 0: 0.500000\nthread 1: 0.500000\n";
    assert_eq!(report.printed, block.repeat(2));
}

#[test]
fn a_serial_report_is_the_same_each_time() {
    // Races between lanes, warps and blocks.
    let text = text(
        "",
        "ld.global.u32 %x, [%out + 4]; add.u32 %x, %x, %i; st.global.u32 [%out + 4], %x;",
    );
    for (schedule, seed) in SCHEDULES {
        let options = Options {
            schedule,
            seed,
            parallel: false,
            ..Options::default()
        };
        let run = || launch(&text, dim(8, 64), &options).unwrap();
        let (out, report) = run();
        assert!(!report.is_clean());
        assert_eq!(run(), (out, report), "{schedule:?} {seed}");
    }
}

/// A student finds the bug from one line, which names the buffer and byte, the other thread and its line.
#[test]
fn findings_name_bytes_threads_and_lines() {
    let options = Options {
        parallel: false,
        ..Options::default()
    };
    let found = |body: &str| -> String {
        let (_, report) = launch(&text("", body), dim(1, 64), &options).unwrap();
        report.findings[0].to_string()
    };
    assert_eq!(
        found("st.global.u32 [%out + 4], %i;"),
        "line 14: `st.global.u32`: thread 1 of block 0: writes byte 4 of out, which is written by thread 0 of \
         block 0 in line 14: the lanes of one instruction have no order \
         (63 such faults in all)"
    );
    assert_eq!(
        found("st.global.u32 [%to + 1000], %i;"),
        "line 14: `st.global.u32`: thread 6 of block 0: write of 4 bytes at byte 1024 of out, which has \
         1024 bytes (58 such faults in all)"
    );
    assert_eq!(
        found("st.global.u32 [%to + 2], %i;"),
        "line 14: `st.global.u32`: thread 0 of block 0: write of 4 bytes at byte 2 of out, which has 1024 \
         bytes: the address is not a multiple of 4 (64 such faults in all)"
    );
}

/// A block has 16 barriers.
#[test]
fn barriers_have_numbers_below_16() {
    let found = |barrier: &str| {
        let text = text("", &format!("mov.u32 %x, {barrier}; bar.sync %x;"));
        let (_, report) = launch(&text, dim(1, 32), &Options::default()).unwrap();
        let findings = report.findings.iter();
        findings
            .map(|f| (f.class, f.what.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(found("15"), []);
    let expected = "barrier 4294967295: a block has the barriers 0 to 15";
    assert_eq!(found("-1"), [(Class::OutOfBounds, expected.to_owned())]);
}

/// With several shared variables, a finding names the one with the byte by its C++ name.
#[test]
fn findings_name_variables() {
    let body = "ld.shared.u32 %x, [_ZZ6kernelE4sums+4]; st.global.u32 [%to], %x;";
    let sums = ".shared .align 4 .b8 _ZZ6kernelE4sums[8];";
    let what = |declared: &str| {
        let text = text(declared, body);
        let (_, report) = launch(&text, dim(1, 1), &Options::default()).unwrap();
        report.findings[0].what.clone()
    };
    let one = what(sums);
    assert!(one.contains("byte 4 of shared memory,"), "{one}");
    let two = what(&format!(".shared .align 4 .b8 tile[12]; {sums}"));
    assert!(
        two.contains("byte 16 of shared memory, byte 4 of sums,"),
        "{two}"
    );
}

/// If many lanes read a word and one writes it, the race is between different lanes.
#[test]
fn a_race_is_with_others() {
    let body = "ld.global.u32 %x, [%out];
        setp.eq.u32 %p, %i, 0;
        @%p st.global.u32 [%out], %i;";
    let (_, report) = launch(&text("", body), dim(1, 32), &Options::default()).unwrap();
    let expected = "writes byte 0 of out, which is read by other lanes of its warp in line 14: \
                    no `bar.sync` orders them (`bar.warp.sync` is enough for bytes that one warp alone uses), and they are not both atomic";
    assert_eq!(report.findings[0].what, expected);
}

/// A thread reads what its neighbour wrote, and then by the same instruction what a thread of the other warp wrote.
#[test]
fn a_race_of_two_warps_is_reported_before_one_within_a_warp() {
    let body = |partners: &str| {
        format!(
            "st.global.u32 [%to], %i;
            mov.u32 %k, 1;
            again: xor.b32 %x, %i, %k;
            mad.wide.u32 %to, %x, 4, %out;
            ld.global.u32 %y, [%to];
            {partners}
            @%p bra again;"
        )
    };
    let last = |partners: &str| -> String {
        let (_, report) =
            launch(&text("", &body(partners)), dim(1, 64), &Options::default()).unwrap();
        report.findings.last().unwrap().to_string()
    };
    let neighbours = last("add.u32 %k, %k, 2; setp.lt.u32 %p, %k, 4;");
    let expected = "thread 0 of block 0: reads byte 4 of out, which is written by thread 1 of block 0 in line 14: \
                    no `bar.sync` orders them (`bar.warp.sync` is enough";
    assert!(neighbours.contains(expected), "{neighbours}");
    assert!(
        neighbours.ends_with("(128 such faults in all)"),
        "{neighbours}"
    );
    let warps = last("add.u32 %k, %k, 31; setp.lt.u32 %p, %k, 64;");
    let expected = "thread 32 of block 0: reads byte 0 of out, which is written by thread 0 of block 0 in line 14: \
                    no barrier orders them";
    assert!(warps.contains(expected), "{warps}");
    assert!(warps.ends_with("(128 such faults in all)"), "{warps}");
}

/// Three warps read a word. Warp 0, which did so first, writes it after a barrier with warp 2.
#[test]
fn a_race_with_readers_names_one_of_another_warp() {
    let body = "ld.global.u32 %x, [%out];
        shr.u32 %k, %i, 5;
        setp.eq.u32 %q, %k, 1;
        @%q bra end;
        bar.sync 1, 64;
        setp.eq.u32 %p, %i, 5;
        @%p st.global.u32 [%out], %i;
        end:";
    let (_, report) = launch(&text("", body), dim(1, 96), &Options::default()).unwrap();
    let expected = "writes byte 0 of out, which is read by several warps, warp 1 among them, in line 14: no \
                    barrier orders them, and they are not both atomic";
    assert_eq!(report.findings[0].what, expected);
}

#[test]
fn lanes_at_one_address_need_its_bytes_once() {
    let body = "ld.global.u32 %x, [%out];
        st.global.u32 [%to], %x;
        st.global.u32 [%out], %x;";
    let (_, report) = launch(&text("", body), dim(1, 32), &Options::default()).unwrap();
    let total = &report.total;
    assert_eq!((total.global_load_sectors, total.global_load_ideal), (1, 1));
    assert_eq!(
        (total.global_store_sectors, total.global_store_ideal),
        (5, 5)
    );
}

#[test]
fn only_one_of_several_blocks_may_wait_for_a_later_one() {
    let options = Options {
        fuel: 1000,
        ..Options::default()
    };
    let body = text("", "again: bra again;");
    let what = |blocks| {
        let (_, report) = launch(&body, dim(blocks, 1), &options).unwrap();
        report.findings[0].what.clone()
    };
    let alone = "waits for something that no thread does";
    assert!(what(1).ends_with(alone), "{}", what(1));
    assert!(what(2).contains(&format!("{alone}; it cannot wait for a later block")));
}

/// Compilers write line 0 for code that stands in no line.
#[test]
fn code_without_a_line_has_the_line_before() {
    let body = "        .loc 1 7 0
        mov.u32 %x, 1;
        .loc 1 0 0
        st.global.u32 [%out + 4096], %x;
        .loc 1 0 0, function_name $L, inlined_at 1 9 3
        st.global.u32 [%out + 8192], %x;";
    let text = text("", body) + ".file 1 \"k.cu\"\n.section .debug_str { $L: .b8 102, 0 }\n";
    let (_, report) = launch(&text, dim(1, 1), &Options::default()).unwrap();
    let lines: Vec<u32> = report
        .findings
        .iter()
        .map(|f| f.source.as_ref().unwrap().1)
        .collect();
    assert_eq!(lines, [7, 9]);
}

#[test]
fn a_warp_may_return_with_the_last_instruction_of_its_turn() {
    // A turn is 4096 instructions; a round has 3, plus up to 12 more.
    for extra in 0..6 {
        let body = format!(
            "mov.u32 %n, 0;
            AGAIN: add.u32 %n, %n, 1;
            setp.lt.u32 %p, %n, 1362;
            @%p bra AGAIN;
            {}
            st.global.u32 [%to], %n;",
            "mov.u32 %x, %n;\n".repeat(extra)
        );
        check(32, "", &body, |_| 1362);
    }
}
