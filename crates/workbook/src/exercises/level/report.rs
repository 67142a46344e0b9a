//! `level report`: a learner's level next to the others, on one page.

mod drawn;
mod measured;
mod page;
mod text;

use std::path::PathBuf;

use anyhow::Result;
use cli::files::Output;
use cli::own::OwnLevel;
use results::Machine;
use serde::Serialize;

use measured::{Measured, Whole};
pub use measured::{Method, compare, methods};

use super::milestones::Milestones;
use super::run::Tally;
use super::rung::Rung;

/// Where a report goes, and how it is measured.
#[derive(Debug)]
pub struct Options {
    pub json: Option<PathBuf>,
    pub html: Option<PathBuf>,
    pub samples: usize,
    pub again: bool,
}

/// A report, as its JSON file has it.
#[derive(Debug, Serialize)]
pub struct Report {
    schema: u32,
    /// Name of the level.
    level: String,
    /// Machine, versions, commit and date of the measurement.
    machine: Machine,
    whole: Whole,
    methods: Vec<Method>,
    milestones: Vec<Reached>,
}

/// A milestone, and whether it is reached.
#[derive(Debug, Clone, Serialize)]
pub struct Reached {
    method: String,
    kind: String,
    task: String,
    /// `None` before a first measurement.
    passed: Option<bool>,
    /// The expected and the found value.
    line: String,
    /// Whether it needs a GPU, which this machine lacks: then it is not measured.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    needs_gpu: bool,
    /// Whether the times that it compares are noisy.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    noisy: bool,
}

impl Report {
    fn new(level: &str, measured: Measured, milestones: Vec<Reached>) -> Self {
        Self {
            schema: 1,
            level: level.into(),
            machine: measured.machine().clone(),
            whole: measured.whole,
            methods: measured.methods,
            milestones,
        }
    }

    /// How many milestones are reached, those of the starter apart, and left.
    fn tally(&self) -> Tally {
        let is_replaced = |m: &Reached| {
            let of = |method: &Method| method.name == m.method && method.replaced;
            self.methods.iter().any(of)
        };
        let all = self.milestones.iter();
        Tally::of(all.map(|m| (is_replaced(m), m.passed == Some(true), m.needs_gpu)))
    }

    /// Methods that run no longer as level 1's, and are right.
    fn replaced(&self) -> impl Iterator<Item = &Method> {
        let methods = self.methods.iter();
        methods.filter(|method| method.replaced && method.wrong.is_none())
    }
}

/// The milestones, and what the progress says of them.
fn reached(milestones: &Milestones, progress: &super::milestones::Progress) -> Vec<Reached> {
    let of = |milestone: super::milestones::Milestone| {
        let state = progress.get(&milestone.key());
        Reached {
            method: milestone.method.into(),
            kind: milestone.kind.into(),
            passed: state.filter(|s| !s.needs_gpu).map(|state| state.passed),
            needs_gpu: state.is_some_and(|state| state.needs_gpu),
            line: state.map_or(String::new(), |state| state.line.clone()),
            noisy: state.is_some_and(|state| state.noisy),
            task: milestone.task,
        }
    };
    milestones.all().map(of).collect()
}

/// Measures the level, or takes what was measured before, and writes the report; returns whether no method is wrong.
pub fn report(level: OwnLevel, options: &Options) -> Result<bool> {
    let html = match &options.html {
        Some(path) => path.clone(),
        None => level.folder().join("report.html"),
    };
    let html = Output::new(&html)?;
    let json = options.json.as_deref().map(Output::new).transpose()?;
    Output::distinct(json.iter().chain([&html]), &[])?;
    let rung = Rung::new(level)?;
    let measured = Measured::of(&rung, options.samples, options.again)?;
    let milestones = reached(&rung.milestones, &rung.progress()?);
    let report = Report::new(rung.level.name(), measured, milestones);
    html.write(page::page(&report)?.as_bytes())?;
    if let Some(json) = &json {
        json.write((serde_json::to_string_pretty(&report)? + "\n").as_bytes())?;
    }
    data::print!("{}", text::text(&report));
    data::println!("page     {}", html.path().display());
    if let Some(json) = json {
        data::println!("figures  {}", json.path().display());
    }
    Ok(report.methods.iter().all(|method| method.wrong.is_none()))
}

#[cfg(test)]
mod tests;
