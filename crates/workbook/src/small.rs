//! `workbook small`: times small matmuls of level 5, candle and gemm, including the cost of picking a kernel.

mod clocks;
mod map;

use anyhow::{Context, Result};
use benches::machine;
use candle_core::{Device, Tensor};
use clap::Args;
use cli::device::Choice;
use cli::note_tables;
use kernels::dispatch::Problem;
use kernels::dispatch::tune::{Measured, PICKED};
use level5::tuning;
use results::{Kind, OpResults, OpRow, runs_as_short};

use crate::compare::root;
use crate::ops::peers::Peers;
use crate::ops::table;
use crate::record::folder::{figures, save};
use crate::record::{Records, Run, written};
use clocks::Clocks;
pub use map::redraw;

/// On which device, how often, and whether to note it.
#[derive(Debug, Args)]
pub struct SmallArgs {
    /// Where to run: auto (a GPU if there is one), cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: Choice,
    /// Number of samples for each kernel and shape; kernels take turns
    #[arg(long, value_name = "N", default_value_t = 41, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: u32,
    /// Also measure PyTorch, with this Python; needs the packages torch and safetensors
    #[arg(long, value_name = "PYTHON")]
    peers: Option<String>,
    /// Also record the results in benches/results/small/NAME.json, and draw them
    #[arg(long, value_name = "NAME")]
    record: Option<String>,
}

/// Maximum ratio of the picked kernel's time to a library's before it is marked.
const LOSS: f64 = 1.05;

/// candle's matmul: on a GPU cuBLAS's, on a CPU gemm's with one thread.
const CANDLE: &str = "candle";
const GEMM: &str = "gemm_one_thread";

/// Measures, prints one line per shape with losses marked, and writes the files that `args` asks for.
pub fn run(args: &SmallArgs) -> Result<()> {
    let root = root()?;
    let device = args.device.open()?;
    let peers = Peers::new(args.peers.as_deref(), &device, args.samples, 1)?;
    let machine = machine::describe(&device, &root)?;
    let mut results = OpResults::new(machine).of_kind(Kind::Small);
    let run = Run::Ops(results.clone());
    let record = Records::named(&root, args.record.as_deref(), &run)?;
    let figures = figures(&root, results.kind)?;
    note_tables(&device)?;
    data::println!("{}", results.machine);
    data::println!("level 5 runs as: {}", runs_as_short(5, device.is_cuda()));
    data::println!(
        "{:<16} {:>9} {:>9} {:>9} {:>9}  picked, fastest",
        "µs",
        "candle",
        "gemm 1",
        "level 5",
        "fastest"
    );
    let clocks = Clocks::new(&device, args.samples as usize)?;
    for problem in tuning::shapes() {
        let [a, b] = &operands(&problem, &device)?;
        if let Some(peers) = &peers {
            let case = ["matmul", &shape(&problem)];
            peers.export(case, problem.dtype, &[("a", a), ("b", b)], &a.matmul(b)?)?;
        }
        let measured = Measured::with_picked(problem, &device, args.samples as usize)?;
        let rows = clocks.rows(&problem, [a, b])?;
        print(&measured, &rows, &device)?;
        results.rows.extend(rows);
    }
    if let Some(peers) = &peers {
        peers.measure(&root, &mut results)?;
    }
    data::print!("{}", table::losses(&results, LOSS));
    save(&figures, &results)?;
    data::println!("figures  {}", figures.display());
    written(record, Run::Ops(results))
}

/// Random A and B.
fn operands(problem: &Problem, device: &Device) -> Result<[Tensor; 2]> {
    let &Problem { batch, m, n, k, .. } = problem;
    let draw = |rows, columns| {
        let x = Tensor::rand(-1f32, 1., (batch, rows, columns), device)?;
        let x = if batch == 1 { x.squeeze(0)? } else { x };
        x.to_dtype(problem.dtype)
    };
    Ok([draw(m, k)?, draw(k, n)?])
}

/// `8x64x64x64`: with the batch first, if there is one.
fn shape(p: &Problem) -> String {
    match p.batch {
        1 => format!("{}x{}x{}", p.m, p.n, p.k),
        batch => format!("{batch}x{}x{}x{}", p.m, p.n, p.k),
    }
}

/// Prints the rows of a shape, and the fastest of all kernels.
fn print(measured: &Measured, rows: &[OpRow], device: &Device) -> Result<()> {
    let cell = |name: &str| {
        let row = rows.iter().find(|row| row.level == name);
        row.map_or("–".into(), |row| format!("{:.2}", row.us()))
    };
    let kernels = measured.times.iter().filter(|(name, _)| *name != PICKED);
    let fastest = kernels.min_by(|a, b| a.1.total_cmp(&b.1));
    let (name, least) = fastest.context("nothing was measured")?;
    data::println!(
        "{:<16} {:>9} {:>9} {:>9} {least:>9.2}  {}, {name}",
        shape(&measured.problem),
        cell(CANDLE),
        cell(GEMM),
        cell(PICKED),
        tuning::picked(&measured.problem, device)?,
    );
    Ok(())
}

/// Returns the row of a matmul with these times.
fn row(problem: &Problem, level: &str, times: OpRow) -> OpRow {
    let p = problem;
    OpRow {
        op: "matmul".into(),
        shape: shape(p),
        level: level.into(),
        dtype: p.dtype.as_str().into(),
        flops: Some(2 * (p.batch * p.m * p.n * p.k) as u64),
        ..times
    }
}
