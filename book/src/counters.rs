//! `{{counters rms_norm}}`: what Nsight Compute read of launches on a GPU, next to what the simulator counts of them.
//!
//! `book/counters.toml` names the launches, and `kernels/counters/h200.json` holds the readings. The simulator runs when the
//! book is built.

use crate::includes::text_of;
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use simt::{Case, Counts, Module, Options, Report};

use crate::directives;

const READINGS: &str = "kernels/counters/h200.json";

/// A counter: its name in the record, what it is, and the simulator's.
type Counter = (&'static str, &'static str, fn(&Counts) -> Option<u64>);

const COUNTERS: [Counter; 8] = [
    ("global_load_requests", "load requests", |c| {
        Some(c.global_load_requests)
    }),
    ("global_load_sectors", "load sectors", |c| {
        Some(c.global_load_sectors)
    }),
    ("global_store_sectors", "store sectors", |c| {
        Some(c.global_store_sectors)
    }),
    (
        "shared_load_wavefronts",
        "wavefronts of shared loads",
        |c| Some(c.shared_load_wavefronts),
    ),
    (
        "shared_store_wavefronts",
        "wavefronts of shared stores",
        |c| Some(c.shared_store_wavefronts),
    ),
    ("instructions", "instructions of warps", |c| Some(c.warps)),
    ("divergent", "divergent branches", |c| Some(c.divergent)),
    ("registers", "registers per thread", |_| None),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    table: Vec<Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    name: String,
    launch: Vec<Launch>,
}

/// A launch that both have counted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Launch {
    /// Title of its columns.
    title: String,
    /// Its name in the record.
    case: String,
    /// The PTX, from the repository.
    sim: String,
    /// The flags of the launch.
    flags: String,
}

/// Readings that `scripts/ncu.py` wrote.
#[derive(Deserialize)]
struct Readings {
    gpu: String,
    ncu: String,
    date: String,
    /// The names of the counters in Nsight Compute.
    metrics: BTreeMap<String, String>,
    launches: Vec<Reading>,
}

#[derive(Deserialize)]
struct Reading {
    case: String,
    entry: String,
    grid: [u32; 3],
    block: [u32; 3],
    /// Those of zero are left out.
    read: BTreeMap<String, u64>,
}

/// Replaces every `{{counters NAME}}` in `text`; `repository` is the folder from which files are named.
///
/// # Errors
/// A table or a launch that is not there; a launch that is not the recorded one.
pub fn expand(text: &str, repository: &Path) -> Result<String> {
    directives::expand(text, "counters", |_, arguments| {
        let path = "book/counters.toml";
        let tables = text_of(&repository.join(path)).context(path)?;
        let tables: Tables = toml::from_str(&tables).context(path)?;
        let name = arguments.trim();
        let found = tables.table.iter().find(|table| table.name == name);
        let found = found.with_context(|| format!("{path} has no table `{name}`"))?;
        let readings = text_of(&repository.join(READINGS)).context(READINGS)?;
        let readings: Readings = serde_json::from_str(&readings).context(READINGS)?;
        found.text(repository, &readings)
    })
}

impl Table {
    fn text(&self, repository: &Path, readings: &Readings) -> Result<String> {
        let counted = self
            .launch
            .iter()
            .map(|launch| launch.counted(repository, readings));
        let counted: Vec<(&Reading, Report)> = counted.collect::<Result<_>>()?;
        let mut head = String::from("| counter |");
        let mut rule = String::from("|:--|");
        for launch in &self.launch {
            head += &format!(" {}, GPU | simulator |", launch.title);
            rule += "---:|---:|";
        }
        let mut text = format!("<div class=\"counters\">\n\n{head}\n{rule}\n");
        for (key, label, simulated) in COUNTERS {
            let metric = readings.metrics.get(key).context(key)?;
            text += &format!("| {label}<br>`{metric}` |");
            for (reading, report) in &counted {
                let read = reading.read.get(key).unwrap_or(&0);
                let simulated = simulated(&report.total).map_or("–".into(), |n| n.to_string());
                text += &format!(" {read} | {simulated} |");
            }
            text += "\n";
        }
        let Readings { gpu, ncu, date, .. } = readings;
        let ncu = ncu
            .trim_start_matches("Version ")
            .split(" (")
            .next()
            .unwrap_or_default();
        Ok(text
            + &format!(
                "\n*{gpu}, Nsight Compute {ncu}, {date}; the launches are named in `book/counters.toml`.*\n\n</div>"
            ))
    }
}

impl Launch {
    /// The readings of it, and the simulator's counts.
    fn counted<'a>(&self, repository: &Path, all: &'a Readings) -> Result<(&'a Reading, Report)> {
        let found = all
            .launches
            .iter()
            .find(|reading| reading.case == self.case);
        let found = found.with_context(|| format!("{READINGS} has no case `{}`", self.case))?;
        let text = text_of(&repository.join(&self.sim)).context(self.sim.clone())?;
        let (case, module) = (Case::parse(&self.flags)?, Module::parse(&text)?);
        let mut operands = case.operands(0, repository)?;
        let kernel = case.kernel(&module)?;
        let (dim, args) = (operands.dim, &operands.args);
        let report = kernel.launch(dim, &mut operands.buffers, args, &Options::default())?;
        let same =
            report.entry == found.entry && report.grid == found.grid && report.block == found.block;
        ensure!(
            same,
            "expected the recorded launch, {} with {:?} blocks of {:?}, found {} with {:?} of {:?}",
            found.entry,
            found.grid,
            found.block,
            report.entry,
            report.grid,
            report.block
        );
        Ok((found, report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn repository() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    #[test]
    fn counts_of_the_simulator_are_those_of_the_gpu() {
        let text = expand("{{counters rms_norm}}", repository()).unwrap();
        let rows: Vec<&str> = text.lines().filter(|line| line.contains("<br>")).collect();
        assert_eq!(rows.len(), COUNTERS.len());
        for row in &rows[..5] {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            assert_eq!(cells[2], cells[3], "{row}");
            assert_eq!(cells[4], cells[5], "{row}");
        }
        assert!(rows[7].contains("| – |"), "{}", rows[7]);
    }

    #[test]
    fn another_launch_than_the_recorded_one_is_named() {
        let path = repository().join("book/counters.toml");
        let text = fs::read_to_string(path)
            .unwrap()
            .replace("--grid 5", "--grid 4");
        let tables: Tables = toml::from_str(&text).unwrap();
        let readings = fs::read_to_string(repository().join(READINGS)).unwrap();
        let readings: Readings = serde_json::from_str(&readings).unwrap();
        let error = tables.table[0].text(repository(), &readings).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("expected the recorded launch"),
            "{error}"
        );
        let error = format!("{:#}", expand("{{counters no}}", repository()).unwrap_err());
        assert!(
            error.contains("book/counters.toml has no table `no`"),
            "{error}"
        );
    }
}
