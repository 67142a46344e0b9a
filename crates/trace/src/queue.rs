//! Times between two points of a GPU's queue.

use std::sync::Arc;
use std::time::Duration;

use candle_core::cuda::WrapErr;
use candle_core::{CudaDevice, Device, Result, Tensor};
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaEvent, CudaStream};

/// Rows and columns of the product that keeps a GPU busy: some two milliseconds of a large one.
const AHEAD: usize = 4096;
/// Products at least and at most while the host queues something.
const PRODUCTS: (usize, usize) = (4, 32);

/// The stream on which a device's work is queued, and something to keep it busy with.
#[derive(Clone)]
pub struct Queue {
    stream: Arc<CudaStream>,
    ahead: Tensor, // (AHEAD, AHEAD)
}

/// A point in the queue.
pub struct Event(CudaEvent);

impl Queue {
    /// Of one device.
    ///
    /// # Errors
    /// When the device refuses.
    pub fn new(device: &CudaDevice) -> Result<Self> {
        let on = Device::Cuda(device.clone());
        Ok(Self {
            stream: device.cuda_stream(),
            ahead: Tensor::rand(-1f32, 1., (AHEAD, AHEAD), &on)?,
        })
    }

    /// Queues so many products.
    ///
    /// # Errors
    /// When the device refuses.
    pub fn run_ahead(&self, products: usize) -> Result<()> {
        (0..products).try_for_each(|_| self.ahead.matmul(&self.ahead).map(drop))
    }

    /// Queues products that take about twice `ms` milliseconds, in which the host can queue what takes it `ms`.
    ///
    /// # Errors
    /// When the device refuses.
    pub fn run_ahead_for(&self, ms: f64) -> Result<()> {
        let (least, most) = PRODUCTS;
        self.run_ahead((ms.ceil() as usize).clamp(least, most))
    }

    /// The point behind all that is queued so far.
    ///
    /// # Errors
    /// When the device refuses.
    pub fn mark(&self) -> Result<Event> {
        let event = self.stream.record_event(Some(CU_EVENT_DEFAULT)).w()?;
        Ok(Event(event))
    }
}

impl Event {
    /// Whether the device has come to it by now.
    ///
    /// # Errors
    /// When the device has failed before.
    pub fn is_past(&self) -> Result<bool> {
        self.0.try_is_complete().w()
    }

    /// Time on the device from here to `end`, once both have come.
    ///
    /// # Errors
    /// When the device fails before.
    pub fn until(&self, end: &Self) -> Result<Duration> {
        let ms = self.0.elapsed_ms(&end.0).w()?;
        Ok(Duration::from_secs_f64(f64::from(ms) / 1e3))
    }
}
