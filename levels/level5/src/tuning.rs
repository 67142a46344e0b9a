//! Measures kernels on a device and makes the table that level 5 picks from.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use candle_core::{Device, Result, bail};
use data::{BadInput, Lock};
use kernels::dispatch::tune::{Grid, Measured, tune};
use kernels::dispatch::{Facts, Op, Problem, Rule, Table, folder};
use kernels::matmul::level5::REGISTRY;
use models::bad_input;

mod grids;
#[cfg(test)]
mod tests;

pub use grids::{grids, shapes};

/// The [`grids`] of these operations; of all where there are none.
fn grids_of(ops: &[Op]) -> Vec<Grid> {
    let asked = |grid: &Grid| ops.is_empty() || ops.contains(&grid.op);
    grids().into_iter().filter(asked).collect()
}

/// Problems that [`table`] measures for these operations, or for all where there are none.
///
/// # Errors
/// When the driver does not answer.
pub fn problems(device: &Device, ops: &[Op]) -> Result<usize> {
    let facts = Facts::of(device)?;
    Ok(grids_of(ops)
        .iter()
        .map(|grid| grid.problems(facts).count())
        .sum())
}

/// Measures `ops` on `device`, or all operations where there are none; `seen` gets every problem.
///
/// # Errors
/// When a kernel or the driver fails.
pub fn table(device: &Device, ops: &[Op], seen: impl FnMut(&Measured)) -> Result<Table> {
    let facts = Facts::of(device)?;
    let today = empty(facts)?; // before the work
    let rules = tune(device, &grids_of(ops), seen)?;
    Ok(Table { rules, ..today })
}

/// The day in UTC, as `YYYY-MM-DD`.
///
/// # Errors
/// [`data::BadInput`] before 1970 and after 9999.
fn date(now: SystemTime) -> Result<String> {
    const LAST: u64 = 253_402_300_799;
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    if !since.is_ok_and(|since| since.as_secs() <= LAST) {
        let expected = "a time from 1970 to 9999";
        return Err(bad_input("the system's clock", expected, "another"));
    }
    let now = humantime::format_rfc3339_seconds(now).to_string();
    Ok(now.chars().take_while(|c| *c != 'T').collect())
}

/// A table of this device and today, without rules.
fn empty(facts: &Facts) -> Result<Table> {
    Ok(Table {
        schema: kernels::dispatch::SCHEMA,
        device: facts.name.clone(),
        measured_on: None,
        driver: facts.driver.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        date: date(SystemTime::now())?,
        rules: vec![],
    })
}

/// `earlier`, with the rules of `newer` in place of its own for these operations, and its date, driver and version. No rule
/// holds for two operations, so it does not matter that these come last.
fn with_rules_of(earlier: Table, newer: Table, ops: &[Op]) -> Table {
    let others = earlier.rules.into_iter().filter(|r| !ops.contains(&r.op));
    let rules = others.chain(newer.rules).collect();
    Table { rules, ..newer }
}

/// The table at `path`, of the same device as `of`, which other rules are to be put into.
fn earlier(path: &Path, of: &Table) -> Result<Table> {
    let bad = |expected: &str, found: &str| Err(bad_input(path.display(), expected, found));
    let wanted = "a table to put the rules of --op in";
    match Table::load(path) {
        Ok(Some(table)) if table.device != of.device => bad(
            &format!("a table of {}", of.device),
            &format!("one of {}", table.device),
        ),
        // Rules of two machines in one table, and only the last one named, would be a lie.
        Ok(Some(table)) if table.measured_on() != of.measured_on() => bad(
            &format!("a table measured on {}", of.measured_on()),
            &format!("one measured on {}", table.measured_on()),
        ),
        Ok(Some(table)) => Ok(table),
        Ok(None) => bad(wanted, "no file"),
        Err(said) => bad(wanted, &said),
    }
}

/// Default path of the table of `device`; `None` where the system has no folder for caches.
///
/// # Errors
/// When the driver does not answer.
pub fn table_path(device: &Device) -> Result<Option<PathBuf>> {
    let name = Table::file_name(Facts::of(device)?);
    Ok(folder().map(|folder| folder.join(name)))
}

/// The name of the kernel that is picked for a matmul.
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
    data::write_atomically(path, table.text()?)
}

/// A line for each operation and kernel: in how many rules it wins, and by how much over what runs without a
/// table.
///
/// # Errors
/// When `out` is closed.
pub fn summary(table: &Table, took: Duration, out: &mut impl Write) -> std::io::Result<()> {
    let (origin, rules) = (table.origin(), &table.rules);
    let seconds = took.as_secs_f64();
    writeln!(out, "{origin}: {} rules in {seconds:.0} s", rules.len())?;
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

/// Measures `device`, writes the table to `path`, or where there is none, to its [`table_path`], and then prints the summary
/// to `out`; with `any` as the table of all devices of its kind. With `ops`, those alone: their rules take the place of
/// those in the table that is there.
///
/// # Errors
/// When `ops` are named and there is no table of this device; when a kernel, the driver or the file system fails.
pub fn run(
    device: &Device,
    path: Option<PathBuf>,
    any: bool,
    ops: &[Op],
    seen: impl FnMut(&Measured),
    out: &mut impl Write,
) -> Result<()> {
    let default = table_path(device)?;
    let Some(path) = path.or_else(|| default.clone()) else {
        bail!("no cache folder on this system; pass --json")
    };
    if let Some(op) = ops.iter().find(|&&op| grids_of(&[op]).is_empty()) {
        let expected = "an operation that can be tuned";
        return Err(bad_input("--op", expected, op));
    }
    if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
        data::writable_folder(folder).map_err(models::Error::from)?;
    }
    let facts = Facts::of(device)?;
    let of_any = |table: Table| if any { table.of_any(facts) } else { table };
    if !ops.is_empty() {
        earlier(&path, &of_any(empty(facts)?))?; // before the work
    }
    let start = Instant::now();
    let measured = of_any(table(device, ops, seen)?);
    let took = start.elapsed();
    keep(measured.clone(), &path, ops)?;
    let unprinted = |e: std::io::Error| match e.kind() {
        ErrorKind::BrokenPipe => e.into(),
        _ => models::Error::from(BadInput::unwritable("stdout".as_ref(), &e)).into(),
    };
    summary(&measured, took, out).map_err(unprinted)?;
    let used = if Some(&path) == default.as_ref() {
        "; level 5 uses it on this device from now on"
    } else {
        ""
    };
    writeln!(out, "table {}{used}", path.display()).map_err(unprinted)
}

/// Saves `measured` at `path`; with `ops`, in place of their rules in the table that is there now, which another program
/// may have changed during the measurement.
fn keep(measured: Table, path: &Path, ops: &[Op]) -> Result<()> {
    let _lock = Lock::of(path).map_err(models::Error::from)?;
    let table = match ops {
        [] => measured,
        _ => with_rules_of(earlier(path, &measured)?, measured, ops),
    };
    Ok(save(&table, path)?)
}
