//! `occupancy`: its table, and bad input.

use crate::fixture::{Fixture, run};

#[test]
fn a_block_of_numbers_has_a_table() {
    let args = "occupancy --threads 256 --registers 64 --shared 49152";
    let run = run(&args.split(' ').collect::<Vec<_>>());
    let expected = "\
a block: 256 threads, 64 registers per thread, 49152 bytes of shared memory
an SM of compute capability 9.0

limit                   a block takes  an SM has  blocks  warps
warp slots                          8         64       8     64
block slots                         1         32      32    256
registers                       16384      65536       4     32  <- limits
bytes of shared memory          50176     233472       4     32  <- limits

occupancy: 50%, 32 of 64 warps in 4 blocks per SM
to raise it: at most 48 registers per thread and 45568 bytes of shared memory (40 warps)
Little's law: 4.257 TB/s × 0.7 µs = 22.6 KB in flight per SM keep the memory of an H200 busy,
  22.0 bytes per thread or 2 loads of 16 bytes; the latency is an assumption
note: a warp takes registers in units of 256, a block shared memory in units of 128 bytes, and 1024 more
";
    assert_eq!(run.fine(), expected);
}

#[test]
fn a_kernel_has_the_registers_of_the_readings() {
    let run = run(&["occupancy", "rms_norm_f32_level4", "--gpu", "8.6"]);
    let text = run.fine();
    assert!(text.contains("compute capability 8.6"), "{text}");
    assert!(text.contains("read on an NVIDIA H200"), "{text}");
    assert!(!text.contains("Little"), "{text}");
}

#[test]
fn a_file_declares_threads_and_shared_memory() {
    let fixture = Fixture::golden("gnn-plain");
    let kernel = |name: &str| {
        format!(
            ".visible .entry {name}()\n.maxntid 128, 1, 1\n{{\n\
             .shared .align 4 .b8 sums[2048];\n.reg .u32 %x;\n\
             mov.u32 %x, sums;\nst.shared.u32 [%x], %x;\nret;\n}}\n"
        )
    };
    let head = ".version 8.0\n.target sm_75\n.address_size 64\n";
    let one = fixture.write("one.ptx", format!("{head}{}", kernel("first")));
    let text = run(&["occupancy", &one, "--registers", "40"]);
    let expected = "first: 128 threads, 40 registers per thread, 2048 bytes of shared memory\n";
    assert!(text.fine().starts_with(expected), "{}", text.stdout);
    run(&["occupancy", &one]).refused(&["--registers", "`ptxas -v`", "found none"]);

    let two = [kernel("first"), kernel("second")].concat();
    let two = fixture.write("two.ptx", format!("{head}{two}"));
    run(&["occupancy", &two]).refused(&["--entry", "one of first, second"]);
    run(&["occupancy", &two, "--entry", "third"]).refused(&[&two, "`third`"]);
    let second = ["occupancy", &two, "--entry", "second", "--registers", "255"];
    assert!(run(&second).fine().starts_with("second: "));
}

#[test]
fn numbers_that_no_launch_has() {
    let of = |more: &str| {
        let args = format!("occupancy --threads 256 --registers 64 {more}");
        run(&args.split_whitespace().collect::<Vec<_>>())
    };
    of("--gpu 6.1").refused(&["--gpu", "one of 7.5, 8.0", "\"6.1\""]);
    of("--gpu new").refused(&["--gpu", "\"new\""]);
    of("--shared 232449").refused(&["--shared", "from 0 to 232448"]);
    of("--gpu 8.6 --shared 102400").refused(&["--shared", "from 0 to 101376"]);
    of("--shared -1").refused(&["--shared"]);
    run(&["occupancy"]).refused(&["a kernel such as rms_norm_f32_level4", "none"]);
    let alone = run(&["occupancy", "--registers", "32"]);
    alone.refused(&["--threads", "from 1 to 1024", "none"]);
    for (threads, registers, wrong) in [("0", "32", "--threads"), ("32", "256", "--registers")] {
        let args = ["occupancy", "--threads", threads, "--registers", registers];
        run(&args).refused(&[wrong]);
    }
}

#[test]
fn kernels_that_are_not_there() {
    run(&["occupancy", "nothing"]).refused(&["such as rms_norm_f32_level4", "\"nothing\""]);
    run(&["occupancy", "rms_norm"]).refused(&[
        "one of rms_norm_bf16_level3, ",
        ", rms_norm_f32_level4, rms_norm_f32_level4_fallback, found",
    ]);
    run(&["occupancy", "nothing.ptx"]).unreadable("nothing.ptx");
    let entry = ["occupancy", "rms_norm_f32_level4", "--entry", "x"];
    run(&entry).refused(&["a .ptx or .cu file for --entry"]);
}

/// A launch that fails has no warps, and says so.
#[test]
fn a_block_that_does_not_fit() {
    let run = run(&["occupancy", "--threads", "1024", "--registers", "128"]);
    let text = run.fine();
    assert!(
        text.contains("no block fits and the launch fails"),
        "{text}"
    );
    assert!(
        text.contains("to raise it: at most 64 registers per thread (32 warps), or 512 threads per block (16 warps)"),
        "{text}"
    );
}
