//! `workbook ops`: every op on the shapes of the models at every level, as a table and JSON.

mod headers;
pub mod peers;
mod roofline;
mod shapes;
pub mod table;
mod times;

use std::path::{Path, PathBuf};

use anyhow::Result;
use benches::ops::{self, Bench, Contenders, Operands, Timed, Work};
use benches::timer::{Timer, Times};
use benches::{limits, machine};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use clap::Args;
use cli::args::Precision;
use cli::device::Choice;
use data::BadInput;
use models::random::RandomWeights;
use models::trace::Needs;
use models::trace::profile::Limits;
use results::{OpResults, OpRow};

use crate::compare::{quantile, root};
use crate::record::folder::{Named, left_by_a_run, save};
use crate::record::{Records, Run, written};

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
    /// Also put it into benches/results/ops/NAME.json, and draw that
    #[arg(long, value_name = "NAME")]
    pub record: Option<String>,
}

/// Measures, prints a table an op, and writes what `args` asks for.
pub fn run(args: &OpsArgs) -> Result<()> {
    let root = root()?;
    named(&args.filter)?;
    if args.record.is_some() && !args.filter.is_empty() {
        let expected = "no FILTER beside it: a record has every op";
        return Err(BadInput::new("--record", expected, &args.filter).into());
    }
    let device = args.device.open()?;
    let peers = peers::Peers::new(args.peers.as_deref(), &device, args.samples)?;
    let mut recorder = Recorder::new(&device, args, peers.as_ref())?;
    let mut results = OpResults::new(machine::describe(&device, &root)?);
    let run = Run::Ops(results.clone());
    let record = Records::named(&root, args.record.as_deref(), &run)?;
    println!("{}\n{}", results.machine, table::legend(&device));
    for dtype in &args.dtype {
        recorder.draw(DType::from(*dtype))?;
        ops::all(&mut recorder)?;
    }
    recorder.print();
    results.rows = recorder.rows;
    let figures = left_by_a_run(&root, results.kind);
    if let Some(peers) = &peers {
        save(&figures, &results)?; // whatever becomes of the peers
        println!();
        peers.measure(&root, &mut results)?;
        print!("{}", table::losses(&results, 1.));
    }
    save(&figures, &results)?;
    println!("figures  {}", figures.display());
    written(record, Run::Ops(results))
}

/// Whether an op has a name that contains `filter`.
fn named(filter: &str) -> Result<(), BadInput> {
    match times::ops().any(|op| op.contains(filter)) {
        true => Ok(()),
        false => {
            let ops: Vec<&str> = times::ops().collect();
            let expected = format!("a part of one of {}", ops.join(", "));
            Err(BadInput::new("FILTER", expected, format!("{filter:?}")))
        }
    }
}

/// The GPU whose times stand in the headers of the kernels.
const HEADERS: &str = "h200";

/// Draws what is recorded of the ops: times level beside level and against the shape, and rates below the roof; and writes
/// it into the headers of their kernels, where those are. Returns the paths of the charts and of the headers that changed.
pub fn redraw(root: &Path, records: &Named<OpRow>) -> Result<Vec<PathBuf>> {
    let of_headers = records.iter().find(|(name, _)| name == HEADERS);
    let headers = match of_headers {
        Some((_, recorded)) if root.join(headers::KERNELS).exists() => {
            headers::rewrite(root, recorded)?
        }
        _ => vec![],
    };
    let drawn = [
        times::redraw(root, records)?,
        shapes::redraw(root, records)?,
        roofline::redraw(root, records)?,
        headers,
    ];
    Ok(drawn.concat())
}

/// Times what it is given and keeps the medians.
struct Recorder<'a> {
    timer: Timer,
    device: Device,
    weights: VarBuilder<'static>,
    args: &'a OpsArgs,
    peers: Option<&'a peers::Peers<'a>>,
    rows: Vec<OpRow>,
    /// Rows that are on the screen already.
    printed: usize,
    /// What an op on a shape needs.
    needs: Option<(String, String, Needs)>,
    /// What the device can do at the most, in the number format of the time.
    limits: Option<Limits>,
}

impl<'a> Recorder<'a> {
    fn new(
        device: &Device,
        args: &'a OpsArgs,
        peers: Option<&'a peers::Peers<'a>>,
    ) -> Result<Self> {
        Ok(Self {
            timer: Timer::new(device)?,
            device: device.clone(),
            weights: RandomWeights::weights(0, DType::F32, device),
            args,
            peers,
            rows: vec![],
            printed: 0,
            needs: None,
            limits: None,
        })
    }

    /// The table of the rows since the last.
    fn print(&mut self) {
        print!("{}", table::all(&self.rows[self.printed..]));
        self.printed = self.rows.len();
    }

    /// Microseconds of a call inside a CUDA graph. What cannot be recorded is skipped by name.
    fn in_graph(&self, case: [&str; 3], timed: &mut dyn Timed) -> Option<Vec<f64>> {
        let times = self.timer.in_graph(timed, self.args.samples as usize);
        times.unwrap_or_else(|error| {
            let message = error.to_string();
            let why = message.lines().next().unwrap_or_default();
            eprintln!("skipped: {} in a graph: {why}", case.join(" "));
            None
        })
    }

