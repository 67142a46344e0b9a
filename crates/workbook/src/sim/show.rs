//! Formats a report for a terminal.

use std::collections::BTreeMap;

use simt::{Counts, Report};

use super::findings;
use super::text::Text;

/// How much to print about costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Costs {
    /// Nothing.
    Nothing,
    /// Costs of the whole kernel.
    Totals,
    /// Costs of the kernel and of each line.
    Lines,
}

/// Formats the launch, its output, its costs and its findings.
pub fn all(report: &Report, text: &Text, costs: Costs) -> String {
    let mut out = String::new();
    if costs != Costs::Nothing {
        let size = |[x, y, z]: [u32; 3]| format!("{x} × {y} × {z}");
        let (grid, block) = (size(report.grid), size(report.block));
        out += &format!("{}: grid {grid}, block {block}\n", report.entry);
    }
    out += &report.printed;
    if !report.printed.is_empty() && !report.printed.ends_with('\n') {
        out.push('\n');
    }
    if costs != Costs::Nothing {
        out += &totals(&report.total);
    }
    if costs == Costs::Lines {
        out += &by_line(report, text);
    }
    out += &findings::all(&report.findings, text);
    out
}

/// A kind of memory access: two names, and its requests, cost and minimum cost.
type Access = (&'static str, &'static str, [u64; 3]);

fn accesses(c: &Counts) -> [Access; 4] {
    [
        (
            "global loads",
            "sectors of 32 bytes",
            [
                c.global_load_requests,
                c.global_load_sectors,
                c.global_load_ideal,
            ],
        ),
        (
            "global stores",
            "sectors of 32 bytes",
            [
                c.global_store_requests,
                c.global_store_sectors,
                c.global_store_ideal,
            ],
        ),
        (
            "shared loads",
            "wavefronts",
            [
                c.shared_load_requests,
                c.shared_load_wavefronts,
                c.shared_load_ideal,
            ],
        ),
        (
            "shared stores",
            "wavefronts",
            [
                c.shared_store_requests,
                c.shared_store_wavefronts,
                c.shared_store_ideal,
            ],
        ),
    ]
}

/// Formats the kernel's costs: memory as hardware counts it, and estimates of the rest.
fn totals(counts: &Counts) -> String {
    let mut rows = vec![["", "requests", "needed", "least", ""].map(str::to_owned)];
    for (name, unit, [requests, needed, least]) in accesses(counts) {
        if requests != 0 {
            let [requests, needed, least] = [requests, needed, least].map(|n| n.to_string());
            rows.push([name.into(), requests, needed, least, unit.into()]);
        }
    }
    let mut out = match rows.len() {
        1 => String::new(),
        _ => aligned(&rows),
    };
    let lanes = lanes(counts);
    let Counts {
        warps,
        divergent,
        flops,
        ..
    } = counts;
    out += &format!(
        "  of the PTX, an estimate of the machine code: {warps} warp instructions with {lanes} of 32 lanes active, \
         {divergent} divergent branches, {flops} FLOPs counted as executed, padding included\n"
    );
    out
}

/// Average number of active lanes per warp instruction.
fn lanes(counts: &Counts) -> String {
    format!("{:.1}", counts.threads as f64 / counts.warps.max(1) as f64)
}

/// Formats the costs of each source line, or PTX line without a source.
fn by_line(report: &Report, text: &Text) -> String {
    let mut lines: BTreeMap<(Option<(String, u32)>, u32), Counts> = BTreeMap::new();
    for line in &report.lines {
        let number = if line.source.is_some() { 0 } else { line.line };
        let counts = lines.entry((line.source.clone(), number)).or_default();
        counts.add(&line.counts);
    }
    let titles = [
        "line",
        "warps",
        "lanes",
        "divergent",
        "FLOPs",
        "global ld",
        "global st",
        "shared ld",
        "shared st",
        "",
    ];
    let mut rows = vec![titles.map(str::to_owned)];
    for ((source, number), counts) in &lines {
        let (place, code) = text.place(*number, source.as_ref());
        let or_nothing = |n: u64| if n == 0 { String::new() } else { n.to_string() };
        let [gl, gs, sl, ss] = accesses(counts).map(|(_, _, [requests, needed, least])| {
            let nothing = requests == 0;
            if nothing {
                String::new()
            } else {
                format!("{needed}/{least}")
            }
        });
        rows.push([
            place,
            counts.warps.to_string(),
            lanes(counts),
            or_nothing(counts.divergent),
            or_nothing(counts.flops),
            gl,
            gs,
            sl,
            ss,
            shortened(&code),
        ]);
    }
    aligned(&rows)
}

/// Shortens a long line.
fn shortened(code: &str) -> String {
    const LONGEST: usize = 60;
    match code.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &code[..end]),
        None => code.to_owned(),
    }
}

/// Aligns the first and last column to the left, the others to the right.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; N] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let line = |row: &[String; N]| {
        let mut text = format!("  {:1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(widths).take(N - 1).skip(1) {
            text += &format!("  {cell:>width$}");
        }
        text += &format!("  {}", row[N - 1]);
        text.trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
