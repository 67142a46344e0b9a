//! The table of `--trace`.

use std::time::Duration;

use models::trace::{Launched, Needs};

use super::Row;
use models::trace::table::{Line, aligned, digits, si};
use results::runs_as_short;

/// Explanation of the columns, below the table.
pub const LEGEND: &str = "\
ms: time on the host. The device is synchronised before and after each op; an untraced run does not wait.
Each call was timed once: repeat it before you compare, or use `cargo run --release -- profile`, which takes medians.
A warm-up pass, which is not counted, packed the weights and, on a GPU, compiled the kernels.
bytes, FLOPs: the minimum that the op needs (each operand read once, each result written once), whatever the
kernel does. GB/s, GFLOP/s: these divided by the time. tensors: tensors created inside the op, including views.
Indented: the kernels of an op, why level 5 picked one, and launches of this workbook's own kernels on a GPU.
picked: the rule of the table; its time was measured at the largest size that the rule is for.
";

/// Explanation of the last column.
pub fn runs_as(on_gpu: bool) -> &'static str {
    if on_gpu {
        "runs as: candle's kernels at levels 1 and 2, PTX at 3, CUDA at 4; 5 picks from several.\n"
    } else {
        "runs as: on a CPU, levels 3 to 5 run Rust code in place of the GPU kernels (Rust twins), not PTX or CUDA.\n"
    }
}

/// Titles of the columns; the last column, what a kernel runs as, follows.
const TITLES: [&str; 9] = [
    "op", "calls", "tensors", "bytes", "FLOPs", "ms", "share", "GB/s", "GFLOP/s",
];

/// Maximum distinct launches to list per kernel; a decode has another grid for each length.
const LAUNCHES: usize = 3;

/// Formats one line per row, with the row's launches below it, and the sum of the ops. The share is of the
/// time of all ops.
pub fn table(rows: &[Row], on_gpu: bool) -> String {
    let ops = || rows.iter().filter(|row| row.is_outer());
    let timed = |row: &&Row| on_gpu || !row.has_launches();
    let total = total(ops().filter(timed));
    let mut lines = vec![Line {
        cells: TITLES.map(str::to_string).into(),
        words: vec!["runs as".into()],
    }];
    for row in rows {
        let depth = row.path.len() - 1;
        let kernel = row.path.last().copied().unwrap_or_default();
        let mut cells = cells(row, depth, total.time);
        let runs_as = if timed(&row) {
            runs_as_short(level_of(kernel), on_gpu)
        } else {
            // From the time on.
            cells[5..].fill("–".into());
            "simulated"
        };
        lines.push(Line {
            cells: cells.into(),
            words: vec![runs_as.into()],
        });
        lines.extend(reasons(&row.reasons, depth + 1));
        lines.extend(launches(&row.launches, depth + 1));
    }
    if ops().count() > 1 {
        lines.push(Line::of(cells(&total, 0, total.time)));
    }
    aligned(&lines)
}

/// The level in a kernel's name: 4 for `linear_level4`; 0 if there is none.
fn level_of(kernel: &str) -> usize {
    let after = kernel.split_once("_level").map(|(_, after)| after);
    let digit = after.and_then(|after| after.chars().next()?.to_digit(10));
    digit.map_or(0, |digit| digit as usize)
}

/// Adds up `rows`.
fn total<'a>(rows: impl Iterator<Item = &'a Row>) -> Row {
    let empty = Row {
        path: vec!["all"],
        needs: Some(Needs::default()),
        ..Row::default()
    };
    rows.fold(empty, |sum, row| Row {
        calls: sum.calls + row.calls,
        tensors: sum.tensors + row.tensors,
        needs: sum.needs.zip(row.needs).map(|(a, b)| Needs {
            bytes: a.bytes + b.bytes,
            flops: a.flops + b.flops,
        }),
        time: sum.time + row.time,
        ..sum
    })
}

fn cells(row: &Row, depth: usize, total: Duration) -> [String; 9] {
    let seconds = row.time.as_secs_f64();
    let share = 100. * seconds / total.as_secs_f64().max(f64::MIN_POSITIVE);
    let needs = |value: fn(&Needs) -> u64| row.needs.as_ref().map(|needs| value(needs) as f64);
    let (bytes, flops) = (needs(|n| n.bytes), needs(|n| n.flops));
    let amount = |x: Option<f64>| x.map_or(String::new(), si);
    let rate = |x: Option<f64>| match x {
        Some(x) if x > 0. && seconds > 0. => digits(x / seconds / 1e9),
        _ => String::new(),
    };
    [
        indented(row.path.last().copied().unwrap_or_default(), depth),
        row.calls.to_string(),
        row.tensors.to_string(),
        amount(bytes),
        amount(flops),
        format!("{:.3}", seconds * 1e3),
        format!("{share:.1}%"),
        rate(bytes),
        rate(flops),
    ]
}

/// Lists the most frequent launches of each kernel, in the order of first use, and counts the others.
pub fn launches(launches: &[(Launched, usize)], depth: usize) -> Vec<Line> {
    let mut kernels: Vec<Vec<&(Launched, usize)>> = vec![];
    for launch in launches {
        let same = |of: &&mut Vec<&(Launched, usize)>| of[0].0.kernel == launch.0.kernel;
        match kernels.iter_mut().find(same) {
            Some(of_kernel) => of_kernel.push(launch),
            None => kernels.push(vec![launch]),
        }
    }
    let mut lines = vec![];
    for mut of_kernel in kernels {
        of_kernel.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let (listed, others) = of_kernel.split_at(of_kernel.len().min(LAUNCHES));
        lines.extend(
            listed
                .iter()
                .map(|(launch, count)| line(launch, *count, depth)),
        );
        if !others.is_empty() {
            let count: usize = others.iter().map(|(_, count)| count).sum();
            let name = format!("in {} other shapes", others.len());
            lines.push(Line::of([indented(&name, depth + 1), count.to_string()]));
        }
    }
    lines
}

/// Maximum reasons to list per kernel.
const REASONS: usize = 4;

/// Lists the reasons for picking a kernel, the most frequent first.
fn reasons(reasons: &[(String, usize)], depth: usize) -> Vec<Line> {
    let mut reasons: Vec<_> = reasons.iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let line = |(why, count): &(String, usize)| Line {
        cells: vec![indented("picked", depth), count.to_string()],
        words: vec![why.clone()],
    };
    reasons.into_iter().take(REASONS).map(line).collect()
}

fn line(launch: &Launched, count: usize, depth: usize) -> Line {
    let registers = launch.registers.map(|n| format!("{n} registers"));
    Line {
        cells: vec![indented(&launch.kernel, depth), count.to_string()],
        words: vec![
            format!("grid {}", sizes(launch.grid)),
            format!("block {}", sizes(launch.block)),
            format!("{} B shared", launch.smem),
            registers.unwrap_or_default(),
        ],
    }
}

/// Formats sizes without trailing ones: `64×8`.
fn sizes([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x}×{y}"),
        _ => format!("{x}×{y}×{z}"),
    }
}

fn indented(name: &str, depth: usize) -> String {
    format!("{}{name}", "  ".repeat(depth))
}
