//! Times of one call: as the host sees it, and on the device alone.

#[cfg(feature = "cuda")]
mod events;

use std::hint::black_box;
use std::time::{Duration, Instant};

use candle_core::{Device, Result};

use crate::ops::Timed;

/// A sample of the host's time is at least this long.
const SAMPLE: Duration = Duration::from_millis(2);

/// Launches of a CUDA graph in a sample at most.
#[cfg(feature = "cuda")]
const REPLAYS: usize = 5;

/// Microseconds of one call, one value a sample, ascending.
#[derive(Debug, Clone, Default)]
pub struct Times {
    /// Calls one after the other until the device has done them all, divided by their number.
    pub host: Vec<f64>,
    /// From the device's first instruction of the calls to its last, when all of them wait in its
    /// queue beforehand; only on a GPU, and of calls that do not wait for it.
    pub device: Option<Vec<f64>>,
}

/// Calls on one device.
pub struct Timer {
    device: Device,
    #[cfg(feature = "cuda")]
    events: Option<events::Events>,
}

impl Timer {
    /// For calls on `device`.
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self {
            #[cfg(feature = "cuda")]
            events: events::Events::new(device)?,
            device: device.clone(),
        })
    }

    /// `samples` samples after a warm-up.
    pub fn time(&self, timed: &mut dyn Timed, samples: usize) -> Result<Times> {
        Ok(self.in_turns(&mut [timed], samples)?.remove(0))
    }

    /// The same of several who do the same: on the host's clock a sample each in turn, and each round begins with another, so
    /// that what disturbs one disturbs all. Where they are several, a call that does not count comes before each sample: it finds
    /// what another one left in the caches.
    pub fn in_turns(&self, all: &mut [&mut dyn Timed], samples: usize) -> Result<Vec<Times>> {
        let calls = (all.iter_mut()).map(|timed| self.calls(*timed));
        let calls = calls.collect::<Result<Vec<usize>>>()?;
        let several = all.len() > 1;
        let mut host = vec![vec![]; all.len()];
        for round in 0..samples {
            for turn in 0..all.len() {
                let i = (round + turn) % all.len();
                if several {
                    self.host(all[i], 1)?;
                }
                let us = self.host(all[i], calls[i])?;
                host[i].push(us / (calls[i] * all[i].results()) as f64);
            }
        }
        let mut times = vec![];
        for ((timed, calls), mut host) in all.iter_mut().zip(calls).zip(host) {
            host.sort_by(f64::total_cmp);
            let device = self.on_device(*timed, calls, samples)?;
            times.push(Times { host, device });
        }
        Ok(times)
    }

    /// Microseconds of one call of those of a CUDA graph, on the device alone, ascending; only on a GPU.
    ///
    /// # Errors
    /// When it cannot record what `timed` does.
    #[cfg(not(feature = "cuda"))]
    pub fn in_graph(&self, _: &mut dyn Timed, _: usize) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }

    /// Microseconds of one call of those of a CUDA graph, on the device alone, ascending; only on a GPU.
    ///
    /// # Errors
    /// When it cannot record what `timed` does.
    #[cfg(feature = "cuda")]
    pub fn in_graph(&self, timed: &mut dyn Timed, samples: usize) -> Result<Option<Vec<f64>>> {
        if self.device.is_cpu() {
            return Ok(None);
        }
        let recorded = self.record(timed)?;
        // As the host's samples: many of short calls, one of a long one.
        let calls = self.calls(timed)?.min(REPLAYS * recorded.calls()) as u64;
        let results = calls as f64 * timed.results() as f64;
        let sample = |_| Ok(self.graph_time(&recorded, calls)?.as_secs_f64() * 1e6 / results);
        let mut times = (0..samples).map(sample).collect::<Result<Vec<f64>>>()?;
        times.sort_by(f64::total_cmp);
        Ok(Some(times))
    }

    /// Microseconds of one call on the device alone that finds the L2 full of something else, ascending; only on a GPU, and of
    /// calls that can queue.
    ///
    /// # Errors
    /// Those of the calls.
    #[cfg(not(feature = "cuda"))]
    pub fn cold(&self, _: &mut dyn Timed, _: usize) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }

    /// Microseconds of one call on the device alone that finds the L2 full of something else, ascending; only on a GPU, and of
    /// calls that can queue.
    ///
    /// # Errors
    /// Those of the calls.
    #[cfg(feature = "cuda")]
    pub fn cold(&self, timed: &mut dyn Timed, samples: usize) -> Result<Option<Vec<f64>>> {
        if self.device.is_cpu() || timed.waits() {
            return Ok(None);
        }
        // A few calls a sample: each has a copy of 256 MiB before it.
        let calls = if timed.has_state() { 1 } else { REPLAYS as u64 };
        let sample = |_| {
            let time = self.device_time(timed, calls, true)?;
            Ok(time.as_secs_f64() * 1e6 / calls as f64)
        };
        let mut times = (0..samples).map(sample).collect::<Result<Vec<f64>>>()?;
        times.sort_by(f64::total_cmp);
        Ok(Some(times))
    }

    // ANCHOR: calls
    /// How many calls make a sample. The first calls are the warm-up: they load kernels and pack weights, so a single
    /// one could last as long as a sample.
    fn calls(&self, timed: &mut dyn Timed) -> Result<usize> {
        for _ in 0..3 {
            self.host(timed, 1)?;
        }
        if timed.has_state() {
            return Ok(1);
        }
        let mut calls = 1;
        loop {
            // The shorter of two, because an interruption alone could last as long as a sample.
            let taken = self.host(timed, calls)?.min(self.host(timed, calls)?);
            if taken >= SAMPLE.as_secs_f64() * 1e6 || calls >= 1 << 16 {
                return Ok(calls);
            }
            calls *= 2;
        }
    }
    // ANCHOR_END: calls

    // ANCHOR: host
    /// Microseconds of `calls` calls.
    fn host(&self, timed: &mut dyn Timed, calls: usize) -> Result<f64> {
        timed.prepare()?;
        self.device.synchronize()?;
        let start = Instant::now();
        for _ in 0..calls {
            black_box(timed.call()?);
        }
        self.device.synchronize()?;
        Ok(start.elapsed().as_secs_f64() * 1e6)
    }
    // ANCHOR_END: host

    #[cfg(not(feature = "cuda"))]
    fn on_device(&self, _: &mut dyn Timed, _: usize, _: usize) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }

    #[cfg(feature = "cuda")]
    fn on_device(
        &self,
        timed: &mut dyn Timed,
        calls: usize,
        samples: usize,
    ) -> Result<Option<Vec<f64>>> {
        let Some(events) = self.events.as_ref().filter(|_| !timed.waits()) else {
            return Ok(None);
        };
        let calls = calls.min(events::QUEUED);
        let mut times = Vec::with_capacity(samples);
        for _ in 0..samples {
            timed.prepare()?;
            self.device.synchronize()?;
            let us = events.between(|| {
                for _ in 0..calls {
                    black_box(timed.call()?);
                }
                Ok(())
            })?;
            times.push(us / (calls * timed.results()) as f64);
        }
        times.sort_by(f64::total_cmp);
        Ok(Some(times))
    }
}

