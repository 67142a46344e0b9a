//! Where the time of a piece of work goes, op by op, against what the device could do.
//!
//! Open a [`span`](crate::span) in each function that is to have a line of its own, say with [`needs`](crate::needs) what
//! it has to do at the least, and let a [`Profiler`] repeat the whole:
//!
#![doc = include_str!("profile/example.md")]

mod limits;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::hint::black_box;
use std::time::Instant;

use candle_core::{Device, Result};

use crate::clock::{Clock, Pass};
use crate::{Event, Needs, quantile, record_by};

pub use limits::{Limit, Limits, Reached};

/// Repeats a piece of work, in turns with and without recording its ops.
#[derive(Debug, Clone)]
pub struct Profiler {
    device: Device,
    repeats: usize,
    warm_up: usize,
}

/// What a [`Profiler`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Ops that were no part of another one, in the order of their first call.
    pub ops: Vec<Op>,
    /// All ops of a repetition together, milliseconds: they are recorded, by the clock of [`Op::ms`].
    pub together: Spread,
    /// A repetition in which nothing is recorded, milliseconds on the host.
    pub whole: Spread,
    /// A repetition that is recorded, on the device's clock; `None` on a CPU.
    pub device: Option<OnDevice>,
    /// How often each kind was timed.
    pub repeats: usize,
}

/// Recorded repetitions by a GPU's own clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnDevice {
    /// From the first of a repetition to its last, milliseconds.
    pub whole: Spread,
    /// An op in which nothing happens, milliseconds: what every op's time has at the least.
    pub empty: Spread,
    /// In how many repetitions the device was there before the host had queued all: it waited, and its waiting is in the times.
    pub late: usize,
}

/// All calls of one op in a repetition.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    /// As its span has it: `norm_qkv`, or `linear_level4` where the caller opens none.
    pub name: &'static str,
    /// What ran inside: kernels that were launched on a GPU, or else spans that hold no other, each once.
    pub kernels: Vec<Cow<'static, str>>,
    /// Of a repetition; a fraction where [`Profile::per`] shares them out.
    pub calls: f64,
    /// Milliseconds of all calls: on a GPU by its own clock, without the gaps in which it would wait for the host; on a CPU by
    /// the host's.
    pub ms: Spread,
    /// Of all calls; `None` where one did not say.
    pub needs: Option<Total>,
}

/// What several calls need together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Total {
    /// Bytes that have to cross the memory bus.
    pub bytes: f64,
    /// Floating-point operations.
    pub flops: f64,
}

// ANCHOR: spread
/// Samples as three figures: a median, and what a tenth of them is below and above.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// A tenth is below.
    pub low: f64,
    /// Half is below.
    pub median: f64,
    /// A tenth is above.
    pub high: f64,
}

impl Spread {
    /// Of samples in any order.
    pub fn of(samples: &[f64]) -> Self {
        let [low, median, high] = [0.1, 0.5, 0.9].map(|share| quantile(samples, share));
        Self { low, median, high }
    }
}
// ANCHOR_END: spread

/// Where the slow tenth of the samples takes this many times as long as the fast tenth, the machine was busy.
pub const NOISY: f64 = 1.5;

impl Spread {
    /// How many times as long the slow tenth takes as the fast tenth, if that is too much to compare with.
    pub fn noise(self) -> Option<f64> {
        let spread = self.high / self.low;
        (spread > NOISY).then_some(spread)
    }

    fn scaled(self, by: f64) -> Self {
        Self {
            low: self.low * by,
            median: self.median * by,
            high: self.high * by,
        }
    }
}

impl Profiler {
    /// Twenty repetitions on `device` after two that do not count: those fill caches, start threads, pack weights
    /// and have the driver compile.
    pub fn new(device: &Device) -> Self {
        Self {
            device: device.clone(),
            repeats: 20,
            warm_up: 2,
        }
    }

    /// So many repetitions of each kind, one at the least.
    pub fn repeats(mut self, repeats: usize) -> Self {
        self.repeats = repeats.max(1);
        self
    }

    /// Profiles `work`, which has no state that a repetition would have to begin with.
    ///
    /// # Errors
    /// What `work` returns, and what the device does.
    pub fn run<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<Profile> {
        self.run_from(&mut (), |()| Ok(()), |()| work())
    }

    /// Profiles `work`; `prepare` brings its state to where it starts, and is neither timed nor recorded.
    ///
    /// # Errors
    /// What `prepare` and `work` return, and what the device does.
    pub fn run_from<S, T>(
        &self,
        state: &mut S,
        mut prepare: impl FnMut(&mut S) -> Result<()>,
        mut work: impl FnMut(&mut S) -> Result<T>,
    ) -> Result<Profile> {
        for _ in 0..self.warm_up {
            prepare(state)?;
            work(state)?;
        }
        let clock = Clock::of(&self.device)?;
        let (mut whole, mut events, mut passes) = (vec![], vec![], vec![]);
        for _ in 0..self.repeats {
            prepare(state)?;
            self.device.synchronize()?;
            let start = Instant::now();
            let value = black_box(work(state)?);
            self.device.synchronize()?;
            let ms = start.elapsed().as_secs_f64() * 1e3;
            drop(value);
            whole.push(ms);
            prepare(state)?;
            let (pass, of_ops) = record_by(clock.clone(), || clock.time(ms, || work(state)))?;
            passes.push(pass);
            events.push(of_ops);
        }
        Ok(Profile {
            device: clock.is_device().then(|| OnDevice::of(&passes)),
            ..Profile::of(&whole, &events)
        })
    }
}

