use std::thread::sleep;
use std::time::Duration;

use super::*;
use crate::{Launched, launched, needs, span};

fn event(kernel: &'static str, depth: usize, ms: u64) -> Event {
    Event {
        kernel,
        depth,
        tensors: 0,
        needs: None,
        time: Duration::from_millis(ms),
        launches: vec![],
        why: None,
    }
}

fn priced(kernel: &'static str, ms: u64, bytes: u64, flops: u64) -> Event {
    Event {
        needs: Some(Needs { bytes, flops }),
        ..event(kernel, 0, ms)
    }
}

fn launch(kernel: &'static str) -> Launched {
    Launched {
        kernel: kernel.into(),
        grid: [1; 3],
        block: [32, 1, 1],
        smem: 0,
        registers: None,
    }
}

/// 10 GB/s and 100 GFLOP/s: the ridge is at 10 FLOPs per byte.
const LIMITS: Limits = Limits {
    bytes_per_s: 10e9,
    flops_per_s: 100e9,
};

/// Two repetitions; a time is the median over both of the sum within each.
fn profile() -> Profile {
    let pass = |ms: u64| {
        vec![
            priced("norm_qkv", ms, 1_000_000, 200_000_000),
            event("rms_norm_level4", 1, 1),
            event("linear_level4", 1, ms - 1),
            priced("segment_mean", 2, 5_000_000, 5_000_000),
            priced("norm_qkv", ms, 1_000_000, 200_000_000),
            event("rms_norm_level4", 1, 1),
            event("linear_level4", 1, ms - 1),
        ]
    };
    Profile::of(&[12., 14.], &[pass(4), pass(6)])
}

#[test]
fn calls_are_added_within_a_repetition_only() {
    let profile = profile();
    let [qkv, mean] = &profile.ops[..] else {
        panic!("expected two ops, found {}", profile.ops.len());
    };
    assert_eq!((qkv.name, qkv.calls, qkv.ms.median), ("norm_qkv", 2., 10.));
    assert_eq!((qkv.ms.low, qkv.ms.high), (8.4, 11.6));
    let needs = Total {
        bytes: 2e6,
        flops: 4e8,
    };
    assert_eq!(qkv.needs, Some(needs));
    assert_eq!(qkv.kernels, ["rms_norm_level4", "linear_level4"]);
    assert_eq!(mean.kernels, ["segment_mean"]);
    assert_eq!((profile.together.median, profile.whole.median), (12., 13.));
    assert!((profile.share(qkv) - 10. / 12.).abs() < 1e-12);
}

#[test]
fn the_limit_with_the_longer_time_counts() {
    let profile = profile();
    // 2 MB take 0.2 ms and 400 MFLOP 4 ms of the 10; 5 MB take 0.5 ms of the 2, and 5 MFLOP less.
    assert_eq!(
        profile.ops[0].fraction(&LIMITS),
        Some((0.4, Limit::Arithmetic))
    );
    assert_eq!(
        profile.ops[1].fraction(&LIMITS),
        Some((0.25, Limit::Memory))
    );
    assert_eq!(profile.ops[0].gflop_per_s(), Some(40.));
    assert_eq!(profile.ops[1].gb_per_s(), Some(2.5));
}

#[test]
fn parts_of_a_repetition_have_the_same_rates() {
    let part = profile().per(4);
    assert_eq!((part.ops[0].calls, part.ops[0].ms.median), (0.5, 2.5));
    assert_eq!(
        part.ops[0].fraction(&LIMITS),
        Some((0.4, Limit::Arithmetic))
    );
    assert_eq!(part.whole.median, 3.25);
}

#[test]
fn the_table_has_every_op_and_the_whole() {
    let expected = "\
op            calls       ms  share   bytes   FLOPs  GB/s  GFLOP/s  of limit  by          ran
norm_qkv          2  10.0000  83.3%  2.00 M   400 M  0.20     40.0     40.0%  arithmetic  rms_norm_level4 + linear_level4
segment_mean      1   2.0000  16.7%  5.00 M  5.00 M  2.50     2.50     25.0%  memory      segment_mean
ops together 12.0000 ms, recorded one by one; the whole 13.0000 ms, unrecorded: between the ops 1.0000 ms
";
    assert_eq!(profile().table(&LIMITS), expected);
}

