//! What is measured on a device, and the table that comes of it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use candle_core::{Device, Result, bail};
use kernels::dispatch::tune::{Measured, tune};
use kernels::dispatch::{Facts, Problem, Rule, Table, folder};
use kernels::matmul::level5::REGISTRY;

mod grids;

pub use grids::{grids, shapes};

/// Problems that [`table`] measures.
///
/// # Errors
/// When the driver does not answer.
pub fn problems(device: &Device) -> Result<usize> {
    let facts = Facts::of(device)?;
    Ok(grids()
        .iter()
        .map(|grid| grid.problems(facts).count())
        .sum())
}

/// Measures all of [`grids`] on `device`; `seen` is told of every problem.
///
/// # Errors
/// What a kernel or the driver says.
pub fn table(device: &Device, seen: impl FnMut(&Measured)) -> Result<Table> {
    let facts = Facts::of(device)?;
    let rules = tune(device, &grids(), seen)?;
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    Ok(Table {
        schema: kernels::dispatch::SCHEMA,
        device: facts.name.clone(),
        driver: facts.driver.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        date: now.chars().take_while(|c| *c != 'T').collect(),
        rules,
    })
}

/// Where the table of `device` is looked for; none where the system has no folder for caches.
///
/// # Errors
/// When the driver does not answer.
pub fn place(device: &Device) -> Result<Option<PathBuf>> {
    let name = Table::file_name(Facts::of(device)?);
    Ok(folder().map(|folder| folder.join(name)))
}

/// The name of the kernel that is picked for a product of matrices.
///
/// # Errors
/// When the driver does not answer, or no kernel can.
pub fn picked(problem: &Problem, device: &Device) -> Result<&'static str> {
    Ok(REGISTRY.pick(problem, Facts::of(device)?)?.entry.name)
}

/// Writes `table` to `path`, whole or not at all.
///
/// # Errors
/// When the folder cannot be made or the file not be written.
pub fn save(table: &Table, path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension("json.part");
    std::fs::write(&beside, table.text()?)?;
    std::fs::rename(beside, path)
}

/// A line for each operation and kernel: in how many rules it wins, and by how much over what runs without a
/// table.
///
/// # Errors
/// When `out` is closed.
pub fn summary(table: &Table, took: Duration, out: &mut impl Write) -> std::io::Result<()> {
    let Table { device, rules, .. } = table;
    writeln!(
        out,
        "{device}: {} rules in {:.0} s",
        rules.len(),
        took.as_secs_f64()
    )?;
    let mut wins: Vec<(&Rule, Vec<f64>)> = vec![];
    for rule in rules {
        let gain = rule.untuned_us / rule.us;
        let same = |(r, _): &&mut (&Rule, _)| {
            (r.op, &r.dtype, &r.kernel) == (rule.op, &rule.dtype, &rule.kernel)
        };
        match wins.iter_mut().find(same) {
            Some((_, gains)) => gains.push(gain),
            None => wins.push((rule, vec![gain])),
        }
    }
    wins.sort_by_key(|(rule, _)| (rule.op.to_string(), rule.dtype.clone()));
    writeln!(
        out,
        "{:<14} {:<5} {:<30} {:>5} {:>8} {:>8}",
        "op", "dtype", "kernel", "rules", "median", "best"
    )?;
    for (rule, mut gains) in wins {
        gains.sort_by(f64::total_cmp);
        let (median, best) = (gains[gains.len() / 2], gains[gains.len() - 1]);
        let (op, dtype, kernel, n) = (rule.op.to_string(), &rule.dtype, &rule.kernel, gains.len());
        writeln!(
            out,
            "{op:<14} {dtype:<5} {kernel:<30} {n:>5} {median:>7.2}× {best:>7.2}×"
        )?;
    }
    Ok(())
}

/// Measures `device`, prints the summary to `out` and writes the table to `path`, or where there is none, to its
/// [`place`]; with `any` as the table of all devices of its kind.
///
/// # Errors
/// What a kernel, the driver or the file system says.
pub fn run(
    device: &Device,
    path: Option<PathBuf>,
    any: bool,
    seen: impl FnMut(&Measured),
    out: &mut impl Write,
) -> Result<()> {
    let path = path.map_or_else(|| place(device), |path| Ok(Some(path)))?;
    let Some(path) = path else {
        bail!("--json: no folder for caches on this system")
    };
    let start = Instant::now();
    let mut table = table(device, seen)?;
    if any {
        table = table.of_any(Facts::of(device)?);
    }
    save(&table, &path)?;
    summary(&table, start.elapsed(), out)?;
    writeln!(out, "{}", path.display())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use kernels::dispatch::Op;

    use super::*;

    fn table(rules: Vec<Rule>) -> Table {
        Table {
            schema: kernels::dispatch::SCHEMA,
            device: "a CPU".into(),
            driver: None,
            version: "1.2".into(),
            date: "2026-11-21".into(),
            rules,
        }
    }

    fn rule(kernel: &str, us: f64) -> Rule {
        let any = kernels::dispatch::Range(0, 9);
        Rule {
            op: Op::Matmul,
            dtype: "f32".into(),
            batch: any,
            m: any,
            n: any,
            k: any,
            kernel: kernel.into(),
            us,
            next: String::new(),
            next_us: 0.,
            untuned: "candle".into(),
            untuned_us: 6.,
        }
    }

    #[test]
    fn a_summary_counts_what_won() -> std::io::Result<()> {
        let table = table(vec![
            rule("small", 2.),
            rule("candle", 6.),
            rule("small", 3.),
        ]);
        let mut text = vec![];
        summary(&table, Duration::from_secs(7), &mut text)?;
        let text = String::from_utf8(text).expect("text");
        let line = |words: &str| {
            let same = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") == words;
            assert!(text.lines().any(same), "{words} in\n{text}");
        };
        line("a CPU: 3 rules in 7 s");
        line("matmul f32 small 2 3.00× 3.00×");
        line("matmul f32 candle 1 1.00× 1.00×");
        Ok(())
    }

    #[test]
    fn a_table_is_written_whole_where_it_is_looked_for() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a folder/a-cpu.json");
        let table = table(vec![rule("small", 2.)]);
        save(&table, &path)?;
        assert_eq!(Table::load(&path), Ok(Some(table)));
        let files = std::fs::read_dir(path.parent().expect("a folder"))?;
        assert_eq!(files.count(), 1, "nothing beside it");
        Ok(())
    }
}
