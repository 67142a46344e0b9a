//! `workbook sweep`: the time of a forward pass against tokens, batch, nodes and edges, at every level.

mod draw;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use benches::job::models_of;
use benches::sweep::{self, Point, Sweep};
use benches::{Job, Model};
use clap::Args;
use cli::args::Precision;
use cli::device::Choice;
use cli::load::Request;
use results::{SweepResults, SweepRow};

use crate::compare::{machine, quantile, record, root};
pub use draw::redraw;

/// Time whole models against the size of their input
#[derive(Debug, Clone, Args)]
pub struct SweepArgs {
    /// tiny, or the names of presets, which have random weights
    #[arg(long, value_name = "NAME", num_args = 1.., default_value = "tiny")]
    pub preset: Vec<String>,
    /// Of weights and activations; several are swept each for itself
    #[arg(long, value_enum, num_args = 1.., default_value = "f32")]
    pub dtype: Vec<Precision>,
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: Choice,
    /// Timed runs of each size at each level
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub samples: u32,
    /// Also write benches/results/sweep/NAME.json and its charts
    #[arg(long, value_name = "NAME")]
    pub record: Option<String>,
}

/// A size is sampled as often as asked for, or for as long as this at all levels together.
const LONGEST: Duration = Duration::from_secs(10);
/// The share of samples below `low_ms`, and above `high_ms`.
const TAIL: f64 = 0.1;

/// Measures, prints a line a size with the slopes behind, and writes what `args` asks for.
pub fn run(args: &SweepArgs) -> Result<()> {
    let root = root()?;
    let name = args.record.as_deref().map(record::checked).transpose()?;
    let device = args.device.open()?;
    let mut results = SweepResults::new(machine::describe(&device, &root)?);
    println!(
        "{}\nmilliseconds of one forward pass, median of {}",
        results.machine, args.samples
    );
    for dtype in &args.dtype {
        for preset in &args.preset {
            for model in models_of(preset)? {
                let request = Request {
                    model: preset.clone(),
                    dtype: (*dtype).into(),
                    device: device.clone(),
                    seed: 0,
                };
                let rows = measure(model, &request, args.samples as usize)?;
                print!("{}", draw::table(&rows));
                results.rows.extend(rows);
            }
        }
    }
    write(&root, name, &results)
}

fn write(root: &Path, name: Option<&str>, results: &SweepResults) -> Result<()> {
    let Some(name) = name else {
        return Ok(());
    };
    let folder = root.join("benches/results/sweep");
    std::fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    record::save(&folder.join(format!("{name}.json")), &results.json()?)?;
    for path in redraw(root)? {
        println!("recorded {}", path.display());
    }
    Ok(())
}

/// One size at one level.
struct Contender {
    level: u8,
    job: Box<dyn Job>,
    ms: Vec<f64>,
}

/// Every axis and size of `model`, the levels in turns.
fn measure(model: Model, request: &Request, samples: usize) -> Result<Vec<SweepRow>> {
    let mut of_levels: Vec<(u8, Vec<Sweep>)> = vec![];
    for level in levels::able(request.dtype, &request.device) {
        of_levels.push((level.level(), sweep::load(model, request, &level)?));
    }
    let mut rows = vec![];
    while let Some(next) = next(&mut of_levels) {
        let Next {
            axis,
            what,
            size,
            mut contenders,
        } = next;
        time(&mut contenders, samples)?;
        rows.extend(contenders.iter().map(|contender| SweepRow {
            model: model.name().into(),
            preset: request.model.clone(),
            axis: axis.into(),
            what: what.clone(),
            size,
            level: contender.level,
            dtype: request.dtype.as_str().into(),
            median_ms: quantile(&contender.ms, 0.5),
            low_ms: quantile(&contender.ms, TAIL),
            high_ms: quantile(&contender.ms, 1. - TAIL),
            samples: contender.ms.len(),
        }));
    }
    Ok(rows)
}

/// One size of one axis, at every level.
struct Next {
    axis: &'static str,
    what: String,
    size: usize,
    contenders: Vec<Contender>,
}

/// Takes the smallest size that is left of the first axis that has one, from every level.
fn next(of_levels: &mut [(u8, Vec<Sweep>)]) -> Option<Next> {
    let sweeps = &of_levels.first()?.1;
    let at = sweeps.iter().position(|sweep| !sweep.points.is_empty())?;
    let Sweep { axis, what, points } = &sweeps[at];
    let (axis, what, size) = (*axis, what.clone(), points[0].size);
    let contenders = of_levels.iter_mut().map(|(level, sweeps)| {
        let Point { job, .. } = sweeps[at].points.remove(0);
        let (level, ms) = (*level, vec![]);
        Contender { level, job, ms }
    });
    Some(Next {
        axis,
        what,
        size,
        contenders: contenders.collect(),
    })
}

/// A warm-up of two runs, and then rounds that another level begins each time.
fn time(contenders: &mut [Contender], samples: usize) -> Result<()> {
    for contender in &mut *contenders {
        for _ in 0..2 {
            contender.job.prepare()?;
            contender.job.run()?;
        }
    }
    let (start, count) = (Instant::now(), contenders.len());
    for round in 0..samples {
        if round > 0 && start.elapsed() > LONGEST {
            break;
        }
        for turn in 0..count {
            let contender = &mut contenders[(round + turn) % count];
            contender.job.prepare()?;
            let start = Instant::now();
            let logits = contender.job.run()?;
            let elapsed = start.elapsed();
            drop(logits);
            contender.ms.push(elapsed.as_secs_f64() * 1e3);
        }
    }
    Ok(())
}
