//! Times the calls of one kernel.

use std::time::{Duration, Instant};

use candle_core::{Device, Result};

use super::calls::Call;
use crate::cuda_graph::{Buffers, CudaGraph, warm};

/// Approximate duration of a sample.
const SAMPLE: Duration = Duration::from_micros(200);

/// Rest before each call of a rested sample on a CPU: by then a library's threads sleep, and waking them is
/// part of the call. Ours spin for longer, as between the ops of a model.
const REST: Duration = Duration::from_micros(20);

/// Calls per rested sample.
const RESTED: usize = 4;

/// Microseconds of a call from which on waking threads or filling caches is negligible.
const LONG: f64 = 200.;

/// Minimum calls per sample, unless they are long: the first one finds caches as another kernel left them.
const LEAST: usize = 4;

/// Maximum calls in a CUDA graph.
const RECORDED: usize = 32;

/// Timer of a kernel's calls.
pub struct Sampler<'a> {
    device: &'a Device,
    call: Call,
    /// A graph of several calls on a GPU; a single call would measure the host.
    graph: Option<CudaGraph>,
    /// Calls per graph or per sample.
    calls: usize,
    /// Launches of the graph per sample.
    launches: usize,
    /// Whether calls after a rest may take longer.
    rests: bool,
}

impl<'a> Sampler<'a> {
    /// Warms up; `call` uses `sets` sets of operands in turn.
    pub fn new(device: &'a Device, sets: usize, mut call: Call) -> Result<Self> {
        warm(device, || (0..sets).try_for_each(|_| call()))?;
        let us = host(device, &mut call)?.max(0.02);
        let wanted = (SAMPLE.as_secs_f64() * 1e6 / us).ceil() as usize;
        let (graph, calls) = match device.is_cpu() {
            true if us < LONG => (None, wanted.max(LEAST)),
            true => (None, wanted),
            false => {
                // Each set equally often; outputs are in memory allocated before, as in a forward pass.
                let rounds = wanted.div_ceil(sets).min((RECORDED / sets).max(1));
                let mut round = || (0..sets).try_for_each(|_| call());
                let buffers = warm(device, || Buffers::of(&mut round))?;
                device.synchronize()?;
                let graph = CudaGraph::repeated(device, buffers, rounds, round)?;
                (Some(graph), rounds * sets)
            }
        };
        let mut sampler = Self {
            device,
            call,
            graph,
            calls,
            launches: 1,
            rests: device.is_cpu() && us < LONG,
        };
        if sampler.graph.is_some() {
            sampler.sample()?; // the first launch is slower
            let us = sampler.sample()? * calls as f64;
            sampler.launches = (SAMPLE.as_secs_f64() * 1e6 / us).ceil() as usize;
        }
        Ok(sampler)
    }

    // ANCHOR: rested
    /// Returns the microseconds of a call after a [`REST`]; `None` if that makes no difference.
    pub fn rested(&mut self) -> Result<Option<f64>> {
        if !self.rests {
            return Ok(None);
        }
        let mut all = 0.;
        for _ in 0..RESTED {
            rest();
            all += host(self.device, &mut *self.call)?;
        }
        Ok(Some(all / RESTED as f64))
    }
    // ANCHOR_END: rested

    /// Returns the microseconds of a call in a sequence.
    pub fn sample(&mut self) -> Result<f64> {
        let Self { device, call, .. } = self;
        match &self.graph {
            None => {
                let all = host(device, || (0..self.calls).try_for_each(|_| call()))?;
                Ok(all / self.calls as f64)
            }
            Some(graph) => {
                let all = host(device, || {
                    (0..self.launches).try_for_each(|_| graph.launch())
                })?;
                Ok(all / (self.launches * self.calls) as f64)
            }
        }
    }
}

/// Keeps this thread busy while the others fall asleep.
fn rest() {
    let start = Instant::now();
    while start.elapsed() < REST {
        std::hint::spin_loop();
    }
}

/// Returns the microseconds until the device is done.
fn host(device: &Device, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    device.synchronize()?;
    let start = Instant::now();
    work()?;
    device.synchronize()?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}
