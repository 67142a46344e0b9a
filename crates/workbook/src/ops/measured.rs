//! The recorded times of each kernel file: all of them in a table below `kernels/generated`, and one line in the file's
//! header, which says how near the kernel comes to its bound. Both are written here, and never by hand.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result};
use results::{OpClock, OpResults, OpRow, Rate, level_number, spoken};
use simt::case::{file_of, files_below, is_reading_version};

/// The folder of the kernel files.
pub const KERNELS: &str = "kernels/src";

/// The begin of the line in a header.
const BEGIN: &str = "// Measured";

/// Percentage up to which a kernel is at its limit: the limit is measured, too, and so it has noise. A kernel that is faster
/// found its data in caches.
const AT_LIMIT: f64 = 103.;

/// Writes the tables and the headers' lines of all kernel files, and returns the paths of what changed. A header has one
/// line whatever is recorded, so the line numbers in a file's PTX stay.
pub fn rewrite(root: &Path, results: &OpResults) -> Result<Vec<PathBuf>> {
    let mut changed = vec![];
    for path in kernel_files(root)? {
        let file = File::read(root, &path, results)?;
        for (path, text) in [(&path, Some(file.source)), (&file.table_path, file.table)] {
            let before = match fs::read_to_string(path) {
                Ok(before) => Some(before),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error).with_context(|| path.display().to_string()),
            };
            if text == before {
                continue;
            }
            match text {
                Some(text) => data::save_as(path, text)?,
                None => fs::remove_file(path)?,
            }
            changed.push(path.clone());
        }
    }
    Ok(changed)
}

/// All kernel files but the reading versions, which never run.
fn kernel_files(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join(KERNELS);
    let files = files_below(&folder, &["cu", "ptx"]);
    let mut files = files.with_context(|| folder.display().to_string())?;
    files.retain(|path| !is_reading_version(path));
    Ok(files)
}

/// A kernel file, as the record has it.
struct File {
    /// The file's text with the line in its header.
    source: String,
    /// `kernels/generated/rms_norm/level4.md`
    table_path: PathBuf,
    /// The table; `None` where no kernel of the file was timed.
    table: Option<String>,
}

impl File {
    fn read(root: &Path, path: &Path, results: &OpResults) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let entries = entry_names(path)?;
        let ran = |row: &OpRow| row.kernels.iter().any(|kernel| entries.contains(kernel));
        let cases: Vec<&[OpRow]> = (results.cases())
            .filter(|case| case.iter().any(ran))
            .collect();
        let table_path = file_of(path).with_extension("md");
        let from_root = |path: &Path| {
            let path = path.strip_prefix(root).unwrap_or(path);
            path.display().to_string().replace('\\', "/")
        };
        let rows = cases.iter().copied().flatten().filter(|row| ran(row));
        // Other levels call the kernel too, in addition to their own kernels.
        let own: Vec<&OpRow> = rows
            .clone()
            .filter(|row| level_number(&row.level) == level(path))
            .collect();
        let rows = if own.is_empty() { rows.collect() } else { own };
        let line = line(&rows, &entries, results, &from_root(&table_path));
        let title = from_root(path);
        Ok(Self {
            source: with_line(&text, line.as_deref()),
            table: (!cases.is_empty()).then(|| table(&title, level(path), &cases, results)),
            table_path,
        })
    }
}

/// The level of a kernel file: 4 of `rms_norm/level4.cu` and of `linear/level4/gemv.cu`.
fn level(path: &Path) -> Option<u8> {
    let names = path.iter().rev().filter_map(|name| name.to_str());
    let digit = |name: &str| name.strip_prefix("level")?.get(..1)?.parse().ok();
    names.take(2).find_map(digit)
}

/// The names of the kernels in the PTX of a file.
fn entry_names(path: &Path) -> Result<Vec<String>> {
    let ptx = ptx_of(path)?;
    let text = fs::read_to_string(&ptx).with_context(|| format!("{}", ptx.display()))?;
    let name = |line: &str| {
        let (name, _) = line.split_once(".entry ")?.1.split_once('(')?;
        Some(name.trim().to_string())
    };
    Ok(text.lines().filter_map(name).collect())
}

/// A file's PTX: itself, or one of the texts that nvcc made of it, which have the same entries.
fn ptx_of(path: &Path) -> Result<PathBuf> {
    if path.extension().is_some_and(|e| e == "ptx") {
        return Ok(path.to_owned());
    }
    let beside = file_of(path);
    let name = beside.file_stem().unwrap_or_default().to_string_lossy();
    let folder = beside.parent().unwrap_or(Path::new("."));
    let begins = format!("{name}.sm_");
    let of_file = |other: &&PathBuf| {
        let other = other.file_name().unwrap_or_default().to_string_lossy();
        other.starts_with(&begins)
    };
    let all = files_below(folder, &["ptx"]).with_context(|| folder.display().to_string())?;
    let found = all.iter().find(of_file);
    found
        .cloned()
        .with_context(|| format!("{}: no PTX of it in {}", path.display(), folder.display()))
}

