//! Computes the answer of a question.

use super::counters::look_up;
use crate::includes::text_of;
use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use simt::{Case, Module, Options, Report};

use crate::format::ratio;
use crate::library::{Key, Library};
use crate::measure;
use crate::table::machine;

/// Where the answer of a question comes from.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Source {
    /// A launch in the simulator.
    Simulated {
        /// The PTX, from the repository.
        sim: String,
        /// The flags of the launch.
        launch: String,
        /// The part of its report that answers.
        want: Want,
    },
    /// The first recorded time divided by the second.
    Ratio {
        /// Keys as in `{{measure KEY}}`, without a field.
        ratio: [String; 2],
        /// The name of the record.
        on: String,
    },
    /// A recorded figure.
    Measured {
        /// A key as in `{{measure KEY}}`.
        measure: String,
        /// The unit of a time: `s`, `ms` or `us`.
        #[serde(default = "microseconds")]
        time: String,
        /// The name of the record.
        on: String,
    },
    /// A word of a table of counters.
    Counters {
        /// The table, from the repository.
        counters: String,
        /// The name at the beginning of its row.
        row: String,
        /// The title above the word.
        column: String,
    },
}

fn microseconds() -> String {
    "us".into()
}

/// A part of a launch's report.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Want {
    /// A counter of all instructions, or of those whose opcode begins with a text: `["global-load-sectors", "ld.global"]`.
    Count(Counter, String),
    /// The class of the first finding, or `none`.
    Finding,
    /// The number of findings, those of one class and one source line together, as `sim` prints them.
    Findings,
    /// The thread of the first finding.
    Thread,
}

/// A counter of [`simt::Counts`].
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counter {
    Instructions,
    Flops,
    GlobalLoadRequests,
    GlobalLoadSectors,
    SharedLoadWavefronts,
    SharedStoreWavefronts,
}

/// The answer, and how the reader can find it, too.
pub struct Answer {
    pub value: String,
    pub origin: String,
}

impl Source {
    /// Runs the kernel, or looks up the times or the counter; files are named from `repository`.
    pub fn answer(&self, repository: &Path, library: &mut Library) -> Result<Answer> {
        match self {
            Self::Simulated { sim, launch, want } => simulated(repository, sim, launch, want),
            Self::Ratio { ratio, on } => recorded(ratio, on, library),
            Self::Measured { measure, time, on } => figure(measure, time, on, library),
            Self::Counters {
                counters,
                row,
                column,
            } => counter(repository, counters, row, column),
        }
    }
}

fn simulated(repository: &Path, sim: &str, launch: &str, want: &Want) -> Result<Answer> {
    let text = text_of(&repository.join(sim)).with_context(|| sim.to_owned())?;
    let (case, module) = (Case::parse(launch)?, Module::parse(&text)?);
    let mut operands = case.operands(0, repository)?;
    let kernel = case.kernel(&module)?;
    let options = Options::default();
    let report = kernel.launch(
        operands.dim,
        &mut operands.buffers,
        &operands.args,
        &options,
    )?;
    let value = match want {
        Want::Count(counter, of) => counted(&report, counter, of).to_string(),
        Want::Finding => {
            (report.findings.first()).map_or("none".into(), |finding| finding.class.to_string())
        }
        Want::Findings => {
            let of_line = |f: &simt::Finding| (f.class, f.source.clone());
            let lines: BTreeSet<_> = report.findings.iter().map(of_line).collect();
            lines.len().to_string()
        }
        Want::Thread => {
            let first = report.findings.first().context("found no finding")?;
            first.thread.thread[0].to_string()
        }
    };
    let lines = launch.replace(" --arg", " \\\n    --arg");
    let command = format!("cargo run --release -- sim {sim} --lines {lines}");
    Ok(Answer {
        value,
        origin: format!("The simulator computed this answer:\n\n```sh\n{command}\n```"),
    })
}

/// The counter, over the instructions whose opcode begins with `of`; all of them if it is empty.
fn counted(report: &Report, counter: &Counter, of: &str) -> u64 {
    let lines = report.lines.iter();
    let counted = lines.filter(|line| line.form.starts_with(of));
    counted
        .map(|line| match counter {
            Counter::Instructions => line.counts.warps,
            Counter::Flops => line.counts.flops,
            Counter::GlobalLoadRequests => line.counts.global_load_requests,
            Counter::GlobalLoadSectors => line.counts.global_load_sectors,
            Counter::SharedLoadWavefronts => line.counts.shared_load_wavefronts,
            Counter::SharedStoreWavefronts => line.counts.shared_store_wavefronts,
        })
        .sum()
}

fn recorded(keys: &[String; 2], on: &str, library: &mut Library) -> Result<Answer> {
    let [(a, of_a), (b, of_b)] = [time(&keys[0], on, library)?, time(&keys[1], on, library)?];
    let places: Vec<String> = BTreeSet::from([of_a, of_b]).into_iter().collect();
    let places = places.join("; ");
    Ok(Answer {
        value: (a / b).to_string(),
        origin: format!(
            "The ratio of the recorded times is {} ({places}).",
            ratio(a / b)
        ),
    })
}

/// The figure as `{{measure KEY}}` writes it.
fn figure(key: &str, unit: &str, on: &str, library: &mut Library) -> Result<Answer> {
    let parsed = Key::parse(key)?;
    let (_, place) = time(key, on, library)?;
    Ok(Answer {
        value: measure::recorded(&parsed, unit, on, library)?,
        origin: format!("Recorded on {place}."),
    })
}

fn counter(repository: &Path, table: &str, row: &str, column: &str) -> Result<Answer> {
    let text = text_of(&repository.join(table)).with_context(|| table.to_owned())?;
    let found = look_up(&text, row, column).with_context(|| table.to_owned())?;
    Ok(Answer {
        value: found.value,
        origin: format!(
            "Nsight Compute read it: row *{row}* of `{table}` ({}).",
            found.machine
        ),
    })
}

/// The recorded time of a key, and where and when the row was measured.
fn time(key: &str, on: &str, library: &mut Library) -> Result<(f64, String)> {
    let parsed = Key::parse(key)?;
    let found = if parsed.is_op() {
        let recorded = library.ops.on(on)?.recorded;
        let row = parsed.of_op(recorded);
        row.map(|row| (row.us(), machine(&recorded.machine.at(row))))
    } else {
        let recorded = library.of_models(&parsed).on(on)?.recorded;
        let row = parsed.of(recorded);
        row.map(|row| (row.median_ms, machine(&recorded.machine.at(row))))
    };
    found.with_context(|| format!("expected a recorded row, found none of the key {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_origin_of_its_row() -> Result<()> {
        let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/results/h200.json");
        let mut results = results::Results::load(Path::new(recorded))?;
        let commit = "0123abc".to_string();
        let date = "2026-11-21".to_string();
        let of_file = results.machine.commit.clone();
        let row = results.rows.first_mut().context("no rows")?;
        row.origin = Some(results::Origin {
            commit: commit.clone(),
            date,
        });
        let key = row.key();
        let folder = tempfile::tempdir()?;
        let text = serde_json::to_string(&results)?;
        std::fs::write(folder.path().join("h200.json"), text)?;
        let mut library = Library::open(folder.path(), folder.path())?;
        let measured = figure(&key, "us", "h200", &mut library)?.origin;
        let of_two = super::recorded(&[key.clone(), key], "h200", &mut library)?.origin;
        for origin in [measured, of_two] {
            let has = origin.contains(&commit) && !origin.contains(&of_file);
            assert!(has, "{origin}");
        }
        Ok(())
    }
}
