//! `workbook ablation`: times level 5 in a graph, and again without each of its ideas, in turns.

mod chart;
mod without;

use anyhow::{Context, Result, ensure};
use benches::{Model, Workload, job, machine};
use candle_core::DType;
use clap::Args;
use cli::load::Request;
use cli::note_tables;
use cli::progress::Progress;
use data::BadInput;
use kernels::without::Idea;
use results::{Kind, Results, Row, spoken};

use crate::compare::turns::{LONGEST, Timed, time, warm_up};
use crate::compare::{Case, Spread, Subjects, relative_difference, root, significant, tolerance};
use crate::record::folder::{figures, save};
use crate::record::{Records, Run, written};
pub use chart::redraw;
use without::Without;

/// Which models to time, where and how often, and whether to note it.
#[derive(Debug, Clone, Args)]
pub struct AblationArgs {
    #[command(flatten)]
    subjects: Subjects,
    /// Leave out only these ideas, such as overlap or dispatch; a wrong name lists all [default: each of them]
    #[arg(long, value_name = "IDEA", value_delimiter = ',')]
    without: Vec<Idea>,
    /// Timed runs of each workload; the variants take turns
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: u32,
    /// Also record the results in benches/results/ablations/NAME.json, and draw them
    #[arg(long, value_name = "NAME", conflicts_with = "without")]
    record: Option<String>,
}

/// Measures, prints a table for each workload, and writes the files that `args` asks for.
pub fn run(args: &AblationArgs) -> Result<()> {
    let root = root()?;
    let device = args.subjects.device.open()?;
    if !device.is_cuda() {
        let expected = "a GPU, because most ideas of level 5 are about kernels";
        return Err(BadInput::new("--device", expected, "a CPU").into());
    }
    let ideas = if args.without.is_empty() {
        Idea::ALL.to_vec()
    } else {
        args.without.clone()
    };
    let mut results = Results::new(machine::describe(&device, &root)?).of_kind(Kind::Ablations);
    let run = Run::Models(results.clone());
    let record = Records::named(&root, args.record.as_deref(), &run)?;
    note_tables(&device)?;
    let figures = figures(&root, results.kind)?;
    data::println!(
        "{}\nmilliseconds of one forward pass, median of {}",
        results.machine,
        args.samples
    );
    for Case { model, request } in args.subjects.cases(&device)? {
        let rows = measure(model, &request, &ideas, args.samples as usize)?;
        data::print!("{}", table(&rows));
        results.rows.extend(rows);
        save(&figures, &results)?; // after each, so that an interrupted run keeps its results
    }
    data::println!("figures  {}", figures.display());
    written(record, Run::Models(results))
}

/// A workload with all ideas, or without one, and its measurements.
struct Variant {
    idea: Option<Idea>,
    workload: Workload,
    logits: Vec<f32>,
    ms: Vec<f64>,
    device_ms: Option<f64>,
}

impl Timed for Variant {
    fn timed(&mut self) -> (&mut dyn benches::Job, &mut Vec<f64>) {
        (self.workload.job.as_mut(), &mut self.ms)
    }
}

impl Variant {
    /// `level 5`, or `without overlap`.
    fn label(&self) -> String {
        self.idea
            .map_or("level 5".into(), |idea| format!("without {idea}"))
    }

    /// Warms up and keeps the answer.
    fn warm_up(&mut self) -> Result<()> {
        let job = self.workload.job.as_mut();
        warm_up(job)?;
        job.prepare()?;
        let logits = job.run()?;
        self.logits = logits.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
        Ok(())
    }
}

/// Measures every workload of `model` in all variants.
fn measure(model: Model, request: &Request, ideas: &[Idea], samples: usize) -> Result<Vec<Row>> {
    let mut variants = vec![];
    for idea in std::iter::once(None).chain(ideas.iter().copied().map(Some)) {
        variants.push(load(model, request, idea)?);
    }
    let workloads = variants[0].len();
    let progress = Progress::new(format!("timing {}", model.name()), workloads * samples);
    let mut rows = vec![];
    for _ in 0..workloads {
        let mut variants: Vec<Variant> = variants.iter_mut().map(|all| all.remove(0)).collect();
        for variant in &mut variants {
            variant.warm_up()?;
        }
        agree(&variants, request.dtype)?;
        for round in 0..samples {
            time(&mut variants, round)?;
            progress.step();
        }
        for variant in &mut variants {
            let ms = Spread::of(&variant.ms).median;
            let fits = ms * samples as f64 <= LONGEST.as_secs_f64() * 1e3;
            let job = variant.workload.job.as_mut();
            let times = fits.then(|| benches::passes::device_ms(job, &request.device, ms, samples));
            let times = times.transpose()?.flatten();
            variant.device_ms = times.map(|ms| Spread::of(&ms).median);
        }
        rows.extend(summary(&variants, request));
    }
    Ok(rows)
}

