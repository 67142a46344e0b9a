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

/// The launch, what it printed, what it cost, what it `left` in the buffers, and what is wrong with it; tables in the `width`
/// of the terminal, if the output is one.
pub fn all(report: &Report, text: &Text, costs: Costs, left: &str, width: Option<usize>) -> String {
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
        out += &by_line(report, text, width);
    }
    out += left;
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
    let mut rows = vec![
        ["", "requests", "needed", "least", ""]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (name, unit, [requests, needed, least]) in accesses(counts) {
        if requests != 0 {
            let [requests, needed, least] = [requests, needed, least].map(|n| n.to_string());
            rows.push(vec![name.into(), requests, needed, least, unit.into()]);
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
        "  of the PTX, an estimate of the machine code: {warps} warp instructions with {lanes} of 32 lanes active,\n\
         \x20 {divergent} divergent branches, {flops} FLOPs counted as executed, padding included\n"
    );
    out
}

/// Average number of active lanes per warp instruction.
fn lanes(counts: &Counts) -> String {
    format!("{:.1}", counts.threads as f64 / counts.warps.max(1) as f64)
}

/// Explains the cells of [`by_line`].
const LEGEND: &str =
    "  a/b: sectors (shared: wavefronts) needed / least; lanes: mean active of 32\n";

/// Columns that are left for the text of a line where all others are shown.
const LEAST_CODE: usize = 24;

/// Width of a table where the output is no terminal, unless it has to be wider.
const WIDTH: usize = 100;

/// The costs of each line of the source, or of the PTX where that names none: without the columns that are empty, and
/// without the least important ones where the `width` of a terminal has no room.
fn by_line(report: &Report, text: &Text, width: Option<usize>) -> String {
    let mut lines: BTreeMap<(Option<(String, u32)>, u32), Counts> = BTreeMap::new();
    for line in &report.lines {
        let number = if line.source.is_some() { 0 } else { line.line };
        let counts = lines.entry((line.source.clone(), number)).or_default();
        counts.add(&line.counts);
    }
    let places = lines
        .keys()
        .map(|(source, number)| text.place(*number, source.as_ref()));
    let places: Vec<(String, String)> = places.collect();
    let file = |place: &str| {
        place
            .rsplit_once(':')
            .map_or("", |(file, _)| file)
            .to_owned()
    };
    let mut files: Vec<String> = places.iter().map(|(place, _)| file(place)).collect();
    files.dedup();
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
    ];
    let mut rows = vec![titles.map(str::to_owned)];
    for ((place, _), counts) in places.iter().zip(lines.values()) {
        let or_nothing = |n: u64| if n == 0 { String::new() } else { n.to_string() };
        let [gl, gs, sl, ss] = accesses(counts).map(|(_, _, [requests, needed, least])| {
            let nothing = requests == 0;
            if nothing {
                String::new()
            } else {
                format!("{needed}/{least}")
            }
        });
        let line = match files.len() {
            1 => place.rsplit(':').next(),
            _ => place.rsplit(['/', '\\']).next(),
        };
        rows.push([
            line.unwrap_or_default().to_owned(),
            counts.warps.to_string(),
            lanes(counts),
            or_nothing(counts.divergent),
            or_nothing(counts.flops),
            gl,
            gs,
            sl,
            ss,
        ]);
    }
    let longest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let mut columns: Vec<usize> = (0..titles.len())
        .filter(|&column| rows[1..].iter().any(|row| !row[column].is_empty()))
        .collect();
    let taken =
        |columns: &[usize]| -> usize { columns.iter().map(|&c| longest(c).unwrap_or(0) + 2).sum() };
    let mut hidden = vec![];
    for (column, title) in [(3, "divergent"), (4, "FLOPs"), (2, "lanes"), (1, "warps")] {
        let fits = width.is_none_or(|width| taken(&columns) + LEAST_CODE + 2 <= width);
        if !fits && columns.contains(&column) {
            columns.retain(|&c| c != column);
            hidden.push(title);
        }
    }
    let taken = taken(&columns) + 2;
    let room = match width {
        Some(width) => width.saturating_sub(taken),
        None => WIDTH.saturating_sub(taken).max(LEAST_CODE),
    };
    let codes = std::iter::once("").chain(places.iter().map(|(_, code)| code.as_str()));
    let table: Vec<Vec<String>> = rows
        .iter()
        .zip(codes)
        .map(|(row, code)| {
            let cells = columns.iter().map(|&column| row[column].clone());
            cells.chain([shortened(code, room)]).collect()
        })
        .collect();
    let mut out = match &files[..] {
        [file] => format!("  {file}\n"),
        _ => String::new(),
    };
    out += &aligned(&table);
    out += LEGEND;
    if !hidden.is_empty() {
        out += &format!(
            "  no room for: {} (widen the terminal)\n",
            hidden.join(", ")
        );
    }
    out
}

