//! `workbook sweep`: times forward passes over tokens, batch, nodes and edges, at every level.

mod draw;

use std::time::Instant;

use anyhow::Result;
use benches::sweep::{self, Point, Sweep};
use benches::{Job, Model, machine};
use clap::Args;
use cli::load::Request;
use cli::note_tables;
use cli::progress::Progress;
use results::{SweepResults, SweepRow};

use crate::compare::turns::{LONGEST, Timed, time, warm_up};
use crate::compare::{Case, Spread, Subjects, root};
use crate::record::folder::{figures, save};
use crate::record::{Records, Run, written};
pub use draw::redraw;

/// Time whole models for growing sizes of their input
#[derive(Debug, Clone, Args)]
pub struct SweepArgs {
    #[command(flatten)]
    pub subjects: Subjects,
    /// Number of timed runs for each size and level
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub samples: u32,
    /// Also record the results in benches/results/sweep/NAME.json, and draw them
    #[arg(long, value_name = "NAME")]
    pub record: Option<String>,
}

/// Measures, prints one line per size with the slopes below, and writes the files that `args` asks for.
pub fn run(args: &SweepArgs) -> Result<()> {
    let root = root()?;
    let device = args.subjects.device.open()?;
    let mut results = SweepResults::new(machine::describe(&device, &root)?);
    let run = Run::Sweep(results.clone());
    let record = Records::named(&root, args.record.as_deref(), &run)?;
    let cases = args.subjects.cases(&device)?;
    note_tables(&device)?;
    let figures = figures(&root, results.kind)?;
    data::println!(
        "{}\nmilliseconds of one forward pass, median of {}",
        results.machine,
        args.samples
    );
    for Case { model, request } in cases {
        let rows = measure(model, &request, args.samples as usize)?;
        data::print!("{}", draw::table(&rows, &results.machine));
        results.rows.extend(rows);
        save(&figures, &results)?; // after each, so that an interrupted run keeps its results
    }
    data::println!("figures  {}", figures.display());
    written(record, Run::Sweep(results))
}

/// One size at one level.
struct Contender {
    level: u8,
    cuda_graph: bool,
    job: Box<dyn Job>,
    ms: Vec<f64>,
}

impl Timed for Contender {
    fn timed(&mut self) -> (&mut dyn Job, &mut Vec<f64>) {
        (self.job.as_mut(), &mut self.ms)
    }
}

/// All sizes of one level.
struct Variant {
    level: u8,
    cuda_graph: bool,
    sweeps: Vec<Sweep>,
}

/// Returns every level without graphs, and on a GPU the highest also as a graph.
fn variants(model: Model, request: &Request) -> Result<Vec<Variant>> {
    let mut variants = vec![];
    for of_level in levels::able(request.dtype, &request.device) {
        let level = of_level.level();
        let in_graph = request.device.is_cuda() && level == levels::highest();
        for cuda_graph in [false, true].into_iter().take(1 + usize::from(in_graph)) {
            variants.push(Variant {
                level,
                cuda_graph,
                sweeps: sweep::load(model, request, &of_level, cuda_graph)?,
            });
        }
    }
    Ok(variants)
}

/// Measures every axis and size of `model`, with the levels in turns.
fn measure(model: Model, request: &Request, samples: usize) -> Result<Vec<SweepRow>> {
    let mut variants = variants(model, request)?;
    let points = |variant: &Variant| variant.sweeps.iter().map(|sweep| sweep.points.len()).sum();
    let sizes = variants.first().map_or(0, points);
    let progress = Progress::new(format!("timing sizes of {}", model.name()), sizes);
    let mut rows = vec![];
    while let Some(next) = next(&mut variants) {
        let Next {
            axis,
            what,
            size,
            contenders,
        } = next;
        let contenders = sample(contenders, samples)?;
        rows.extend(contenders.iter().map(|contender| {
            let ms = Spread::of(&contender.ms);
            SweepRow {
                model: model.name().into(),
                preset: request.model.clone(),
                axis: axis.into(),
                what: what.clone(),
                size,
                level: contender.level,
                cuda_graph: contender.cuda_graph,
                dtype: request.dtype.as_str().into(),
                median_ms: ms.median,
                low_ms: ms.low,
                high_ms: ms.high,
                samples: contender.ms.len(),
                origin: None,
            }
        }));
        progress.step();
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

/// Takes the smallest remaining size of the first axis that has one, from every level.
fn next(variants: &mut [Variant]) -> Option<Next> {
    let sweeps = &variants.first()?.sweeps;
    let at = sweeps.iter().position(|sweep| !sweep.points.is_empty())?;
    let Sweep { axis, what, points } = &sweeps[at];
    let (axis, what, size) = (*axis, what.clone(), points[0].size);
    let contenders = variants.iter_mut().map(|variant| {
        let Point { job, .. } = variant.sweeps[at].points.remove(0);
        Contender {
            level: variant.level,
            cuda_graph: variant.cuda_graph,
            job,
            ms: vec![],
        }
    });
    Some(Next {
        axis,
        what,
        size,
        contenders: contenders.collect(),
    })
}

/// Warms up, then samples in rounds: `samples` of them, or as many as fit the time for all levels. Variants
/// that cannot be recorded as a graph are skipped by name.
fn sample(contenders: Vec<Contender>, samples: usize) -> Result<Vec<Contender>> {
    let mut ready = vec![];
    for mut contender in contenders {
        match warm_up(contender.job.as_mut()) {
            Err(error) if contender.cuda_graph => {
                data::note(format_args!(
                    "skipped: level {} in a graph: {error:#}",
                    contender.level
                ));
            }
            warm => {
                warm?;
                ready.push(contender);
            }
        }
    }
    let start = Instant::now();
    for round in (0..samples).take_while(|_| start.elapsed() < LONGEST) {
        time(&mut ready, round)?;
    }
    Ok(ready)
}