/// The header's line: the row with the longest bound, as a part of its bound. `None` where no row has a bound.
fn line(rows: &[&OpRow], entries: &[String], results: &OpResults, table: &str) -> Option<String> {
    let with_bound = (rows.iter()).filter_map(|row| Some((row, results.bound(row)?)));
    let (row, bound) = with_bound.max_by(|(_, a), (_, b)| a.us.total_cmp(&b.us))?;
    let OpRow {
        op, shape, dtype, ..
    } = row;
    let gpu = &results.machine.name;
    let limit = match bound.rate {
        Rate::Memory => "the memory bandwidth".to_string(),
        Rate::Matmul => format!("the fastest {dtype} matmul"),
    };
    let others = if row.kernels.iter().all(|kernel| entries.contains(kernel)) {
        ""
    } else {
        " with its other launches"
    };
    let part = 100. * bound.us / row.us();
    let reached = match part {
        ..1. => format!("less than 1% of {limit}"),
        ..=100. => format!("{part:.0}% of {limit}"),
        ..=AT_LIMIT => format!("the limit: {limit}"),
        _ => format!("{part:.0}% of {limit} (data in caches)"),
    };
    Some(format!(
        "{BEGIN} on an {gpu}: {op} {shape} {dtype}{others} at {reached}; see {table}."
    ))
}