/// The start of a line that is longer than `room`.
fn shortened(code: &str, room: usize) -> String {
    match code.char_indices().nth(room) {
        Some(_) => {
            let start: String = code.chars().take(room.saturating_sub(1)).collect();
            start.trim_end().to_owned() + "…"
        }
        None => code.to_owned(),
    }
}

/// The first and last column to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let mut text = format!("  {:1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(&widths).take(columns - 1).skip(1) {
            text += &format!("  {cell:>width$}");
        }
        text += &format!("  {}", row[columns - 1]);
        text.trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use simt::{Case, Module, Options};

    use super::*;

    /// A cost that takes many columns.
    const LARGE: u64 = 1_000_000_000_000_000;

    /// All rows fit the width; where there is little of it, columns go before the code, and the table says which.
    #[test]
    fn a_table_fits_its_width() -> anyhow::Result<()> {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/simulated/");
        let file = format!("{root}column_mean.ptx");
        let text = Text::read(file.as_ref(), "")?;
        let case: Case =
            "--entry column_mean --block 128 --arg f32:8x128:random --arg f32:128:poison --arg i32:8 --arg i32:128"
                .parse()?;
        let mut operands = case.operands(0, "".as_ref())?;
        let kernel = case.kernel(&Module::parse(&text.ptx)?)?;
        let mut report = kernel.launch(
            operands.dim,
            &mut operands.buffers,
            &operands.args,
            &Options::default(),
        )?;
        for (width, hidden) in [
            (100, ""),
            (70, "no room for: FLOPs"),
            (50, "FLOPs, lanes, warps"),
        ] {
            let table = by_line(&report, &text, Some(width));
            let rows = table
                .lines()
                .skip(1)
                .take_while(|line| !line.contains("a/b"));
            for line in rows.clone() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            assert!(rows.count() > 5 && table.contains(LEGEND), "{table}");
            assert!(table.contains(hidden), "{hidden:?} in {table}");
            assert_eq!(table.contains("no room"), !hidden.is_empty(), "{table}");
            assert!(
                !table.contains("shared ld"),
                "no line reads shared memory: {table}"
            );
        }
        // Without a terminal, a table takes the columns that it needs.
        assert_eq!(
            by_line(&report, &text, None),
            by_line(&report, &text, Some(WIDTH))
        );
        for line in &mut report.lines {
            let counts = &mut line.counts;
            (counts.shared_load_requests, counts.shared_store_requests) = (1, 1);
            (counts.shared_load_ideal, counts.shared_store_ideal) = (LARGE, LARGE);
            (
                counts.shared_load_wavefronts,
                counts.shared_store_wavefronts,
            ) = (LARGE, LARGE);
        }
        assert!(by_line(&report, &text, Some(WIDTH)).contains("no room for: "));
        let table = by_line(&report, &text, None);
        assert!(!table.contains("no room"), "{table}");
        assert!(table.contains("FLOPs"), "{table}");
        Ok(())
    }
}
