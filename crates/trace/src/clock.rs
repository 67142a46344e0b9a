//! Two clocks for ops: the host's, and that of a GPU's queue.

use std::hint::black_box;
use std::time::{Duration, Instant};

use candle_core::{Device, Result};

#[cfg(feature = "cuda")]
use crate::queue::{Event, Queue};

/// Where the time of an op is read.
#[derive(Clone)]
pub enum Clock {
    /// On the host, which waits for the device before and after each op: on a GPU a launch and the waiting are in it.
    Host(Device),
    /// On a GPU, between two events that stand in its queue around an op; the host waits for nothing.
    #[cfg(feature = "cuda")]
    Queue(Queue),
}

/// A point in time.
pub enum Mark {
    /// The host's.
    Host(Instant),
    /// When a GPU comes to it.
    #[cfg(feature = "cuda")]
    Queue(Event),
}

/// What a clock said of some work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// Milliseconds that it took.
    pub ms: f64,
    /// Milliseconds between two marks behind it, with nothing in between.
    pub empty_ms: f64,
    /// Whether the device was there before the host had queued all: it waited, and its waiting is in the time. By the host's
    /// clock always.
    pub late: bool,
}

impl Clock {
    /// The clock that is nearest to the ops of `device`: the queue's on a GPU, the host's on a CPU.
    ///
    /// # Errors
    /// When the device refuses.
    pub fn of(device: &Device) -> Result<Self> {
        #[cfg(feature = "cuda")]
        if let Device::Cuda(cuda) = device {
            return Ok(Self::Queue(Queue::new(cuda)?));
        }
        Ok(Self::Host(device.clone()))
    }

    /// Whether it is a GPU's own.
    pub fn is_device(&self) -> bool {
        !matches!(self, Self::Host(_))
    }

    /// Times `work`, which takes the host `ms` milliseconds at most. A GPU is kept busy beforehand for longer than that, where the
    /// clock is its own: what is queued then follows as fast as the GPU can take it, and no time of the host's is in between.
    ///
    /// # Errors
    /// What `work` returns, and what the device does.
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
        drop(value); // the clock stands
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

    /// This moment: on the host once the device has nothing left to do, in a queue once it has come so far.
    ///
    /// # Errors
    /// When the device refuses.
    pub fn mark(&self) -> Result<Mark> {
        match self {
            Self::Host(device) => device.synchronize().map(|()| Mark::Host(Instant::now())),
            #[cfg(feature = "cuda")]
            Self::Queue(queue) => queue.mark().map(Mark::Queue),
        }
    }
}

impl Mark {
    /// Whether it has come by now; on the host's clock it always has.
    ///
    /// # Errors
    /// When the device has failed before.
    fn is_past(&self) -> Result<bool> {
        match self {
            Self::Host(_) => Ok(true),
            #[cfg(feature = "cuda")]
            Self::Queue(event) => event.is_past(),
        }
    }

    /// From one mark to a later one of the same clock.
    ///
    /// # Errors
    /// When the device fails before it comes to the later one.
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
