//! Times of one call: as the host sees it, and on the device alone.

use std::hint::black_box;
use std::time::{Duration, Instant};

use candle_core::{Device, Result};

use crate::ops::Timed;

/// A sample of the host's time is at least this long.
const SAMPLE: Duration = Duration::from_millis(2);

/// Microseconds of one call, one value a sample, ascending.
#[derive(Debug, Clone, Default)]
pub struct Times {
    /// Calls one after the other until the device has done them all, divided by their number.
    pub host: Vec<f64>,
    /// From the device's first instruction of the calls to its last, when all of them wait in its
    /// queue beforehand; only on a GPU.
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
    pub fn time(&self, timed: &mut impl Timed, samples: usize) -> Result<Times> {
        let calls = self.calls(timed)?;
        let mut host = Vec::with_capacity(samples);
        for _ in 0..samples {
            host.push(self.host(timed, calls)? / (calls * timed.results()) as f64);
        }
        host.sort_by(f64::total_cmp);
        let device = self.on_device(timed, calls, samples)?;
        Ok(Times { host, device })
    }

    // ANCHOR: calls
    /// How many calls make a sample; the first calls are the warm-up.
    fn calls(&self, timed: &mut impl Timed) -> Result<usize> {
        if timed.has_state() {
            for _ in 0..3 {
                self.host(timed, 1)?;
            }
            return Ok(1);
        }
        let mut calls = 1;
        loop {
            let taken = self.host(timed, calls)?;
            if taken >= SAMPLE.as_secs_f64() * 1e6 || calls >= 1 << 16 {
                return Ok(calls);
            }
            calls *= 2;
        }
    }
    // ANCHOR_END: calls

    // ANCHOR: host
    /// Microseconds of `calls` calls.
    fn host(&self, timed: &mut impl Timed, calls: usize) -> Result<f64> {
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
    fn on_device(&self, _: &mut impl Timed, _: usize, _: usize) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }

    #[cfg(feature = "cuda")]
    fn on_device(
        &self,
        timed: &mut impl Timed,
        calls: usize,
        samples: usize,
    ) -> Result<Option<Vec<f64>>> {
        let Some(events) = &self.events else {
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
mod events {
    use candle_core::cuda::WrapErr;
    use candle_core::{CudaDevice, DType, Device, Result, Tensor};
    use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;

    /// Calls at most that are queued for one sample.
    pub const QUEUED: usize = 20;
    /// Products that keep the GPU busy, some ten milliseconds, while the calls are queued.
    const AHEAD: usize = 4;

    /// Times between two points of a GPU's queue.
    pub struct Events {
        device: CudaDevice,
        ahead: Tensor, // (4096, 4096)
    }

    impl Events {
        pub fn new(device: &Device) -> Result<Option<Self>> {
            let Device::Cuda(cuda) = device else {
                return Ok(None);
            };
            Ok(Some(Self {
                device: cuda.clone(),
                ahead: Tensor::rand(-1f32, 1., (4096, 4096), device)?.to_dtype(DType::F32)?,
            }))
        }

        // ANCHOR: between
        /// Microseconds on the device of what `work` queues, without the gaps in which it would wait
        /// for the host: the host runs ahead while the device is busy with something else.
        pub fn between(&self, work: impl FnOnce() -> Result<()>) -> Result<f64> {
            let stream = self.device.cuda_stream();
            for _ in 0..AHEAD {
                self.ahead.matmul(&self.ahead)?;
            }
            let start = stream.record_event(Some(CU_EVENT_DEFAULT)).w()?;
            work()?;
            let end = stream.record_event(Some(CU_EVENT_DEFAULT)).w()?;
            end.synchronize().w()?;
            Ok(f64::from(start.elapsed_ms(&end).w()?) * 1e3)
        }
        // ANCHOR_END: between
    }
}

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
