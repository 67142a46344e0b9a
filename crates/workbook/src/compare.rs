//! `workbook compare`: measures every level on every model; writes tables, a chart, and JSON.

mod brief;
mod chart;
mod closing;
mod drawn;
mod front;
mod markers;
mod measure;
pub mod memory;
mod overview;
pub mod peers;
mod stats;
mod table;
mod tables;
pub mod turns;
mod wrap;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use benches::job::{all_presets, models_of};
use benches::{Model, machine};
use candle_core::Device;
use clap::Args;
use cli::args::Precision;
use cli::device::Choice;
pub use cli::files::root;
use cli::load::Request;
use cli::note_tables;
use data::{BadInput, Lock};
use kernels::dispatch::{Facts, is_tuned, tables};
use levels::{Level, Name};

use crate::exercises::{without_kernels, wrong_methods};
use crate::record::folder::{figures, save};
use crate::record::{Records, Run, written};
pub use closing::noisy;
pub use drawn::{overview, redraw};
pub use front::{has_places, rewrite};
use measure::Graphs;
pub use measure::tolerance;
use peers::{PeerArgs, Peers};
use results::Results;
pub use stats::{Spread, quantile, relative_difference, significant};
pub use tables::sections;

/// Models, dtypes and device of a measurement.
#[derive(Debug, Clone, Args)]
pub struct Subjects {
    /// Models to measure: tiny, all (without llama-1b, which takes gigabytes), or names of presets (which have random weights)
    #[arg(long, value_name = "NAME", num_args = 1.., default_value = "tiny")]
    pub preset: Vec<String>,
    /// Only these models: lm, vit or gnn [default: all that have the presets]
    #[arg(long, value_name = "lm|vit|gnn", num_args = 1.., value_parser = model)]
    pub model: Vec<Model>,
    /// dtype of weights and activations; several are measured separately
    #[arg(long, value_enum, num_args = 1.., default_value = "f32")]
    pub dtype: Vec<Precision>,
    /// Where to run: auto (a GPU if there is one), cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: Choice,
}

/// Parses the name of a model.
fn model(name: &str) -> Result<Model, String> {
    let mut all = Model::ALL.into_iter();
    let found = all.find(|model| model.name() == name);
    found.ok_or_else(|| "expected lm, vit or gnn".into())
}

/// Compare every level on the trained models, or on presets
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    #[command(flatten)]
    pub subjects: Subjects,
    /// Timed runs of each workload at each level; fewer, but at least three, if they would take more than ten seconds
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub samples: u32,
    /// Forward passes as CUDA graphs: on, off, or both [default: both on a GPU]
    #[arg(long, value_enum)]
    pub cuda_graph: Option<Graphs>,
    #[command(flatten)]
    pub peers: PeerArgs,
    /// Also record the results in benches/results/NAME.json, and redraw the tables and charts
    #[arg(long, value_name = "NAME", conflicts_with = "level")]
    pub record: Option<String>,
    /// Compare your own level, too: the name that `cargo ex level new` got, or the path of its crate
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub level: Vec<Name>,
}

/// A model of one size in one dtype.
pub struct Case {
    pub model: Model,
    pub request: Request,
}

/// Measures, prints one table per model, and writes the files that `args` asks for. Results are saved as they
/// come, so an interrupted run keeps them. Returns whether no learner's level was left out.
pub fn run(args: &CompareArgs) -> Result<bool> {
    let root = root()?;
    let device = args.subjects.device.open()?;
    let graphs = graphs(args.cuda_graph, &device)?;
    let own = Own::new(&args.level, &device)?;
    let cases = args.subjects.cases(&device)?;
    for dtype in &args.subjects.dtype {
        // On a GPU that is too old for a level, the other levels are compared.
        if let Err(old) = levels::check(&levels::numbers(), (*dtype).into(), &device) {
            data::note(format_args!("note: {old}"));
        }
    }
    let of_peers: Vec<_> = cases.iter().map(|c| (c.model, &c.request)).collect();
    let peers = Peers::prepare(&root, &args.peers, &device, args.samples, &of_peers)?;
    let mut results = Results::new(machine::describe(&device, &root)?);
    let run = Run::Models(results.clone());
    let record = Records::named(&root, args.record.as_deref(), &run)?;
    let file = if args.level.is_empty() {
        figures(&root, results.kind)?
    } else {
        // `record` takes results of the workbook's levels only.
        root.join("target/workbook/own-level.json")
    };
    // Two comparisons would replace each other's results, and slow each other down.
    let _alone = args
        .level
        .is_empty()
        .then(|| Lock::within(&file, Duration::ZERO))
        .transpose()?;
    data::println!("{}", results.machine);
    note_tables(&device)?;
    // A note has named one of another device.
    let facts = Facts::of(&device)?;
    let all = tables(facts);
    if let Some(table) = all.first().filter(|_| is_tuned(facts, all)) {
        data::println!("kernel table of level 5: {}", table.origin());
    }
    data::println!("\n{}", table::legend(args.samples, device.is_cuda()));
    let said = own.without.iter().chain(&own.wrong);
    said.for_each(|sentence| data::println!("{sentence}"));

    let mut is_whole = own.wrong.is_empty();
    for case in &cases {
        let mut measured = measure::compare(
            case.model,
            &case.request,
            graphs,
            args.samples as usize,
            &own.levels,
        )?;
        is_whole &= measured.left_out.is_empty();
        measured.left_out.extend(own.left_out.iter().cloned());
        data::print!("\n{}", table::model(&measured, device.is_cuda()));
        results.rows.extend(measured.rows);
        save(&file, &results)?;
    }
    if let Some(peers) = peers {
        data::println!();
        peers.measure(&mut results, |results| save(&file, results))?;
    }
    draw(&file, &results)?;
    data::print!(
        "\n{}",
        closing::closing(&results, &device, args.level.first())?
    );
    written(record, Run::Models(results))?;
    Ok(is_whole)
}