    /// From here on tensors have this format; what the device can do in it at the most is a row of its own.
    fn draw(&mut self, dtype: DType) -> candle_core::Result<()> {
        self.print();
        self.weights = RandomWeights::weights(0, dtype, &self.device);
        let limits = limits::measure(&self.device, dtype)?;
        println!("limits in {}: {limits}", dtype.as_str());
        self.rows.extend(roofline::rows(&limits, dtype));
        self.printed = self.rows.len();
        self.limits = Some(limits);
        Ok(())
    }
}

impl Bench for Recorder<'_> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn dtype(&self) -> DType {
        self.weights.dtype()
    }

    fn large(&self) -> bool {
        !self.device.is_cpu()
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> candle_core::Result<Tensor> {
        self.weights.get(shape, name)
    }

    fn needs(
        &mut self,
        op: &str,
        shape: &str,
        count: impl FnOnce() -> candle_core::Result<Option<Needs>>,
    ) -> candle_core::Result<()> {
        self.needs = match op.contains(&self.args.filter) {
            true => count()?.map(|needs| (op.into(), shape.into(), needs)),
            false => None,
        };
        Ok(())
    }

    fn given(
        &mut self,
        op: &str,
        shape: &str,
        operands: Operands,
        answer: impl FnOnce() -> candle_core::Result<Tensor>,
    ) -> candle_core::Result<()> {
        match self.peers {
            Some(peers) if op.contains(&self.args.filter) => {
                peers.export([op, shape], self.dtype(), operands, &answer()?)
            }
            _ => Ok(()),
        }
    }

    fn times(
        &mut self,
        op: &str,
        shape: &str,
        work: Work,
        mut all: Contenders,
    ) -> candle_core::Result<()> {
        if !op.contains(&self.args.filter) {
            return Ok(());
        }
        if self.rows.last().is_some_and(|row| row.op != op) {
            self.print();
        }
        let mut timed: Vec<&mut dyn Timed> = vec![];
        for (_, one) in &mut all {
            timed.push(one.as_mut());
        }
        let times = self
            .timer
            .in_turns(&mut timed, self.args.samples as usize)?;
        for ((level, mut timed), times) in all.into_iter().zip(times) {
            let row = self.row([op, level, shape], work, timed.as_mut(), &times)?;
            self.rows.push(row);
        }
        Ok(())
    }
}

impl Recorder<'_> {
    /// What was measured of an op by a level on a shape, with the times in a CUDA graph.
    fn row(
        &self,
        [op, level, shape]: [&str; 3],
        work: Work,
        timed: &mut dyn Timed,
        times: &Times,
    ) -> candle_core::Result<OpRow> {
        let graph = match timed.has_state() || timed.waits() {
            true => None, // a recording would repeat it where it stood
            false => self.in_graph([op, level, shape], timed),
        };
        let count = |n: usize| Some(n as u64);
        let (bytes, flops) = match work {
            Work::Bytes(n) => (count(n), None),
            Work::Flops(n) => (None, count(n)),
            Work::Items(_) => (None, None),
        };
        let of_case = |(of, on, _): &&(String, String, Needs)| of == op && on == shape;
        let needs = self.needs.as_ref().filter(of_case);
        let needs = needs
            .filter(|_| level != "copy")
            .map(|(_, _, needs)| *needs);
        let is_by_memory = |limits: Limits| ops::is_limited_by_memory(&limits, needs, work);
        let cold = match self.limits.is_some_and(is_by_memory) {
            true => self.timer.cold(timed, self.args.samples as usize)?,
            false => None,
        };
        Ok(OpRow {
            op: op.into(),
            shape: shape.into(),
            level: level.into(),
            dtype: self.dtype().as_str().into(),
            bytes,
            flops,
            needs_bytes: needs.map(|needs| needs.bytes),
            needs_flops: needs.map(|needs| needs.flops),
            kernels: kernels(&self.device, timed)?,
            cold_us: cold.map(|us| quantile(&us, 0.5)),
            ..timed_row(times, graph.as_ref())
        })
    }
}

/// The times of a row, and nothing else: medians, and the spread by the clock that has the least of the host in it.
pub fn timed_row(Times { host, device }: &Times, graph: Option<&Vec<f64>>) -> OpRow {
    let nearest = graph.or(device.as_ref()).unwrap_or(host);
    let median = |us: &Vec<f64>| quantile(us, 0.5);
    OpRow {
        host_us: median(host),
        device_us: device.as_ref().map(median),
        graph_us: graph.map(median),
        low_us: Some(quantile(nearest, 0.1)),
        high_us: Some(quantile(nearest, 0.9)),
        samples: Some(nearest.len()),
        ..OpRow::default()
    }
}

/// This project's kernels that a call starts, each once, in the order of their first start.
fn kernels(device: &Device, timed: &mut dyn Timed) -> candle_core::Result<Vec<String>> {
    timed.prepare()?;
    let (_, events) = models::trace::record(device, || {
        let _call = models::trace::span("call"); // for kernels that no level's op starts
        timed.call()
    })?;
    let mut kernels: Vec<String> = vec![];
    for launched in events.iter().flat_map(|event| &event.launches) {
        if !kernels.iter().any(|name| name == launched.kernel) {
            kernels.push(launched.kernel.into());
        }
    }
    Ok(kernels)
}