/// All times of the cases that ran a kernel of the file, in Markdown, next to those of candle, copies and other
/// frameworks.
fn table(title: &str, level: Option<u8>, cases: &[&[OpRow]], results: &OpResults) -> String {
    let levels = 2..=level.unwrap_or(u8::MAX);
    let shown = |row: &&OpRow| level_number(&row.level).is_none_or(|n| levels.contains(&n));
    let mut columns: Vec<&str> = vec![];
    for row in cases.iter().copied().flatten().filter(shown) {
        if !columns.contains(&row.level.as_str()) {
            columns.push(&row.level);
        }
    }
    // Levels first, in their order: a case may lack one of them.
    columns.sort_by_key(|column| level_number(column).unwrap_or(u8::MAX));
    let titles: Vec<String> = columns.iter().map(|column| spoken(column)).collect();
    let machine = &results.machine;
    let driver = machine.driver.as_ref();
    let driver = driver.map_or_else(String::new, |driver| format!(", driver {driver}"));
    let mut text = format!(
        "# {title}, measured\n\n{}{driver}. Microseconds on the device, median: in a CUDA graph, \\* one by one, † by the host's \
         clock. *Bound* is the time that the measured memory bandwidth and the fastest measured matmul of the dtype allow at best. Shapes: M×K×N of a matmul, position + T×H×Hkv×D of attention. `workbook redraw` writes this \
         file from what `workbook ops` recorded.\n\n| op | shape | dtype | {} | bound | commit, date |\n|---|---|---|{}---:|---|\n",
        machine.name,
        titles.join(" | "),
        "---:|".repeat(titles.len()),
    );
    for case in cases {
        let OpRow {
            op, shape, dtype, ..
        } = &case[0];
        let rows: Vec<&OpRow> = case.iter().filter(shown).collect();
        let clock = OpClock::of(rows.iter().copied());
        let mut cells = vec![op.clone(), shape.clone(), dtype.clone()];
        for column in &columns {
            let row = rows.iter().find(|row| row.level == *column);
            cells.push(row.map_or_else(String::new, |row| cell(row, clock)));
        }
        let bound = case.iter().find_map(|row| results.bound(row));
        cells.push(bound.map_or_else(String::new, |bound| format!("{:.1}", bound.us)));
        let origin = case[0].origin.clone().unwrap_or_else(|| machine.origin());
        cells.push(format!("{}, {}", origin.commit, origin.date));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

fn cell(row: &OpRow, clock: OpClock) -> String {
    let mark = match clock {
        OpClock::Host => "†",
        OpClock::CudaGraph if clock.has(row) => "",
        _ => "\\*",
    };
    format!("{:.1}{mark}", clock.us(row))
}

/// `text` with `line` as the last paragraph of its header, in place of what stood there before.
fn with_line(text: &str, line: Option<&str>) -> String {
    let header = text.lines().take_while(|line| line.starts_with("//"));
    let length: usize = header.clone().map(|line| line.len() + 1).sum();
    let mut others: Vec<&str> = header.filter(|line| !line.starts_with(BEGIN)).collect();
    while others.last() == Some(&"//") {
        others.pop();
    }
    let measured = line.map_or_else(String::new, |line| format!("//\n{line}\n"));
    format!("{}\n{measured}{}", others.join("\n"), &text[length..])
}

#[cfg(test)]
mod tests {
    use results::{Machine, Origin};

    use super::*;
    use crate::compare::root;

    #[test]
    fn the_line_is_the_last_paragraph_of_the_header() {
        let line = "// Measured: 1x2 f32 at 50%.";
        let text =
            "// A kernel.\n// Measured: elsewhere.\n//\n// Launch: one block.\n\n.version 6.3\n";
        let expected = "// A kernel.\n//\n// Launch: one block.\n//\n// Measured: 1x2 f32 at 50%.\n\n.version 6.3\n";
        let new = with_line(text, Some(line));
        assert_eq!(new, expected);
        assert_eq!(with_line(&new, Some(line)), new, "twice is once");
        let without = "// A kernel.\n//\n// Launch: one block.\n\n.version 6.3\n";
        assert_eq!(with_line(&new, None), without);
        assert_eq!(with_line(without, None), without);
    }

    /// A GPU that moves 1000 bytes in a microsecond, and does 1000 FLOPs.
    fn recorded(rows: Vec<OpRow>) -> OpResults {
        let limit = |shape: &str| OpRow {
            op: "limits".into(),
            shape: shape.into(),
            level: "limits".into(),
            dtype: "f32".into(),
            host_us: 1e6,
            bytes: (shape == "memory").then_some(1_000_000_000),
            flops: (shape == "arithmetic").then_some(1_000_000_000),
            ..OpRow::default()
        };
        let machine = Machine {
            name: "NVIDIA G".into(),
            ..Machine::default()
        };
        let mut results = OpResults::new(machine);
        results.rows = vec![limit("memory"), limit("arithmetic")];
        results.rows.extend(rows);
        results
    }

    fn row(level: &str, device_us: Option<f64>, kernels: &[&str]) -> OpRow {
        OpRow {
            op: "rms_norm".into(),
            shape: "1x2".into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us: 9.,
            device_us,
            needs_bytes: Some(1000),
            needs_flops: Some(10),
            kernels: kernels.iter().map(|&name| name.into()).collect(),
            origin: Some(Origin {
                commit: "abc".into(),
                date: "2026-11-25".into(),
            }),
            ..OpRow::default()
        }
    }

    #[test]
    fn a_case_stands_with_the_kernels_that_ran_in_it() -> Result<()> {
        let results = recorded(vec![
            row("level2", Some(9.), &[]),
            row("level3", Some(4.), &["rms_norm_f32_level3"]),
            row("level4", Some(2.), &["rms_norm_f32_level4"]),
            row("pytorch", Some(8.), &[]),
        ]);
        let root = root()?;
        let read = |file: &str| File::read(&root, &root.join(KERNELS).join(file), &results);
        let level3 = read("rms_norm/level3.ptx")?;
        let table = level3.table.context("a table")?;
        assert!(table.starts_with("# kernels/src/rms_norm/level3.ptx, measured\n\nNVIDIA G."));
        let last = "| rms_norm | 1x2 | f32 | 9.0\\* | 4.0\\* | 8.0\\* | 1.0 | abc, 2026-11-25 |\n";
        assert!(table.ends_with(last), "{table}");
        let level4 = read("rms_norm/level4.cu")?;
        let table = level4.table.context("a table")?;
        assert!(table.contains("| level 2 | level 3 | level 4 | PyTorch | bound |"));
        let line = "// Measured on an NVIDIA G: rms_norm 1x2 f32 at 50% of the memory bandwidth; see \
                    kernels/generated/rms_norm/level4.md.\n";
        assert!(level4.source.contains(line), "{}", level4.source);
        assert_eq!(read("softmax/level4.cu")?.table, None);
        Ok(())
    }

    /// An op that waits for the device is timed by the host's clock alone, and so is the copy next to it.
    #[test]
    fn a_case_has_one_clock() {
        let case = [row("level3", None, &[]), row("copy", Some(2.), &[])];
        let results = recorded(case.to_vec());
        let table = table("a file", Some(4), &[&case], &results);
        assert!(table.contains("| 9.0† | 9.0† | 1.0 |"), "{table}");
    }

    #[test]
    fn the_files_say_what_is_recorded() -> Result<()> {
        let root = root()?;
        let results = OpResults::load(&root.join("benches/results/ops/h200.json"))?;
        let mut tables = vec![];
        for path in kernel_files(&root)? {
            let file = File::read(&root, &path, &results)?;
            tables.extend(file.table.is_some().then(|| file.table_path.clone()));
            for (path, text) in [(&path, Some(file.source)), (&file.table_path, file.table)] {
                assert!(
                    fs::read_to_string(path).ok() == text,
                    "{}: expected what benches/results/ops/h200.json says; `workbook redraw` writes it",
                    path.display()
                );
            }
        }
        assert!(tables.len() > 30, "{}", tables.len());
        tables.sort();
        let found = files_below(&root.join("kernels/generated"), &["md"])?;
        assert_eq!(found, tables, "a table for each kernel file that was timed");
        Ok(())
    }
}
