//! What was measured of a kernel, in the header of its file: written here, and never by hand.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use results::{Machine, OpClock, OpResults, OpRow, Origin, spoken};
use simt::case::files_below;

/// Where they are.
pub const KERNELS: &str = "kernels/src";

/// The line that begins it.
const BEGIN: &str = "// Measured";

/// Writes what `results` say of it into the header of each kernel's file under `kernels/src`; returns the paths of
/// those that changed. The PTX of a changed CUDA file has to be made again: it names the file's lines.
pub fn rewrite(root: &Path, results: &OpResults) -> Result<Vec<PathBuf>> {
    let mut changed = vec![];
    let folder = root.join(KERNELS);
    let files = files_below(&folder, &["cu", "ptx"]);
    for path in files.with_context(|| folder.display().to_string())? {
        let context = || format!("{}", path.display());
        let text = std::fs::read_to_string(&path).with_context(context)?;
        let new = filled(&text, &block(&path, results)?);
        if new != text {
            data::write_atomically(&path, new)?;
            changed.push(path);
        }
    }
    Ok(changed)
}

/// The level of a kernel file: 4 of `rms_norm/level4.cu` and of `linear/level4/gemv.cu`.
fn level(path: &Path) -> Option<u8> {
    let names = path.iter().rev().filter_map(|name| name.to_str());
    let digit = |name: &str| name.strip_prefix("level")?.get(..1)?.parse().ok();
    names.take(2).find_map(digit)
}

/// The lines for a file: every op on a shape in which one of its kernels ran, below a title a commit; none where none was
/// measured.
fn block(path: &Path, results: &OpResults) -> Result<Vec<String>> {
    let of_file = entry_names(path)?;
    let ran = |row: &OpRow| row.kernels.iter().any(|kernel| of_file.contains(kernel));
    let (mut lines, mut above) = (vec![], None);
    for case in results.cases().filter(|case| case.iter().any(ran)) {
        let origin = case[0].origin.clone();
        let origin = origin.unwrap_or_else(|| results.machine.origin());
        if above.as_ref() != Some(&origin) {
            lines.push(title(&results.machine, &origin));
        }
        lines.push(line(path, case));
        above = Some(origin);
    }
    Ok(lines)
}

/// The names of the kernels in the PTX of a file.
fn entry_names(path: &Path) -> Result<Vec<String>> {
    let ptx = ptx_of(path)?;
    let text = std::fs::read_to_string(&ptx).with_context(|| format!("{}", ptx.display()))?;
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
    let beside = simt::case::file_of(path);
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

fn title(machine: &Machine, Origin { commit, date }: &Origin) -> String {
    let name = &machine.name;
    format!(
        "{BEGIN} on an {name}, microseconds in a CUDA graph, * one by one (workbook ops, commit {commit}, {date}):"
    )
}

/// `//   linear 128x512x512 bf16: level 2 9.9, level 3 16.3, level 4 7.3`
fn line(path: &Path, case: &[OpRow]) -> String {
    let level = level(path).unwrap_or(9);
    let number = |row: &OpRow| row.level.strip_prefix("level")?.parse::<u8>().ok();
    let shown = |row: &&OpRow| number(row).is_none_or(|n| (2..=level).contains(&n));
    let shown: Vec<&OpRow> = case.iter().filter(shown).collect();
    let clock = OpClock::of(shown.iter().copied());
    let time = |row: &&OpRow| {
        let mark = if clock.has(row) { "" } else { "*" };
        format!("{} {:.1}{mark}", spoken(&row.level), clock.us(row))
    };
    let times: Vec<String> = shown.iter().map(time).collect();
    let clock = match clock {
        OpClock::Host => ", by the host's clock",
        _ => "",
    };
    let OpRow {
        op, shape, dtype, ..
    } = &case[0];
    format!("//   {op} {shape} {dtype}{clock}: {}", times.join(", "))
}

/// `text` with `lines` as the last paragraph of its header, in place of what was measured before; without that
/// paragraph where nothing is recorded.
fn filled(text: &str, lines: &[String]) -> String {
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
    let measured = match lines {
        [] => String::new(),
        lines => format!("//\n{}\n", lines.join("\n")),
    };
    format!("{}\n{measured}{}", kept.join("\n"), &text[length..])
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
        let without = "// A kernel.\n//\n// Launch: one block.\n\n.version 6.3\n";
        assert_eq!(filled(&new, &[]), without);
        assert_eq!(filled(without, &[]), without);
    }

    #[test]
    fn a_case_stands_with_the_kernels_that_ran_in_it() -> Result<()> {
        let row = |level: &str, us, kernels: &[&str]| OpRow {
            op: "rms_norm".into(),
            shape: "1x2".into(),
            level: level.into(),
            dtype: "f32".into(),
            device_us: Some(us),
            kernels: kernels.iter().map(|&name| name.into()).collect(),
            ..OpRow::default()
        };
        let mut results = OpResults::new(Machine::default());
        results.rows = vec![
            row("level2", 9., &[]),
            row("level3", 4., &["rms_norm_f32_level3"]),
            row("level4", 2., &["rms_norm_f32_level4"]),
            row("pytorch", 8., &[]),
        ];
        let lines_of = |file: &str| block(&root()?.join("kernels/src").join(file), &results);
        assert_eq!(
            lines_of("rms_norm/level3.ptx")?[1..],
            ["//   rms_norm 1x2 f32: level 2 9.0, level 3 4.0, PyTorch 8.0"]
        );
        assert_eq!(
            lines_of("rms_norm/level4.cu")?[1..],
            ["//   rms_norm 1x2 f32: level 2 9.0, level 3 4.0, level 4 2.0, PyTorch 8.0"]
        );
        assert!(lines_of("softmax/level4.cu")?.is_empty());
        Ok(())
    }

    /// What waits for the device itself has no time on it.
    #[test]
    fn a_case_has_one_clock() -> Result<()> {
        let row = |level: &str, device_us| OpRow {
            op: "next_token".into(),
            shape: "10".into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us: 9.,
            device_us,
            ..OpRow::default()
        };
        let case = [row("level2", None), row("copy", Some(2.))];
        assert_eq!(
            line("level4.cu".as_ref(), &case),
            "//   next_token 10 f32, by the host's clock: level 2 9.0, copy 9.0"
        );
        Ok(())
    }

    #[test]
    fn the_headers_say_what_is_recorded() -> Result<()> {
        let root = root()?;
        let results = OpResults::load(&root.join("benches/results/ops/h200.json"))?;
        let mut with = 0;
        for path in files_below(&root.join(KERNELS), &["cu", "ptx"])? {
            let lines = block(&path, &results)?;
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
