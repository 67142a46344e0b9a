//! Times between two points of a GPU's queue.

use std::sync::Arc;
use std::time::Duration;

use candle_core::cuda::WrapErr;
use candle_core::{CudaDevice, Device, Result, Tensor};
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaEvent, CudaStream};

/// Rows and columns of the matmul that keeps a GPU busy, for about two milliseconds on a large one.
const AHEAD: usize = 4096;
/// Minimum and maximum number of matmuls while the host queues work.
const PRODUCTS: (usize, usize) = (4, 32);

/// A device's stream, and matmuls to keep it busy.
#[derive(Clone)]
pub struct Queue {
    stream: Arc<CudaStream>,
    ahead: Tensor, // (AHEAD, AHEAD)
}

/// A point in the queue.
pub struct Event(CudaEvent);

impl Queue {
    /// The queue of one device.
    ///
    /// # Errors
    /// If the device fails.
    pub fn new(device: &CudaDevice) -> Result<Self> {
        let on = Device::Cuda(device.clone());
        Ok(Self {
            stream: device.cuda_stream(),
            ahead: Tensor::rand(-1f32, 1., (AHEAD, AHEAD), &on)?,
        })
    }

    /// Queues `products` matmuls.
    ///
    /// # Errors
    /// If the device fails.
    pub fn run_ahead(&self, products: usize) -> Result<()> {
        (0..products).try_for_each(|_| self.ahead.matmul(&self.ahead).map(drop))
    }

    /// Queues matmuls for about twice `ms` milliseconds, so that the host has `ms` to queue other work.
    ///
    /// # Errors
    /// If the device fails.
    pub fn run_ahead_for(&self, ms: f64) -> Result<()> {
        let (least, most) = PRODUCTS;
        self.run_ahead((ms.ceil() as usize).clamp(least, most))
    }

    /// Takes a mark after all work queued so far.
    ///
    /// # Errors
    /// If the device fails.
    pub fn mark(&self) -> Result<Event> {
        let event = self.stream.record_event(Some(CU_EVENT_DEFAULT)).w()?;
        Ok(Event(event))
    }
}

impl Event {
    /// Whether the device has reached the mark.
    ///
    /// # Errors
    /// If the device has failed before.
    pub fn is_past(&self) -> Result<bool> {
        self.0.try_is_complete().w()
    }

    /// Returns the device time from this mark to `end`; waits for both.
    ///
    /// # Errors
    /// If the device fails before.
    pub fn until(&self, end: &Self) -> Result<Duration> {
        let ms = self.0.elapsed_ms(&end.0).w()?;
        Ok(Duration::from_secs_f64(f64::from(ms) / 1e3))
    }
}
