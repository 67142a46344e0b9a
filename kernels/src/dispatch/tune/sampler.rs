//! Times of one kernel's call.

use std::time::{Duration, Instant};

use candle_core::{Device, Result};

use super::calls::{Call, CallOn};
use crate::graph::{Graph, warm};

/// A sample is about this long.
const SAMPLE: Duration = Duration::from_micros(200);

/// On a CPU the ops of a model come between two calls of one. Where they are short or one thread's, the other threads
/// have gone to sleep, and waking them is part of the call; where they are long, all threads are awake. So every
/// other call comes after a rest of this time.
const REST: Duration = Duration::from_micros(20);

/// Calls of such a sample at the most.
const RESTED: usize = 8;

/// Calls in a CUDA graph at the most.
const RECORDED: usize = 32;

/// A kernel's calls, ready to be timed.
pub struct Sampler<'a> {
    device: &'a Device,
    call: Call,
    /// On a GPU, a graph of some calls: one alone would say how fast the host is.
    graph: Option<Graph>,
    /// Calls of a graph, or of a sample.
    calls: usize,
    /// Whether every other call comes after a [`REST`].
    rests: bool,
    /// Launches of the graph.
    launches: usize,
}

impl<'a> Sampler<'a> {
    /// After a warm-up.
    pub fn new(device: &'a Device, call: CallOn) -> Result<Self> {
        let CallOn {
            sets,
            rests,
            mut call,
            ..
        } = call;
        let rests = rests && device.is_cpu();
        warm(device, || (0..sets).try_for_each(|_| call()))?;
        let us = host(device, &mut call)?.max(0.02);
        let wanted = (SAMPLE.as_secs_f64() * 1e6 / us).ceil() as usize;
        let (graph, calls) = match device.is_cpu() {
            true if rests => (None, wanted.next_multiple_of(2).min(RESTED)),
            true => (None, wanted),
            false => {
                let calls = wanted.next_multiple_of(sets).min(RECORDED.max(sets));
                let record = || (0..calls).try_for_each(|_| call());
                (Some(Graph::record(device, record)?.0), calls)
            }
        };
        let mut sampler = Self {
            device,
            call,
            graph,
            calls,
            rests,
            launches: 1,
        };
        if sampler.graph.is_some() {
            sampler.sample()?; // the first launch is slower
            let us = sampler.sample()? * calls as f64;
            sampler.launches = (SAMPLE.as_secs_f64() * 1e6 / us).ceil() as usize;
        }
        Ok(sampler)
    }

    /// Microseconds of a call.
    pub fn sample(&mut self) -> Result<f64> {
        let Self { device, call, .. } = self;
        match &self.graph {
            // ANCHOR: rests
            None if self.rests => {
                let mut all = 0.;
                for i in 0..self.calls {
                    if i % 2 == 0 {
                        rest();
                    }
                    all += host(device, &mut *call)?;
                }
                Ok(all / self.calls as f64)
            }
            // ANCHOR_END: rests
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