impl OnDevice {
    fn of(passes: &[Pass]) -> Self {
        let spread = |ms: fn(&Pass) -> f64| Spread::of(&passes.iter().map(ms).collect::<Vec<_>>());
        Self {
            whole: spread(|pass| pass.ms),
            empty: spread(|pass| pass.empty_ms),
            late: passes.iter().filter(|pass| pass.late).count(),
        }
    }
}

impl Profile {
    /// From milliseconds of repetitions, and the events of others.
    fn of(whole: &[f64], recorded: &[Vec<Event>]) -> Self {
        let names = recorded.iter().flatten().filter(|event| event.depth == 0);
        let mut ops: Vec<&'static str> = vec![];
        for event in names {
            if !ops.contains(&event.kernel) {
                ops.push(event.kernel);
            }
        }
        let ms = |events: &Vec<Event>| outer(events).map(ms).sum();
        let together: Vec<f64> = recorded.iter().map(ms).collect();
        Self {
            ops: ops.into_iter().map(|name| Op::of(name, recorded)).collect(),
            together: Spread::of(&together),
            whole: Spread::of(whole),
            device: None,
            repeats: whole.len(),
        }
    }

    /// The same for one of `parts` equal parts of a repetition: a token of several, say.
    pub fn per(self, parts: usize) -> Self {
        let by = 1. / parts.max(1) as f64;
        let total = |t: Total| Total {
            bytes: t.bytes * by,
            flops: t.flops * by,
        };
        let op = |op: Op| Op {
            calls: op.calls * by,
            ms: op.ms.scaled(by),
            needs: op.needs.map(total),
            ..op
        };
        Self {
            ops: self.ops.into_iter().map(op).collect(),
            together: self.together.scaled(by),
            whole: self.whole.scaled(by),
            device: self.device.map(|device| OnDevice {
                whole: device.whole.scaled(by),
                ..device
            }),
            repeats: self.repeats,
        }
    }

    /// The part of an op in the time of all of them, 0 to 1.
    pub fn share(&self, op: &Op) -> f64 {
        op.ms.median / self.ops.iter().map(|op| op.ms.median).sum::<f64>()
    }
}

/// Events that are inside no other.
fn outer(events: &[Event]) -> impl Iterator<Item = &Event> {
    events.iter().filter(|event| event.depth == 0)
}

fn ms(event: &Event) -> f64 {
    event.time.as_secs_f64() * 1e3
}

impl Op {
    /// All calls of `name`: times of every repetition, the rest of the first.
    fn of(name: &'static str, recorded: &[Vec<Event>]) -> Self {
        fn calls<'a>(name: &str, events: &'a [Event]) -> impl Iterator<Item = &'a Event> {
            outer(events).filter(move |event| event.kernel == name)
        }
        let samples = recorded
            .iter()
            .map(|events| calls(name, events).map(ms).sum());
        let samples: Vec<f64> = samples.collect();
        let first = recorded.first().map_or(&[][..], Vec::as_slice);
        let needs: Option<Vec<Needs>> = calls(name, first).map(|event| event.needs).collect();
        let add = |sum: Total, needs: &Needs| Total {
            bytes: sum.bytes + needs.bytes as f64,
            flops: sum.flops + needs.flops as f64,
        };
        Self {
            name,
            kernels: kernels(name, first),
            calls: calls(name, first).count() as f64,
            ms: Spread::of(&samples),
            needs: needs.map(|all| all.iter().fold(Total::default(), add)),
        }
    }

    /// Gigabytes (10⁹) of need a second.
    pub fn gb_per_s(&self) -> Option<f64> {
        self.needs.map(|needs| needs.bytes / self.ms.median / 1e6)
    }

    /// Billions of needed floating-point operations a second.
    pub fn gflop_per_s(&self) -> Option<f64> {
        self.needs.map(|needs| needs.flops / self.ms.median / 1e6)
    }

    /// The least time that `limits` allow over the time that it took, and what sets that least: 1 is all that the
    /// device can do, and more says that the operands did not come from memory. [`Reached`] puts it in words.
    pub fn fraction(&self, limits: &Limits) -> Option<(f64, Limit)> {
        let (seconds, limit) = limits.least(self.needs?);
        Some((seconds * 1e3 / self.ms.median, limit))
    }
}

/// What ran inside the calls of `name`, in the order of the first.
fn kernels(name: &str, events: &[Event]) -> Vec<Cow<'static, str>> {
    let mut found = vec![];
    let mut inside = false;
    for (i, event) in events.iter().enumerate() {
        if event.depth == 0 {
            inside = event.kernel == name;
        }
        if !inside {
            continue;
        }
        let is_leaf = events
            .get(i + 1)
            .is_none_or(|next| next.depth <= event.depth);
        let launched = event.launches.iter().map(|launch| launch.kernel.clone());
        let own = (is_leaf && event.launches.is_empty()).then_some(event.kernel.into());
        for kernel in launched.chain(own) {
            if !found.contains(&kernel) {
                found.push(kernel);
            }
        }
    }
    found
}