#[cfg(feature = "cuda")]
impl Timer {
    /// Time of `calls` calls on the device alone; with `cold`, each finds the L2 full of something else, as an op
    /// does whose operands are larger.
    ///
    /// # Errors
    /// When the device is no GPU, and those of the calls.
    pub fn device_time(&self, timed: &mut dyn Timed, calls: u64, cold: bool) -> Result<Duration> {
        let events = self.events()?;
        let (mut us, mut left) = (0., calls as usize);
        while left > 0 {
            let now = if timed.has_state() {
                1
            } else {
                left.min(events::QUEUED)
            };
            timed.prepare()?;
            self.device.synchronize()?;
            us += if cold {
                events.cold(now, || timed.call().map(|x| drop(black_box(x))))?
            } else {
                events.between(|| {
                    (0..now).try_for_each(|_| timed.call().map(|x| drop(black_box(x))))
                })?
            };
            left -= now;
        }
        Ok(Duration::from_secs_f64(us / 1e6 / timed.results() as f64))
    }

    /// Several calls recorded as one CUDA graph, which starts each without the host.
    ///
    /// # Errors
    /// When the device is no GPU, and when it cannot record what `timed` does.
    pub fn record(&self, timed: &mut dyn Timed) -> Result<Recorded> {
        let calls = self.calls(timed)?.min(events::QUEUED);
        events::record(&self.device, timed, calls)
    }

    /// Time of `calls` recorded calls, or a few more scaled to `calls`.
    ///
    /// # Errors
    /// When the device refuses.
    pub fn graph_time(&self, recorded: &Recorded, calls: u64) -> Result<Duration> {
        let launches = (calls as usize).div_ceil(recorded.calls());
        let us = self.events()?.replays(recorded, launches)?;
        let share = calls as f64 / (launches * recorded.calls()) as f64;
        Ok(Duration::from_secs_f64(us * share / 1e6))
    }

    fn events(&self) -> Result<&events::Events> {
        let none = || candle_core::Error::msg("device times: expected a GPU, found a CPU");
        self.events.as_ref().ok_or_else(none)
    }
}

#[cfg(feature = "cuda")]
pub use events::Recorded;

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Tensor;

    #[test]
    fn a_call_that_sleeps_takes_that_long() -> Result<()> {
        let timer = Timer::new(&Device::Cpu)?;
        let mut sleep = || {
            std::thread::sleep(Duration::from_micros(500));
            Tensor::new(0u8, &Device::Cpu)
        };
        let times = timer.time(&mut sleep, 3)?;
        assert_eq!((times.host.len(), times.device), (3, None));
        // A busy machine makes it longer, never shorter.
        assert!(times.host.iter().all(|&us| us >= 500.), "{:?}", times.host);
        Ok(())
    }
}
