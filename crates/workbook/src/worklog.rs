//! `workbook worklog`: times each step of a worklog on a GPU, in turns with cuBLAS.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use benches::machine;
use benches::ops::Timed;
use benches::timer::Timer;
use candle_core::cuda::{gemm_reduced_precision_f32, set_gemm_reduced_precision_f32};
use candle_core::{DType, Device, Tensor};
use charts::{Axis, Bar, BarChart, Group};
use clap::{Args, ValueEnum};
use cli::device::Choice;
use data::BadInput;
use kernels::worklogs::matmul::STEPS;
use results::{Kind, OpResults, OpRow};

use crate::compare::root;
use crate::ops::timed_row;
use crate::record::folder::{Drawing, draw, left_by_a_run, save};
use crate::record::{Records, Run, written};

/// What to time, on which device and how often, and whether to note it.
#[derive(Debug, Args)]
pub struct WorklogArgs {
    /// Which worklog
    worklog: Worklog,
    /// M, N and K; a multiple of 4
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(4..=16384))]
    size: u32,
    /// Where to run: auto (a GPU if there is one), cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: Choice,
    /// Number of samples for each step; the steps take turns
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    samples: u32,
    /// Also record the results in benches/results/worklogs/NAME.json, and draw them
    #[arg(long, value_name = "NAME")]
    record: Option<String>,
}

/// The worklogs.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Worklog {
    /// C = A·B in nine steps
    Matmul,
}

/// Name of the op in the record.
const MATMUL: &str = "matmul";

/// cuBLAS, called by candle: in f32, and with TF32 allowed.
const CUBLAS: &str = "candle";
const CUBLAS_TF32: &str = "candle_tf32";

/// The step that computes in TF32, as cuBLAS does in [`CUBLAS_TF32`].
const TF32_STEP: usize = 9;

/// Measures, prints one line per step, and writes the files that `args` asks for.
pub fn run(args: &WorklogArgs) -> Result<()> {
    let Worklog::Matmul = args.worklog;
    let root = root()?;
    let device = args.device.open()?;
    if !device.is_cuda() {
        let expected = "a GPU, which `worklog` times; `cargo run --release -p kernels --example worklog -- matmul` \
                        counts the steps in the simulator";
        bail!(BadInput::new("--device", expected, "a CPU"));
    }
    let results = OpResults::new(machine::describe(&device, &root)?).of_kind(Kind::Worklogs);
    let record = Records::named(&root, args.record.as_deref(), &Run::Ops(results.clone()))?;
    println!("{}", results.machine);
    let mut results = results;
    results.rows = rows(&device, args.size as usize, args.samples as usize)?;
    print!("{}", table(&results)?);
    let figures = left_by_a_run(&root, results.kind);
    save(&figures, &results)?;
    println!("figures  {}", figures.display());
    written(record, Run::Ops(results))
}

/// The rows of all steps and of cuBLAS, in turns.
fn rows(device: &Device, size: usize, samples: usize) -> Result<Vec<OpRow>> {
    let operand = || Tensor::rand(-1f32, 1., (size, size), device);
    let (a, b) = (operand()?, operand()?);
    check(&a, &b)?;
    let row = |level: String, times: OpRow| OpRow {
        op: MATMUL.into(),
        shape: format!("{size}x{size}x{size}"),
        level,
        dtype: DType::F32.as_str().into(),
        flops: Some(2 * (size * size * size) as u64),
        ..times
    };
    let mut calls: Vec<(String, Box<dyn Timed + '_>)> = vec![];
    for step in &STEPS {
        let (a, b) = (&a, &b);
        calls.push((step_name(step.number), Box::new(move || step.matmul(a, b))));
    }
    calls.push((CUBLAS.into(), Box::new(|| a.matmul(&b))));
    calls.push((CUBLAS_TF32.into(), Box::new(|| with_tf32(&a, &b))));
    let (levels, mut calls): (Vec<String>, Vec<_>) = calls.into_iter().unzip();
    let mut timed: Vec<&mut dyn Timed> = calls.iter_mut().map(|call| &mut **call as _).collect();
    let times = Timer::new(device)?.in_turns(&mut timed, samples)?;
    let rows = levels.into_iter().zip(&times);
    Ok(rows
        .map(|(level, times)| row(level, timed_row(times, None)))
        .collect())
}

fn step_name(number: usize) -> String {
    format!("step{number}")
}

/// cuBLAS with TF32 allowed, which candle has as a setting of the process.
fn with_tf32(a: &Tensor, b: &Tensor) -> candle_core::Result<Tensor> {
    let before = gemm_reduced_precision_f32();
    set_gemm_reduced_precision_f32(true);
    let c = a.matmul(b);
    set_gemm_reduced_precision_f32(before);
    c
}

/// Compares each step with cuBLAS before anything is timed: element by element, relative to Σ|a·b|.
fn check(a: &Tensor, b: &Tensor) -> Result<()> {
    let expected = a.matmul(b)?;
    let scale = a.abs()?.matmul(&b.abs()?)?;
    for step in &STEPS {
        let difference = ((step.matmul(a, b)? - &expected)?.abs()? / &scale)?;
        let worst: f32 = difference.flatten_all()?.max(0)?.to_scalar()?;
        // TF32 has 10 bits of mantissa.
        let tolerance = if step.number == TF32_STEP { 1e-3 } else { 1e-5 };
        ensure!(
            worst <= tolerance,
            "step {}: expected cuBLAS's result within {tolerance} of Σ|a·b|, found {worst}",
            step.number
        );
    }
    Ok(())
}

/// A step of a record, compared with cuBLAS.
struct Share<'r> {
    name: String,
    idea: &'static str,
    row: &'r OpRow,
    /// Throughput of cuBLAS in the same arithmetic = 1.
    share: f64,
}

