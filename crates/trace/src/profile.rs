//! Profiles of repeated work: the time of each op, compared with the device's limits.
//!
//! Open a [`span`](crate::span) in each function that gets its own line, give its minimum work by
//! [`needs`](crate::needs), and let a [`Profiler`] repeat the whole:
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

/// Repeats some work, alternately with and without recording its ops.
#[derive(Debug, Clone)]
pub struct Profiler {
    device: Device,
    repeats: usize,
    warm_up: usize,
}

/// The result of a [`Profiler`].
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Outermost ops, in the order of their first call.
    pub ops: Vec<Op>,
    /// Milliseconds of all ops of a recorded repetition, by the clock of [`Op::ms`].
    pub together: Spread,
    /// Milliseconds of an unrecorded repetition on the host.
    pub whole: Spread,
    /// A recorded repetition on the device's clock; `None` on a CPU.
    pub device: Option<OnDevice>,
    /// Number of repetitions of each kind.
    pub repeats: usize,
}

/// Recorded repetitions by a GPU's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnDevice {
    /// Milliseconds from the start of a repetition to its end.
    pub whole: Spread,
    /// Milliseconds of an empty op, which every op's time includes.
    pub empty: Spread,
    /// Number of repetitions where the device went idle before the host had queued all work, so that their
    /// times include waiting.
    pub late: usize,
}

/// All calls of one op in a repetition.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    /// Name of its span: `norm_qkv`, or `linear_level4` if the caller opens none.
    pub name: &'static str,
    /// Distinct kernels that it launched on a GPU; otherwise its innermost spans.
    pub kernels: Vec<Cow<'static, str>>,
    /// Calls per repetition; a fraction after [`Profile::per`].
    pub calls: f64,
    /// Milliseconds of all calls: on a GPU by its own clock, without gaps for the host; on a CPU by the
    /// host's.
    pub ms: Spread,
    /// Needs of all calls; `None` if one call did not give them.
    pub needs: Option<Total>,
}

/// Needs of several calls.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Total {
    /// Bytes that must cross the memory bus.
    pub bytes: f64,
    /// Floating-point operations.
    pub flops: f64,
}

// ANCHOR: spread
/// Samples in three numbers: the median, and the 10% and 90% quantiles.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// 10% quantile.
    pub low: f64,
    /// Half is below.
    pub median: f64,
    /// 90% quantile.
    pub high: f64,
}

impl Spread {
    /// Summarises samples in any order.
    pub fn of(samples: &[f64]) -> Self {
        let [low, median, high] = [0.1, 0.5, 0.9].map(|share| quantile(samples, share));
        Self { low, median, high }
    }
}
// ANCHOR_END: spread

/// Ratio of the 90% to the 10% quantile from which on a machine counts as busy.
pub const NOISY: f64 = 1.5;

impl Spread {
    /// Returns the ratio of the 90% to the 10% quantile if it is too large for comparisons.
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
    /// Twenty repetitions on `device` after two warm-ups, which fill caches, start threads, pack weights and
    /// let the driver compile.
    pub fn new(device: &Device) -> Self {
        Self {
            device: device.clone(),
            repeats: 20,
            warm_up: 2,
        }
    }

    /// Sets the number of repetitions of each kind, at least one.
    pub fn repeats(mut self, repeats: usize) -> Self {
        self.repeats = repeats.max(1);
        self
    }

    /// Profiles `work`, which needs no initial state.
    ///
    /// # Errors
    /// The errors of `work` and of the device.
    pub fn run<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<Profile> {
        self.run_from(&mut (), |()| Ok(()), |()| work())
    }

    /// Profiles `work`; `prepare` creates its initial state and is neither timed nor recorded.
    ///
    /// # Errors
    /// The errors of `prepare`, `work` and the device.
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
    /// Builds a profile from the milliseconds of unrecorded repetitions and the events of recorded ones.
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

    /// Divides a repetition into `parts` equal parts, such as tokens.
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

    /// Returns the share of an op in the time of all ops, 0 to 1.
    pub fn share(&self, op: &Op) -> f64 {
        op.ms.median / self.ops.iter().map(|op| op.ms.median).sum::<f64>()
    }
}

/// Returns the outermost events.
fn outer(events: &[Event]) -> impl Iterator<Item = &Event> {
    events.iter().filter(|event| event.depth == 0)
}

fn ms(event: &Event) -> f64 {
    event.time.as_secs_f64() * 1e3
}

impl Op {
    /// Merges all calls of `name`: times of every repetition, other fields of the first.
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

    /// Needed gigabytes (10⁹ bytes) per second.
    pub fn gb_per_s(&self) -> Option<f64> {
        self.needs.map(|needs| needs.bytes / self.ms.median / 1e6)
    }

    /// Needed GFLOP/s.
    pub fn gflop_per_s(&self) -> Option<f64> {
        self.needs.map(|needs| needs.flops / self.ms.median / 1e6)
    }

    /// Returns the minimum time under `limits` divided by the measured time, and the limit that sets it. 1 is
    /// the maximum of the device; more means that operands came from caches. [`Reached`] puts it in words.
    pub fn fraction(&self, limits: &Limits) -> Option<(f64, Limit)> {
        let (seconds, limit) = limits.least(self.needs?);
        Some((seconds * 1e3 / self.ms.median, limit))
    }
}

/// Lists what ran inside the calls of `name`, in the order of first use.
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
