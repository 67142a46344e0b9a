//! `workbook ops`: every op on the shapes of the models at every level, as a table and JSON.

mod headers;
pub mod peers;
mod table;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use benches::ops::{self, Bench, Timed, Work};
use benches::timer::{Timer, Times};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use clap::Args;
use cli::args::Precision;
use cli::device::Choice;
use models::random::RandomWeights;
use results::{OpResults, OpRow};

use crate::compare::{machine, quantile, record, root};

/// Time every op on the shapes of the models at every level
#[derive(Debug, Clone, Args)]
pub struct OpsArgs {
    /// Only ops whose name contains this
    #[arg(value_name = "FILTER", default_value = "")]
    pub filter: String,
    /// Of weights and activations; each for itself
    #[arg(long, value_enum, num_args = 1.., default_value = "f32")]
    pub dtype: Vec<Precision>,
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: Choice,
    /// Samples of each op, shape and level
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub samples: u32,
    /// Time the same in PyTorch too, with this Python; it needs torch and safetensors
    #[arg(long, value_name = "PYTHON")]
    pub peers: Option<String>,
    /// Also write benches/results/ops/NAME.json
    #[arg(long, value_name = "NAME")]
    pub record: Option<String>,
}

/// Measures, prints a table an op, and writes what `args` asks for.
pub fn run(args: &OpsArgs) -> Result<()> {
    let root = root()?;
    let record = args.record.as_deref().map(record::checked).transpose()?;
    let device = args.device.open()?;
    let peers = peers::Peers::new(args.peers.as_deref(), &device, args.samples)?;
    let mut recorder = Recorder::new(&device, args)?;
    let mut results = OpResults::new(machine::describe(&device, &root)?);
    println!("{}\n{}", results.machine, table::legend(&device));
    for dtype in &args.dtype {
        recorder.draw(DType::from(*dtype));
        ops::all(&mut recorder)?;
    }
    recorder.print();
    results.rows = recorder.rows;
    if let Some(peers) = peers {
        println!();
        peers.measure(&root, &mut results)?;
    }
    write(&root.join("target/workbook/ops.json"), &results)?;
    match record {
        Some(name) => write(
            &root.join(format!("benches/results/ops/{name}.json")),
            &results,
        ),
        None => Ok(()),
    }
}

/// The GPU whose times stand in the headers of the kernels.
const HEADERS: &str = "benches/results/ops/h200.json";

/// Writes what is recorded of the ops into the headers of their kernels; returns the paths of those that changed.
pub fn redraw(root: &Path) -> Result<Vec<PathBuf>> {
    headers::rewrite(root, &OpResults::load(&root.join(HEADERS))?)
}

fn write(path: &Path, results: &OpResults) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    record::save(path, &results.json()?)?;
    println!("figures  {}", path.display());
    Ok(())
}

/// Times what it is given and keeps the medians.
struct Recorder<'a> {
    timer: Timer,
    device: Device,
    weights: VarBuilder<'static>,
    args: &'a OpsArgs,
    rows: Vec<OpRow>,
    /// Rows that are on the screen already.
    printed: usize,
}

impl<'a> Recorder<'a> {
    fn new(device: &Device, args: &'a OpsArgs) -> Result<Self> {
        Ok(Self {
            timer: Timer::new(device)?,
            device: device.clone(),
            weights: RandomWeights::weights(0, DType::F32, device),
            args,
            rows: vec![],
            printed: 0,
        })
    }

    /// The table of the rows since the last.
    fn print(&mut self) {
        print!("{}", table::all(&self.rows[self.printed..]));
        self.printed = self.rows.len();
    }

    /// From here on tensors have this format.
    fn draw(&mut self, dtype: DType) {
        self.weights = RandomWeights::weights(0, dtype, &self.device);
    }
}

impl Bench for Recorder<'_> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn dtype(&self) -> DType {
        self.weights.dtype()
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> candle_core::Result<Tensor> {
        self.weights.get(shape, name)
    }

    fn one(
        &mut self,
        op: &str,
        level: &str,
        shape: &str,
        work: Work,
        mut timed: impl Timed,
    ) -> candle_core::Result<()> {
        if !op.contains(&self.args.filter) {
            return Ok(());
        }
        if self.rows.last().is_some_and(|row| row.op != op) {
            self.print();
        }
        let Times { host, device } = self.timer.time(&mut timed, self.args.samples as usize)?;
        let count = |n: usize| Some(n as u64);
        let (bytes, flops) = match work {
            Work::Bytes(n) => (count(n), None),
            Work::Flops(n) => (None, count(n)),
            Work::Items(_) => (None, None),
        };
        self.rows.push(OpRow {
            op: op.into(),
            shape: shape.into(),
            level: level.into(),
            dtype: self.dtype().as_str().into(),
            host_us: quantile(&host, 0.5),
            device_us: device.map(|times| quantile(&times, 0.5)),
            bytes,
            flops,
        });
        Ok(())
    }
}
