//! Times of one kernel's call.

use std::time::{Duration, Instant};

use candle_core::{Device, Result};

use super::calls::Call;
use crate::cuda_graph::{Buffers, CudaGraph, warm};

/// A sample is about this long.
const SAMPLE: Duration = Duration::from_micros(200);

/// On a CPU, what comes before each call of a rested sample: by then a library's threads have gone to sleep, and waking
/// them is part of the call. Ours look out for longer, as they do between the ops of a model.
const REST: Duration = Duration::from_micros(20);

/// Calls of a rested sample.
const RESTED: usize = 4;

/// Microseconds of a call beside which waking a thread, or filling a cache, is little.
const LONG: f64 = 200.;

/// Calls of a sample at the least, where they are not long: the first finds the caches as another has left them.
const LEAST: usize = 4;

/// Calls in a CUDA graph at the most.
const RECORDED: usize = 32;

/// A kernel's calls, ready to be timed.
pub struct Sampler<'a> {
    device: &'a Device,
    call: Call,
    /// On a GPU, a graph of some calls: one alone would say how fast the host is.
    graph: Option<CudaGraph>,
    /// Calls of a graph, or of a sample.
    calls: usize,
    /// Launches of the graph.
    launches: usize,
    /// Whether a call after a rest may take another time.
    rests: bool,
}

impl<'a> Sampler<'a> {
    /// After a warm-up; `call` takes `sets` sets of operands in turn.
    pub fn new(device: &'a Device, sets: usize, mut call: Call) -> Result<Self> {
        warm(device, || (0..sets).try_for_each(|_| call()))?;
        let us = host(device, &mut call)?.max(0.02);
        let wanted = (SAMPLE.as_secs_f64() * 1e6 / us).ceil() as usize;
        let (graph, calls) = match device.is_cpu() {
            true if us < LONG => (None, wanted.max(LEAST)),
            true => (None, wanted),
            false => {
                // Each set as often as the others, and outputs where a forward pass has them: in memory that was there before.
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
    /// Microseconds of a call after a [`REST`]; none where that makes no difference.
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

    /// Microseconds of a call, one after the other.
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

/// Keeps this thread busy while the others go to sleep.
fn rest() {
    let start = Instant::now();
    while start.elapsed() < REST {
        std::hint::spin_loop();
    }
}

/// Microseconds until the device has done it.
fn host(device: &Device, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    device.synchronize()?;
    let start = Instant::now();
    work()?;
    device.synchronize()?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}
