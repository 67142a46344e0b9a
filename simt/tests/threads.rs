//! Blocks run in parallel, and their results do not depend on the number of threads.

use simt::{Arg, Buffer, Class, Dim, Module, Options, Report};

/// Each block writes its number to its own elements of `out` and to one that all blocks write.
fn text(all: &str) -> String {
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64
        .entry kernel(.param .u64 out)
        {{
        .reg .u32 %i, %n, %b, %x, %k;
        .reg .u64 %out, %to;
        .reg .pred %p;
        ld.param.u64 %out, [out];
        mov.u32 %i, %tid.x;
        mov.u32 %b, %ctaid.x;
        mov.u32 %n, %ntid.x;
        mad.lo.u32 %x, %b, %n, %i;
        mad.wide.u32 %to, %x, 4, %out;
        mov.u32 %k, 0;
        loop:
        add.u32 %k, %k, 1;
        setp.lt.u32 %p, %k, 50;
        @%p bra loop;
        mad.lo.u32 %x, %x, %k, %b;
        st.global.u32 [%to+4], %x;
        {all}
        ret;
        }}"
    )
}

const BLOCKS: u32 = 64;

/// Launches the kernel of a text; returns its output, too.
fn launch(text: &str, options: &Options) -> (Vec<u32>, Report) {
    let kernel = Module::parse(text).unwrap().kernel("kernel").unwrap();
    let mut buffers = [Buffer::u32s("out", &[0; 1 + 64 * BLOCKS as usize])];
    let dim = Dim {
        grid: [BLOCKS, 1, 1],
        block: [64, 1, 1],
        smem: 0,
    };
    let report = kernel.launch(dim, &mut buffers, &[Arg::Buffer(0)], options);
    (buffers[0].to_u32s(), report.unwrap())
}

fn run(text: &str, threads: usize, parallel: bool) -> (Vec<u32>, Report) {
    let options = Options {
        parallel,
        ..Options::default()
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(|| launch(text, &options))
}

#[test]
fn results_and_reports_do_not_depend_on_the_number_of_threads() {
    let plain = "st.global.u32 [%out], %b;";
    let atomic = "atom.global.max.u32 %x, [%out], %b;";
    for (all, class) in [("", None), (atomic, None), (plain, Some(Class::Race))] {
        let text = text(all);
        let (expected, report) = run(&text, 1, false);
        let found: Vec<Class> = report.findings.iter().map(|f| f.class).collect();
        assert_eq!(found, class.into_iter().collect::<Vec<_>>());
        for threads in [1, 2, 4, 7] {
            let (out, other) = run(&text, threads, true);
            assert_eq!(out, expected, "{threads} threads: {all}");
            assert_eq!(other, report, "{threads} threads: {all}");
        }
    }
}

/// A loop of copies by every lane. Each takes as long as hundreds of instructions.
#[test]
fn bulk_copies_cost_fuel_by_their_bytes() {
    let is_endless = |bytes: u32| {
        let text = text(&format!(
            ".shared .align 16 .b8 row[32768];
            again: cp.async.bulk.global.shared::cta.bulk_group [%out], [row], {bytes};
            cp.async.bulk.commit_group;
            cp.async.bulk.wait_group 0;
            add.u32 %k, %k, 1;
            setp.lt.u32 %p, %k, 100;
            @%p bra again;"
        ));
        let kernel = Module::parse(&text).unwrap().kernel("kernel").unwrap();
        let dim = Dim {
            grid: [1; 3],
            block: [32, 1, 1],
            smem: 0,
        };
        let options = Options {
            fuel: 2000,
            ..Options::default()
        };
        let mut buffers = [Buffer::u32s("out", &[0; 8192])];
        let report = kernel.launch(dim, &mut buffers, &[Arg::Buffer(0)], &options);
        let findings = report.unwrap().findings;
        findings.iter().any(|f| f.class == Class::Endless)
    };
    assert!(!is_endless(16));
    assert!(is_endless(32768));
}

#[test]
fn a_launch_ends_with_its_first_endless_block() {
    let text = text("forever: bra forever;");
    for (fuel, launch_fuel, said) in [
        (10_000, u64::MAX, "10000 instructions of its block"),
        (u64::MAX, 20_000, "20000 instructions of the launch"),
    ] {
        let options = Options {
            fuel,
            launch_fuel,
            ..Options::default()
        };
        let (_, report) = launch(&text, &options);
        let [finding] = &report.findings[..] else {
            panic!("{:?}", report.findings)
        };
        assert_eq!((finding.class, finding.count), (Class::Endless, 1));
        assert!(finding.what.contains(said), "{finding}");
    }
}

/// As with two swapped pointers, where a value of one tensor is the number of the loop's steps.
#[test]
fn a_launch_with_a_finding_ends_early_if_it_may_not_go_on() {
    let text = text("forever: st.global.u32 [%out+1048576], %b; bra forever;");
    let found = |faulty_fuel| {
        let options = Options {
            launch_fuel: 400_000,
            faulty_fuel,
            ..Options::default()
        };
        let findings = launch(&text, &options).1.findings;
        findings.iter().map(|f| f.class).collect::<Vec<Class>>()
    };
    assert_eq!(found(10_000), [Class::OutOfBounds]);
    assert_eq!(found(u64::MAX), [Class::OutOfBounds, Class::Endless]);
}