impl Share<'_> {
    fn tflops(&self) -> f64 {
        tflops(self.row)
    }

    fn library(&self) -> &'static str {
        if self.row.level == step_name(TF32_STEP) {
            "cuBLAS TF32"
        } else {
            "cuBLAS"
        }
    }
}

fn tflops(row: &OpRow) -> f64 {
    row.flops.unwrap_or_default() as f64 / row.us() / 1e6
}

/// The steps that a record has.
fn shares(results: &OpResults) -> Result<Vec<Share<'_>>> {
    let find = |level: &str| results.rows.iter().find(|row| row.level == level);
    let of = |level: &str| find(level).with_context(|| format!("{level}: expected a row of it"));
    let mut shares = vec![];
    for step in &STEPS {
        let name = step_name(step.number);
        let Some(row) = find(&name) else { continue };
        let library = if step.number == TF32_STEP { CUBLAS_TF32 } else { CUBLAS };
        shares.push(Share {
            name,
            idea: step.idea,
            row,
            share: of(library)?.us() / row.us(),
        });
    }
    Ok(shares)
}

fn table(results: &OpResults) -> Result<String> {
    let mut text = "step   idea                                µs   TFLOP/s  of cuBLAS\n".to_string();
    for step in shares(results)? {
        text += &format!(
            "{:<5}  {:<30} {:>8.0}  {:>8.2}  {:>7.1}%  ({})\n",
            step.name,
            step.idea,
            step.row.us(),
            step.tflops(),
            100. * step.share,
            step.library(),
        );
    }
    Ok(text)
}

/// Draws every record of `benches/results/worklogs` as `charts/NAME-worklog-matmul`.
pub fn redraw(root: &Path, records: &[(String, OpResults)]) -> Result<Vec<Drawing>> {
    let mut drawn = vec![];
    for (name, recorded) in records {
        drawn.push(draw(root, name, "worklog-matmul", &chart(recorded)?)?);
    }
    Ok(drawn)
}

fn chart(results: &OpResults) -> Result<BarChart> {
    let shares = shares(results)?;
    let shape = shares.first().map_or("", |step| &step.row.shape);
    let groups = shares.iter().map(|step| {
        let percent = 100. * step.share;
        Group {
            name: format!("{}: {}", step.name.replace("step", ""), step.idea),
            bars: vec![Bar {
                name: format!("percent of {}", step.library()),
                value: percent,
                spread: (percent, percent),
                label: format!("{percent:.0}%, {:.1} TFLOP/s", step.tflops()),
            }],
        }
    });
    Ok(BarChart {
        title: format!(
            "Matmul of {} in nine steps on {}",
            shape.replace('x', " × "),
            results.machine.name
        ),
        axis: Axis::linear("throughput (% of cuBLAS in the same arithmetic)"),
        mark: Some(100.),
        groups: groups.collect(),
    })
}

#[cfg(test)]
mod tests {
    use results::Machine;

    use super::*;

    fn recorded() -> OpResults {
        let row = |level: &str, us: f64| OpRow {
            op: MATMUL.into(),
            shape: "8x8x8".into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us: us,
            flops: Some(2 * 512),
            ..OpRow::default()
        };
        let mut results = OpResults::new(Machine::default()).of_kind(Kind::Worklogs);
        results.rows = vec![
            row("step1", 400.),
            row("step9", 20.),
            row(CUBLAS, 100.),
            row(CUBLAS_TF32, 5.),
        ];
        results
    }

    #[test]
    fn a_step_is_compared_with_the_library_in_the_same_arithmetic() -> Result<()> {
        let results = recorded();
        let found = shares(&results)?;
        let found: Vec<(&str, f64)> = found.iter().map(|s| (s.name.as_str(), s.share)).collect();
        assert_eq!(found, [("step1", 0.25), ("step9", 0.25)]);
        let chart = chart(&results)?;
        let bars: Vec<&str> = (chart.groups.iter())
            .flat_map(|group| &group.bars)
            .map(|bar| bar.name.as_str())
            .collect();
        assert_eq!(bars, ["percent of cuBLAS", "percent of cuBLAS TF32"]);
        let text = table(&results)?;
        assert!(text.contains("step9  tensor cores, TF32"), "{text}");
        Ok(())
    }

    #[test]
    fn a_record_without_cublas_is_an_error() {
        let mut results = recorded();
        results.rows.retain(|row| row.level != CUBLAS);
        let error = shares(&results).err().map(|e| e.to_string());
        assert_eq!(error.as_deref(), Some("candle: expected a row of it"));
    }
}