/// The workloads of a model at level 5, with weights of their own.
fn load(model: Model, request: &Request, idea: Option<Idea>) -> Result<Vec<Variant>> {
    levels::check(&[levels::highest()], request.dtype, &request.device)?;
    let level = levels::level(levels::highest()).context("level 5")?;
    let cuda_graph = idea != Some(Idea::CudaGraph);
    let workloads = job::load(model, request, &level, cuda_graph)?;
    let variant = |workload: Workload| Variant {
        idea,
        workload: Workload {
            job: Box::new(Without::new(idea, workload.job)),
            ..workload
        },
        logits: vec![],
        ms: vec![],
        device_ms: None,
    };
    Ok(workloads.into_iter().map(variant).collect())
}

/// Checks that all variants compute the same up to rounding.
fn agree(variants: &[Variant], dtype: DType) -> Result<()> {
    let tolerance = tolerance(dtype);
    for variant in variants {
        let difference = relative_difference(&variants[0].logits, &variant.logits);
        ensure!(
            difference <= tolerance,
            "{} {}: expected logits within {tolerance:e} of level 5's, found {difference:.1e}",
            variant.workload.name,
            variant.label()
        );
    }
    Ok(())
}

/// One row per variant; the speed-up is that over level 5 with all ideas, so below 1 where an idea helps.
fn summary(variants: &[Variant], request: &Request) -> Vec<Row> {
    let with_all = Spread::of(&variants[0].ms).median;
    let row = |variant: &Variant| {
        let ms = Spread::of(&variant.ms);
        let name = |idea: Idea| format!("without_{}", idea.name().replace('-', "_"));
        Row {
            model: variant.workload.model.name().into(),
            preset: request.model.clone(),
            workload: variant.workload.name.clone(),
            level: if variant.idea.is_none() { 5 } else { 0 },
            system: variant.idea.map(name),
            cuda_graph: variant.idea.is_none(),
            dtype: request.dtype.as_str().into(),
            median_ms: ms.median,
            low_ms: ms.low,
            high_ms: ms.high,
            device_ms: variant.device_ms,
            speedup: with_all / ms.median,
            max_difference: relative_difference(&variants[0].logits, &variant.logits),
            samples: variant.ms.len(),
            ..Row::default()
        }
    };
    variants.iter().map(row).collect()
}

/// The rows of each workload, with the time without an idea divided by the time with all.
fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let device = row.device_ms.map_or("–".into(), significant);
        let ms = significant(row.median_ms);
        match &row.system {
            None => {
                text += &format!("\n{:<34} {:>9} {:>10}\n", row.title(), "ms", "device ms");
                text += &format!("  {:<32} {ms:>9} {device:>10}\n", "level 5 in a graph");
            }
            Some(system) => {
                let slower = 1. / row.speedup;
                text += &format!(
                    "  {:<32} {ms:>9} {device:>10}  {slower:.2}×\n",
                    spoken(system)
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_what_an_idea_brings() {
        let row = |system: Option<&str>, median_ms: f64| Row {
            model: "lm".into(),
            preset: "readme".into(),
            workload: "decode".into(),
            dtype: "bf16".into(),
            system: system.map(str::to_owned),
            median_ms,
            device_ms: Some(median_ms / 2.),
            speedup: 0.1 / median_ms,
            ..Row::default()
        };
        let rows = [row(None, 0.1), row(Some("without_fused_norm"), 0.125)];
        let expected = "
lm readme decode bf16                     ms  device ms
  level 5 in a graph                   0.100     0.0500
  without fused norm                   0.125     0.0625  1.25×
";
        assert_eq!(table(&rows), expected);
    }
}
