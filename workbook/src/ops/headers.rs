//! What was measured of a kernel, in the header of its file: written here, and never by hand.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use results::{Machine, OpResults, OpRow};

/// The line that begins it.
const BEGIN: &str = "// Measured";

/// Writes what `results` say of it into the header of each kernel's file under `kernels/src`; returns the paths of
/// those that changed. The PTX of a changed CUDA file has to be made again: it names the file's lines.
pub fn rewrite(root: &Path, results: &OpResults) -> Result<Vec<PathBuf>> {
    let mut changed = vec![];
    for path in sources(root)? {
        let context = || format!("{}", path.display());
        let text = std::fs::read_to_string(&path).with_context(context)?;
        let new = filled(&text, &block(&path, results));
        if new != text {
            charts::write_atomically(&path, new.as_bytes()).with_context(context)?;
            changed.push(path);
        }
    }
    Ok(changed)
}

/// The files that people wrote: `level*.cu`, and `level*.ptx` that was not made of one.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![];
    for op in entries(&root.join("kernels/src"))? {
        if !op.is_dir() {
            continue;
        }
        found.extend(entries(&op)?.into_iter().filter(|path| {
            let extension = path.extension().and_then(|e| e.to_str());
            stem(path).starts_with("level")
                && match extension {
                    Some("cu") => true,
                    Some("ptx") => !path.with_extension("cu").exists(),
                    _ => false,
                }
        }));
    }
    found.sort();
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect();
    let read: std::io::Result<Vec<PathBuf>> = read();
    read.with_context(|| format!("{}", folder.display()))
}

fn stem(path: &Path) -> &str {
    path.file_stem()
        .and_then(|s| s.to_str())
        .unwrap_or_default()
}

/// The lines for a file: none where nothing of it was measured.
fn block(path: &Path, results: &OpResults) -> Vec<String> {
    let rows: Vec<&OpRow> = results.rows.iter().filter(|row| is_of(path, row)).collect();
    if rows.is_empty() {
        return vec![];
    }
    let cases = rows.chunk_by(|a, b| (&a.op, &a.shape, &a.dtype) == (&b.op, &b.shape, &b.dtype));
    let mut lines = vec![title(&results.machine)];
    lines.extend(cases.map(|case| line(path, case)));
    lines
}

fn title(machine: &Machine) -> String {
    format!(
        "{BEGIN} on an {}, microseconds on the device (workbook ops, commit {}, {}):",
        machine.name, machine.commit, machine.date
    )
}

/// `//   linear 128x512x512 bf16: level 2 9.9, level 3 16.3, level 4 7.3`
fn line(path: &Path, case: &[&OpRow]) -> String {
    let level = stem(path).trim_start_matches("level")[..1]
        .parse()
        .unwrap_or(9);
    let number = |row: &OpRow| row.level.strip_prefix("level")?.parse::<u8>().ok();
    let times: Vec<String> = case
        .iter()
        .filter(|row| number(row).is_none_or(|n| (2..=level).contains(&n)))
        .map(|row| {
            let name = number(row).map_or(
                row.level.replace("pytorch", "PyTorch").replace('_', " "),
                |n| format!("level {n}"),
            );
            format!("{name} {:.1}", row.us())
        })
        .collect();
    let OpRow {
        op, shape, dtype, ..
    } = case[0];
    format!("//   {op} {shape} {dtype}: {}", times.join(", "))
}

/// Whether the kernels of a file are in what was measured.
fn is_of(path: &Path, row: &OpRow) -> bool {
    let stem = stem(path);
    let folder = path.parent().and_then(|p| p.file_name()?.to_str());
    let few = row.shape.starts_with("1x"); // rows of x, which another file's kernels take
    let op = row.op.as_str();
    let op_is = match (folder.unwrap_or_default(), stem) {
        ("linear", s) if s.contains("gelu") => op == "linear_gelu",
        ("linear", s) if s.contains("swiglu") => op == "linear_swiglu",
        ("linear", s) if s.starts_with("level3") => ["linear", "qkv", "qkv_skip"].contains(&op),
        ("linear", s) => {
            (op.starts_with("linear") || op.starts_with("qkv")) && few == s.ends_with("_decode")
        }
        ("attention", "level4_decode") => op == "causal_attention_decode",
        ("attention", s) => {
            op == "attention"
                || op == "causal_attention_prefill"
                || op == "causal_attention_decode" && s.starts_with("level3")
        }
        (folder, _) => op == folder,
    };
    op_is && dtypes(path).contains(&row.dtype.as_str())
}

/// The number formats of a file's kernels: by its name, or both where no other file has one of them.
fn dtypes(path: &Path) -> &'static [&'static str] {
    let other = |name: &str| {
        path.with_file_name(format!("{}{name}", stem(path)))
            .exists()
    };
    match stem(path) {
        "level5_sm80" | "level5_sm90a" => &[], // which of level 5's kernels ran, the rows do not say
        s if s.contains("sm80") || s.contains("bf16") => &["bf16"],
        _ if other("_sm80.cu") || other("_bf16.ptx") => &["f32"],
        _ => &["f32", "bf16"],
    }
}

/// `text` with `lines` as the last paragraph of its header, in place of what was measured before.
fn filled(text: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return text.into();
    }
    let header = text.lines().take_while(|line| line.starts_with("//"));
    let length: usize = header.clone().map(|line| line.len() + 1).sum();
    let mut kept: Vec<&str> = vec![];
    let mut measured = false;
    for line in header {
        measured = line.starts_with(BEGIN) || measured && line.starts_with("//   ");
        if !measured {
            kept.push(line);
        }
    }
    while kept.last() == Some(&"//") {
        kept.pop();
    }
    format!(
        "{}\n//\n{}\n{}",
        kept.join("\n"),
        lines.join("\n"),
        &text[length..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::root;

    #[test]
    fn it_is_the_last_paragraph_of_the_header() {
        let lines = [
            "// Measured:".to_string(),
            "//   1x2 f32: level 2 3.0".to_string(),
        ];
        let text =
            "// A kernel.\n// Measured: elsewhere.\n//\n// Launch: one block.\n\n.version 6.3\n";
        let expected = "// A kernel.\n//\n// Launch: one block.\n//\n// Measured:\n//   1x2 f32: level 2 3.0\n\n.version 6.3\n";
        let new = filled(text, &lines);
        assert_eq!(new, expected);
        assert_eq!(filled(&new, &lines), new, "twice is once");
        assert_eq!(filled(text, &[]), text);
    }

    #[test]
    fn the_headers_say_what_is_recorded() -> Result<()> {
        let root = root()?;
        let results = OpResults::load(&root.join(super::super::HEADERS))?;
        let mut with = 0;
        for path in sources(&root)? {
            let lines = block(&path, &results);
            with += usize::from(!lines.is_empty());
            let text = std::fs::read_to_string(&path)?;
            assert!(
                filled(&text, &lines) == text,
                "{}: expected what benches/results/ops/h200.json says; `workbook redraw` writes it",
                path.display()
            );
        }
        assert!(with > 30, "{with}");
        Ok(())
    }
}