/// Nothing exceeds a limit: operands were in caches, or the op equals the measurement of the limit.
#[test]
fn no_op_is_above_its_limit() {
    for (fraction, limit, expected) in [
        (0.4, Limit::Memory, "40.0%"),
        (1., Limit::Memory, "100.0%"),
        (1.04, Limit::Memory, "at limit"),
        (4.029, Limit::Memory, "in cache"),
        (1.04, Limit::Arithmetic, "at limit"),
        (4.029, Limit::Arithmetic, "at limit"),
    ] {
        assert_eq!(
            Reached::of(fraction, limit).to_string(),
            expected,
            "{fraction}"
        );
    }
    // At 500 MB/s, 5 MB take at least 10 ms, but took 2.
    let slow = Limits {
        bytes_per_s: 5e8,
        flops_per_s: 100e9,
    };
    let table = profile().table(&slow);
    let mean = table.lines().find(|line| line.starts_with("segment"));
    let words: Vec<&str> = mean.unwrap().split_whitespace().rev().take(4).collect();
    assert_eq!(words, ["segment_mean", "memory", "cache", "in"]);
}

/// On a GPU the whole has two times, and an idle device is reported.
#[test]
fn the_table_says_by_which_clock() {
    let pass = |late| Pass {
        ms: 12.5,
        empty_ms: 0.002,
        late,
    };
    let on_device = |late| Profile {
        device: Some(OnDevice::of(&[pass(false), pass(late)])),
        ..profile()
    };
    let below = |late| {
        let table = on_device(late).per(2).table(&LIMITS);
        table.lines().skip(3).collect::<Vec<_>>().join("\n")
    };
    let line = "ops together 6.0000 ms of the 6.2500 ms that the device works on the whole; on the host 6.5000 ms, unrecorded\n\
                an empty op takes 0.0020 ms on this clock";
    assert_eq!(below(false), line);
    let waited =
        "in 1 of 2 repetitions the device waited for the host, and its waiting is in these times";
    assert_eq!(below(true), format!("{line}\n{waited}"));
}

/// On a busy machine the difference has no clear cause.
#[test]
fn noise_is_not_called_a_cost_of_recording() {
    let spread = Spread::of(&[1., 2.]);
    assert_eq!(spread.noise(), Some(1.9 / 1.1));
    assert_eq!(Spread::of(&[2., 2.5]).noise(), None);
    let noisy = Profile {
        whole: spread,
        ..profile()
    };
    let table = noisy.table(&LIMITS);
    assert!(
        table.contains("too noisy to compare") && table.contains("differ by 1.7×"),
        "{table}"
    );
    assert!(!table.contains("the recording cost"), "{table}");
    assert!(!table.contains('~'), "{table}");
    let mut noisy = profile();
    noisy.ops[0].ms = spread;
    assert!(noisy.table(&LIMITS).contains(" ~1.5000 "), "{table}");
}

#[test]
fn an_op_without_needs_has_no_rate() {
    let events = vec![event("mystery", 0, 1), priced("mystery", 1, 1, 1)];
    let profile = Profile::of(&[2.], &[events]);
    assert_eq!(profile.ops[0].needs, None);
    assert_eq!(profile.ops[0].fraction(&LIMITS), None);
    assert!(profile.table(&LIMITS).contains("mystery"));
}

/// The state is created for each repetition, outside of timing and recording.
#[test]
fn work_is_prepared_recorded_and_timed() -> Result<()> {
    let mut prepared = 0;
    let profile = Profiler::new(&Device::Cpu).repeats(3).run_from(
        &mut prepared,
        |prepared| {
            *prepared += 1;
            let _span = span("prepare");
            sleep(Duration::from_millis(20));
            Ok(())
        },
        |_| {
            needs(Needs {
                bytes: 10,
                flops: 0,
            });
            let _span = span("sleep");
            launched(|| launch("kernel"));
            sleep(Duration::from_millis(2));
            Ok(())
        },
    )?;
    // Two warm-ups, and three repetitions of each kind.
    assert_eq!((prepared, profile.repeats), (8, 3));
    let [op] = &profile.ops[..] else {
        panic!("expected one op, found {:?}", profile.ops);
    };
    assert_eq!((op.name, op.calls), ("sleep", 1.));
    assert_eq!(op.kernels, ["kernel"]);
    // A busy machine only makes times longer.
    assert!(op.ms.low >= 2. && profile.whole.low >= 2., "{profile:?}");
    assert_eq!(profile.device, None);
    Ok(())
}
