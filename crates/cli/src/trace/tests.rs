use super::*;

fn event(kernel: &'static str, depth: usize, ms: u64) -> Event {
    Event {
        kernel,
        depth,
        tensors: 2,
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

fn launch(kernel: &'static str, blocks: u32) -> Launched {
    Launched {
        kernel: kernel.into(),
        grid: [blocks, 8, 1],
        block: [128, 1, 1],
        smem: 16896,
        registers: Some(96),
    }
}

#[test]
fn nested_events_are_added_up() {
    let events = [
        priced("norm_qkv", 3, 1_500_000, 6_000_000_000),
        event("rms_norm_level2", 1, 1),
        event("linear_level1", 1, 2),
        priced("linear", 4, 999, 0),
        event("linear_level1", 1, 4),
        priced("norm_qkv", 3, 1_500_000, 6_000_000_000),
        event("rms_norm_level2", 1, 1),
        event("linear_level1", 1, 1),
    ];
    let expected = "\
op                 calls  tensors   bytes   FLOPs      ms   share  GB/s  GFLOP/s  runs as
norm_qkv               2        4  3.00 M  12.0 G   6.000   60.0%  0.50     2000
  rms_norm_level2      2        4                   2.000   20.0%                 candle, fused
  linear_level1        2        4                   3.000   30.0%                 candle
linear                 1        2     999       0   4.000   40.0%  0.00
  linear_level1        1        2                   4.000   40.0%                 candle
all                    3        6  3.00 M  12.0 G  10.000  100.0%  0.30     1200
";
    assert_eq!(table(&rows(&events), true), expected);
}

#[test]
fn launches_are_below_their_op() {
    let mut events = [
        priced("linear_level4", 1, 10_000_000, 5),
        priced("linear_level4", 1, 10_000_000, 5),
        event("rope_level4", 1, 1),
    ];
    let kernel = "linear_f32_level4";
    events[0].launches = vec![launch(kernel, 64), launch("split_f32_level4", 1)];
    events[1].launches = vec![launch(kernel, 64), launch(kernel, 7)];
    events[2].launches = vec![Launched {
        grid: [5, 1, 2],
        smem: 0,
        registers: None,
        ..launch("rope_f32_level4", 5)
    }];
    let expected = "\
op                   calls  tensors   bytes  FLOPs     ms   share  GB/s  GFLOP/s  runs as
linear_level4            2        4  20.0 M     10  2.000  100.0%  10.0     0.00  CUDA C++
  linear_f32_level4      2  grid 64×8   block 128  16896 B shared  96 registers
  linear_f32_level4      1  grid 7×8    block 128  16896 B shared  96 registers
  split_f32_level4       1  grid 1×8    block 128  16896 B shared  96 registers
  rope_level4            1        2                 1.000   50.0%                 CUDA C++
    rope_f32_level4      1  grid 5×1×2  block 128  0 B shared
";
    assert_eq!(table(&rows(&events), true), expected);
}

#[test]
fn rare_launches_are_counted() {
    let mut events = [priced("attention_level4", 1, 1, 1)];
    events[0].launches = (1..=9)
        .chain([9, 9, 8])
        .map(|blocks| launch("decode_f32_level4", blocks))
        .collect();
    let table = table(&rows(&events), true);
    let lines: Vec<&str> = table.lines().skip(2).collect();
    let count = |line: &str| line.split_whitespace().nth(1).map(str::to_string);
    assert_eq!(lines.len(), 4);
    assert_eq!(count(lines[0]).as_deref(), Some("3"));
    assert_eq!(count(lines[1]).as_deref(), Some("2"));
    assert!(
        lines[3].trim_start().starts_with("in 6 other shapes"),
        "{table}"
    );
    assert!(lines[3].ends_with(" 6"), "{table}");
}

#[test]
fn the_table_and_its_legend_fit_a_terminal() {
    let mut events = [priced("causal_attention_level4", 99_999, 1 << 50, 1 << 60)];
    let kernel = "causal_attention_decode_bf16_level4";
    events[0].launches = vec![Launched {
        grid: [10_000, 1000, 64],
        block: [1024, 1, 1],
        ..launch(kernel, 1)
    }];
    for on_gpu in [true, false] {
        let text = table(&rows(&events), on_gpu) + LEGEND + runs_as(on_gpu);
        for line in text.lines() {
            assert!(line.chars().count() <= 120, "{line}");
        }
    }
}

/// The simulator's time is no time of the kernel.
#[test]
fn on_a_cpu_a_kernel_is_simulated() {
    let mut events = [
        priced("segment_mean", 70, 1_000_000, 5),
        priced("linear", 5, 1_000_000, 5),
    ];
    events[0].launches = vec![launch("mean", 7)];
    let table = table(&rows(&events), false);
    let line = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap();
    let mean: Vec<&str> = line("segment_mean").split_whitespace().collect();
    assert_eq!(mean[6..], ["–", "–", "–", "–", "simulated"], "{table}");
    assert!(line("linear").contains("5.000  100.0%"), "{table}");
    assert!(line("all").contains("5.000  100.0%"), "{table}");
}

/// A CPU runs no PTX and no CUDA, whatever the level of the kernel.
#[test]
fn on_a_cpu_the_levels_of_kernels_run_as_rust_twins() {
    let events = [
        event("linear_level5", 0, 1),
        event("linear_level5_threads", 1, 1),
        event("candle", 1, 1),
        event("rms_norm_level2", 0, 1),
    ];
    let table = table(&rows(&events), false);
    let ends: Vec<&str> = (table.lines())
        .map(|line| line.rsplit("  ").next().unwrap().trim())
        .collect();
    assert_eq!(ends[..3], ["runs as", "Rust twin", "Rust twin"]);
    assert_eq!(ends[4], "candle, fused");
    assert!(!table.contains("PTX") && !table.contains("CUDA"), "{table}");
}

#[test]
fn a_program_that_runs_no_kernel_has_an_empty_table() -> anyhow::Result<()> {
    assert_eq!(traced(true, &Device::Cpu, || Ok(7))?, 7);
    Ok(())
}

/// A long reason does not widen the columns of the launches.
#[test]
fn a_long_reason_leaves_the_launches_where_they_are() {
    let mut picked = event("linear_level4", 1, 1);
    picked.why = Some("measured on a machine with a long name: ".repeat(4));
    picked.launches = vec![launch("linear_f32_level4", 64)];
    let table = table(&rows(&[event("linear_level5", 0, 1), picked]), true);
    let launched = table.lines().find(|line| line.contains("grid")).unwrap();
    assert!(
        launched.ends_with("grid 64×8  block 128  16896 B shared  96 registers"),
        "{launched}"
    );
}

#[test]
fn reasons_are_below_their_kernel() {
    let picked = |why: &str| Event {
        why: Some(why.into()),
        ..event("candle", 1, 1)
    };
    let events = [
        event("linear_level5", 0, 1),
        picked("m 1: 2.00 µs"),
        event("linear_level5", 0, 1),
        picked("m 4: 3.00 µs"),
        event("linear_level5", 0, 1),
        picked("m 1: 2.00 µs"),
    ];
    let table = table(&rows(&events), true);
    let lines: Vec<_> = table.lines().map(str::trim_end).collect();
    assert!(lines[2].trim_start().starts_with("candle"));
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(lines[3]), "picked 2 m 1: 2.00 µs");
    assert_eq!(words(lines[4]), "picked 1 m 4: 3.00 µs");
}
