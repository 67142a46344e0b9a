//! Two clocks for ops: the host's, and that of a GPU's queue.

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

    /// Keeps a GPU busy, where the clock is its own, while the host queues what takes it `ms` milliseconds: ops
    /// then follow each other as fast as the GPU can take them, and no time of the host's is between their marks.
    ///
    /// # Errors
    /// When the device refuses.
    #[cfg_attr(
        not(feature = "cuda"),
        expect(unused_variables, reason = "a host has no queue")
    )]
    pub fn run_ahead(&self, ms: f64) -> Result<()> {
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
    pub fn is_past(&self) -> Result<bool> {
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