/// Compares a learner's level with all others on the trained models in f32, and prints nothing. Also returns why it was left
/// out where it was.
pub fn with_own(name: &Name, own: Level, samples: usize) -> Result<(Results, Vec<String>)> {
    let subjects = Subjects {
        preset: vec!["tiny".into()],
        model: vec![],
        dtype: vec![Precision::F32],
        device: Choice::Auto,
    };
    let device = subjects.device.open()?;
    let mut results = Results::new(machine::describe(&device, &root()?)?);
    let own = [(name.clone(), own)];
    let mut left_out = vec![];
    for case in subjects.cases(&device)? {
        let measured = measure::compare(case.model, &case.request, Graphs::Off, samples, &own)?;
        results.rows.extend(measured.rows);
        let model = case.model.name();
        let lines = measured.left_out.iter();
        left_out.extend(lines.map(|line| format!("{model}: {line}")));
    }
    Ok((results, left_out))
}

/// The learner's levels that are compared.
#[derive(Default)]
struct Own {
    /// Each with its name.
    levels: Vec<(Name, Level)>,
    /// Sentences about kernels that a CPU does not run.
    without: Vec<String>,
    /// A line about each method that is wrong. Its level is not compared.
    wrong: Vec<String>,
    /// Lines in place of their rows.
    left_out: Vec<String>,
}

impl Own {
    /// The levels that `--level` names. Their methods are checked first, in processes that can be killed.
    fn new(names: &[Name], device: &Device) -> Result<Self> {
        let mut own = Self::default();
        for name in names {
            if name.own().is_none() {
                let expected = "the name of a level of your own; levels 1 to 5 are always compared";
                return Err(BadInput::new("--level", expected, name).into());
            }
            let mut level = name.find("--level")?;
            let wrong = wrong_methods(name)?;
            if !wrong.is_empty() {
                let methods: Vec<&str> = wrong.keys().copied().collect();
                let (label, methods) = (name.label(), methods.join(" and "));
                own.left_out.push(format!("{label}: wrong in {methods}"));
                own.wrong.extend(wrong.into_values());
                continue;
            }
            if device.is_cpu() {
                let (of_cpu, sentences) = without_kernels(level)?;
                level = of_cpu;
                own.without.extend(sentences);
            }
            own.levels.push((name.clone(), level));
        }
        Ok(own)
    }
}

/// The CUDA graphs of `--cuda-graph`; a CPU has none.
fn graphs(asked: Option<Graphs>, device: &Device) -> Result<Graphs, BadInput> {
    match (asked, device.is_cuda()) {
        (Some(Graphs::Off), _) | (None, false) => Ok(Graphs::Off),
        (asked, true) => Ok(asked.unwrap_or(Graphs::Both)),
        (Some(_), false) => Err(BadInput::new("--cuda-graph", "a GPU, or off", "a CPU")),
    }
}

impl Subjects {
    /// Returns a case for each model that `--preset` and `--model` select, in each dtype.
    ///
    /// # Errors
    /// A preset does not exist, or no selected model has one of the presets.
    pub fn cases(&self, device: &Device) -> Result<Vec<Case>, BadInput> {
        let presets = if self.preset.iter().any(|name| name == "all") {
            all_presets()
        } else {
            self.preset.clone()
        };
        let mut cases = vec![];
        for dtype in &self.dtype {
            for preset in &presets {
                let case = |model| Case {
                    model,
                    request: Request {
                        model: preset.clone(),
                        dtype: (*dtype).into(),
                        device: device.clone(),
                        seed: 0,
                    },
                };
                cases.extend(models_of(preset)?.into_iter().map(case));
            }
        }
        let names = |models: &[Model]| models.iter().map(|m| m.name()).collect::<Vec<_>>();
        let mut with_preset: Vec<Model> = cases.iter().map(|case| case.model).collect();
        with_preset.dedup();
        cases.retain(|case| self.model.is_empty() || self.model.contains(&case.model));
        if cases.is_empty() {
            let (has, presets) = (names(&with_preset).join(" or "), presets.join(", "));
            let expected = format!("{has}, with --preset {presets}");
            return Err(BadInput::new(
                "--model",
                expected,
                names(&self.model).join(", "),
            ));
        }
        Ok(cases)
    }
}

/// Draws the run's chart next to its JSON, and prints both paths.
fn draw(json: &Path, results: &Results) -> Result<()> {
    let [svg, png] = charts::bar_grid(&json.with_extension(""), &chart::speed(results))?;
    data::println!("\nchart    {}\n         {}", svg.display(), png.display());
    data::println!("figures  {}", json.display());
    Ok(())
}
