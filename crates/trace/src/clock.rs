//! Two clocks for ops: the host's, and a GPU queue's.

use std::hint::black_box;
use std::time::{Duration, Instant};

use candle_core::{Device, Result};

#[cfg(feature = "cuda")]
use crate::queue::{Event, Queue};

/// The clock that times an op.
#[derive(Clone)]
pub enum Clock {
    /// The host's clock; the host waits for the device before and after each op. On a GPU the time includes
    /// launch and waiting.
    Host(Device),
    /// A GPU's clock, by two events in its queue around an op; the host does not wait.
    #[cfg(feature = "cuda")]
    Queue(Queue),
}

/// A point in time.
pub enum Mark {
    /// A time of the host.
    Host(Instant),
    /// An event in a GPU's queue.
    #[cfg(feature = "cuda")]
    Queue(Event),
}

/// The time of some work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// Duration in milliseconds.
    pub ms: f64,
    /// Milliseconds between two later marks with nothing in between.
    pub empty_ms: f64,
    /// Whether the device went idle before the host had queued all work, so that the time includes waiting.
    /// Always true for the host's clock.
    pub late: bool,
}

impl Clock {
    /// Returns the most precise clock for `device`: the queue's on a GPU, the host's on a CPU.
    ///
    /// # Errors
    /// If the device fails.
    pub fn of(device: &Device) -> Result<Self> {
        #[cfg(feature = "cuda")]
        if let Device::Cuda(cuda) = device {
            return Ok(Self::Queue(Queue::new(cuda)?));
        }
        Ok(Self::Host(device.clone()))
    }

    /// Whether it is a GPU's clock.
    pub fn is_device(&self) -> bool {
        !matches!(self, Self::Host(_))
    }

    /// Times `work`, which takes the host `ms` milliseconds at most. With a GPU's clock, the GPU is first
    /// kept busy for longer than that, so that the queued work runs without gaps for the host.
    ///
    /// # Errors
    /// The errors of `work` and of the device.
    pub fn time<T>(&self, ms: f64, work: impl FnOnce() -> Result<T>) -> Result<Pass> {
        self.run_ahead(ms)?;
        let start = self.mark()?;
        let value = black_box(work()?);
        let (end, after) = (self.mark()?, self.mark()?);
        let late = start.is_past()?;
        let pass = Pass {
            ms: start.until(&end)?.as_secs_f64() * 1e3,
            empty_ms: end.until(&after)?.as_secs_f64() * 1e3,
            late,
        };
        drop(value); // dropped after the last mark
        Ok(pass)
    }

    #[cfg_attr(
        not(feature = "cuda"),
        expect(unused_variables, reason = "a host has no queue")
    )]
    fn run_ahead(&self, ms: f64) -> Result<()> {
        match self {
            Self::Host(_) => Ok(()),
            #[cfg(feature = "cuda")]
            Self::Queue(queue) => queue.run_ahead_for(ms),
        }
    }

    /// Takes a mark: a host time once the device is idle, or an event in the queue.
    ///
    /// # Errors
    /// If the device fails.
    pub fn mark(&self) -> Result<Mark> {
        match self {
            Self::Host(device) => device.synchronize().map(|()| Mark::Host(Instant::now())),
            #[cfg(feature = "cuda")]
            Self::Queue(queue) => queue.mark().map(Mark::Queue),
        }
    }
}

impl Mark {
    /// Whether the device has reached the mark; always true for the host's clock.
    ///
    /// # Errors
    /// If the device has failed before.
    fn is_past(&self) -> Result<bool> {
        match self {
            Self::Host(_) => Ok(true),
            #[cfg(feature = "cuda")]
            Self::Queue(event) => event.is_past(),
        }
    }

    /// Returns the time from this mark to a later one of the same clock.
    ///
    /// # Errors
    /// If the device fails before the later mark.
    pub fn until(&self, end: &Self) -> Result<Duration> {
        match (self, end) {
            (Self::Host(start), Self::Host(end)) => Ok(end.duration_since(*start)),
            #[cfg(feature = "cuda")]
            (Self::Queue(start), Self::Queue(end)) => start.until(end),
            #[cfg(feature = "cuda")]
            _ => candle_core::bail!("two marks: expected one clock, found two"),
        }
    }
}
