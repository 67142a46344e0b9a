//! `workbook compare`: every level on every model, as tables, a chart, and JSON.

mod chart;
pub mod machine;
mod measure;
pub mod memory;
mod parts;
pub mod peers;
mod readme;
pub mod record;
mod stats;
mod table;
pub mod turns;

use std::path::{Path, PathBuf};

use anyhow::Result;
use benches::Model;
use benches::job::{all_presets, models_of};
use candle_core::Device;
use clap::Args;
use cli::args::Precision;
use cli::device::Choice;
use cli::files;
use cli::load::Request;
use data::BadInput;

use measure::Graphs;
pub use parts::{RecordArgs, record};
use peers::{PeerArgs, Peers};
pub use readme::significant;
use record::{Record, Results};
pub use stats::{Spread, quantile};

/// Which models are measured, in which formats and where.
#[derive(Debug, Clone, Args)]
pub struct Subjects {
    /// tiny, all, or the names of presets, which have random weights
    #[arg(long, value_name = "NAME", num_args = 1.., default_value = "tiny")]
    pub preset: Vec<String>,
    /// Of weights and activations; several are measured each for itself
    #[arg(long, value_enum, num_args = 1.., default_value = "f32")]
    pub dtype: Vec<Precision>,
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: Choice,
}

/// Compare every level on the trained models, or on presets
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    #[command(flatten)]
    pub subjects: Subjects,
    /// Timed runs of each workload at each level; fewer, but three, of one that takes ten seconds for them
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub samples: u32,
    /// Forward passes as CUDA graphs: on, off, or both [default: both on a GPU]
    #[arg(long, value_enum)]
    pub graph: Option<Graphs>,
    #[command(flatten)]
    pub peers: PeerArgs,
    /// Also write benches/results/NAME.json, its chart, and the README's table
    #[arg(long, value_name = "NAME")]
    pub record: Option<String>,
    /// Keep what NAME.json has of other presets and number formats: a measurement in parts
    #[arg(long, requires = "record")]
    pub add: bool,
}

/// A model of one size in one number format.
pub struct Case {
    pub model: Model,
    pub request: Request,
}

/// Measures, prints a table a model, and writes what `args` asks for. What is measured is kept as it comes: a run that
/// is cut off leaves its figures.
pub fn run(args: &CompareArgs) -> Result<()> {
    let root = root()?;
    let record = args.record.as_deref();
    let record = record.map(|name| Record::new(&root, name)).transpose()?;
    let device = args.subjects.device.open()?;
    let graphs = graphs(args.graph, &device)?;
    let cases = args.subjects.cases(&device)?;
    for dtype in &args.subjects.dtype {
        // A GPU that is too old for a level compares the others.
        if let Err(old) = levels::check(&levels::numbers(), (*dtype).into(), &device) {
            eprintln!("note: {old}");
        }
    }
    let of_peers: Vec<_> = cases.iter().map(|c| (c.model, &c.request)).collect();
    let peers = Peers::prepare(&root, &args.peers, &device, args.samples, &of_peers)?;
    let mut results = Results::new(machine::describe(&device, &root)?);
    if let (true, Some(record)) = (args.add, &record) {
        record.added(results.clone())?; // refused before anything is measured
    }
    let own = root.join("target/workbook/compare.json");
    println!("{}\n{}", results.machine, table::legend(args.samples));

    for case in &cases {
        let measured = measure::compare(case.model, &case.request, graphs, args.samples as usize)?;
        print!("\n{}", table::model(&measured));
        results.rows.extend(measured.rows);
        record::save(&own, &results)?;
    }
    if let Some(peers) = peers {
        println!();
        peers.measure(&mut results, |results| record::save(&own, results))?;
    }
    draw(&own, &results)?;
    match (record, args.add) {
        (None, _) => Ok(()),
        (Some(record), false) => written(&record, &results),
        (Some(record), true) => written(&record, &record.added(results)?),
    }
}

/// Draws what is recorded once more, and prints the paths. All of it is read before anything is written: where a figure
/// is wrong, every file stays as it is.
pub fn redraw() -> Result<()> {
    let root = root()?;
    let models = record::read(&root)?;
    let ops = crate::ops::read(&root)?;
    let small = record::records(&root, "small")?;
    let sweeps = crate::sweep::read(&root)?;
    let parts = [
        record::redraw(&root, &models)?,
        crate::ops::redraw(&root, &ops)?,
        crate::small::redraw(&root, &small)?,
        crate::sweep::redraw(&root, &sweeps)?,
    ];
    for path in parts.iter().flatten() {
        println!("{}", path.display());
    }
    Ok(())
}

/// What `--graph` asks for; a CPU has none.
fn graphs(asked: Option<Graphs>, device: &Device) -> Result<Graphs, BadInput> {
    match (asked, device.is_cuda()) {
        (Some(Graphs::Off), _) | (None, false) => Ok(Graphs::Off),
        (asked, true) => Ok(asked.unwrap_or(Graphs::Both)),
        (Some(_), false) => Err(BadInput::new("--graph", "a GPU, or off", "a CPU")),
    }
}

impl Subjects {
    /// Every model that the presets name, in every number format.
    pub fn cases(&self, device: &Device) -> Result<Vec<Case>, BadInput> {
        let presets = match self.preset.iter().any(|name| name == "all") {
            true => all_presets(),
            false => self.preset.clone(),
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
        Ok(cases)
    }
}

/// The run's own chart, beside its JSON; says where both are.
fn draw(json: &Path, results: &Results) -> Result<()> {
    let [svg, png] = charts::bar_grid(&json.with_extension(""), &chart::speed(results))?;
    println!("\nchart    {}\n         {}", svg.display(), png.display());
    println!("figures  {}", json.display());
    Ok(())
}

/// Writes what is kept in the repository, and says where.
fn written(record: &Record, results: &Results) -> Result<()> {
    for path in record.write(results)? {
        println!("recorded {}", path.display());
    }
    Ok(())
}

/// The folder that holds models/tiny: the repository, or a copy of what a measurement needs.
pub fn root() -> Result<PathBuf, BadInput> {
    let tiny = files::find("models/tiny")?;
    Ok(tiny
        .ancestors()
        .nth(2)
        .map_or_else(PathBuf::new, Path::to_path_buf))
}
