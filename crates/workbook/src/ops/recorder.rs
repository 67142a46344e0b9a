//! How every op is timed: sample by sample in turns, and once more on a GPU by each of its clocks.

use anyhow::Result;
use benches::limits;
use benches::ops::{self, Bench, Contenders, OpInputs, Timed, Work};
use benches::timer::{Timer, Times};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use cli::progress::Waiting;
use kernels::cost::Cost;
use models::random::RandomWeights;
use models::trace::profile::Limits;
use results::OpRow;

use super::{OpsArgs, peers, roofline, table};
use crate::compare::quantile;

/// Times what it is given and keeps the medians.
pub struct Recorder<'a> {
    timer: Timer,
    device: Device,
    weights: VarBuilder<'static>,
    args: &'a OpsArgs,
    peers: Option<&'a peers::Peers<'a>>,
    /// One row per case, in the order of their timing.
    pub rows: Vec<OpRow>,
    /// Rows that are on the screen already.
    printed: usize,
    /// An op, its shape and its minimum bytes and FLOPs.
    needs: Option<(String, String, Cost)>,
    /// Measured limits of the device in the current dtype.
    limits: Option<Limits>,
}

impl<'a> Recorder<'a> {
    /// On a device; `peers` are given what is timed.
    pub fn new(
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
    pub fn print(&mut self) {
        let on_gpu = self.device.is_cuda();
        data::print!("{}", table::all(&self.rows[self.printed..], on_gpu));
        self.printed = self.rows.len();
    }

    /// Microseconds of a call inside a CUDA graph. What cannot be recorded is skipped by name.
    fn in_graph(&self, case: [&str; 3], timed: &mut dyn Timed) -> Option<Vec<f64>> {
        let times = self.timer.in_graph(timed, self.args.samples as usize);
        times.unwrap_or_else(|error| {
            let message = error.to_string();
            let why = message.lines().next().unwrap_or_default();
            data::note(format_args!(
                "skipped: {} in a graph: {why}",
                case.join(" ")
            ));
            None
        })
    }

    /// From here on tensors have this dtype; the device's limits in it are rows of their own.
    pub fn draw(&mut self, dtype: DType) -> candle_core::Result<()> {
        self.print();
        self.weights = RandomWeights::weights(0, dtype, &self.device);
        let measuring = Waiting::new("measuring the limits of the device");
        let limits = limits::measure(&self.device, dtype)?;
        drop(measuring);
        data::println!("limits in {}: {limits}", dtype.as_str());
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

    fn needs(&mut self, op: &str, shape: &str, cost: Cost) {
        self.needs = Some((op.into(), shape.into(), cost));
    }

    fn given(
        &mut self,
        op: &str,
        shape: &str,
        inputs: OpInputs,
        answer: impl FnOnce() -> candle_core::Result<Tensor>,
    ) -> candle_core::Result<()> {
        match self.peers {
            Some(peers) if op.contains(&self.args.filter) => {
                peers.export([op, shape], self.dtype(), inputs, &answer()?)
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
        let _timing = Waiting::new(format!("timing {op} {shape}"));
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
    /// The row of an op at a level on a shape, with the times in a CUDA graph.
    fn row(
        &self,
        [op, level, shape]: [&str; 3],
        work: Work,
        timed: &mut dyn Timed,
        times: &Times,
    ) -> candle_core::Result<OpRow> {
        let graph = if timed.has_state() || timed.waits() {
            None // a recording would repeat it where it stood
        } else {
            self.in_graph([op, level, shape], timed)
        };
        let count = |n: usize| Some(n as u64);
        let (bytes, flops) = match work {
            Work::Bytes(n) => (count(n), None),
            Work::Flops(n) => (None, count(n)),
            Work::Items(_) => (None, None),
        };
        let of_case = |(of, on, _): &&(String, String, Cost)| of == op && on == shape;
        let needs = self.needs.as_ref().filter(of_case);
        let needs = needs
            .filter(|_| level != "copy")
            .map(|(_, _, needs)| *needs);
        let is_by_memory = |limits: Limits| ops::is_limited_by_memory(&limits, needs, work);
        let cold = if self.limits.is_some_and(is_by_memory) {
            self.timer.cold(timed, self.args.samples as usize)?
        } else {
            None
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
        cuda_graph_us: graph.map(median),
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
        if !kernels.iter().any(|name| *name == launched.kernel) {
            kernels.push(launched.kernel.to_string());
        }
    }
    Ok(kernels)
}
