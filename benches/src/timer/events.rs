//! Times between two points of a GPU's queue.

use candle_core::{DType, Device, Result, Tensor};
use kernels::cuda_graph::{Buffers, CudaGraph, warm};
use models::trace::queue::{Event, Queue};

use crate::ops::Timed;

/// Calls at most that are queued for one sample, and calls in a recording.
pub const QUEUED: usize = 20;
/// Products that keep the GPU busy, some ten milliseconds, while the calls are queued.
const AHEAD: usize = 4;
/// The same while a few recordings are: a launch each.
const AHEAD_OF_GRAPHS: usize = 1;
/// Bytes that a call is kept apart from the one before by: read and written, they are several times any GPU's L2.
const BETWEEN: usize = 256 << 20;

/// The queue and the scratch tensor that time calls on one GPU.
pub struct Events {
    queue: Queue,
    between: Tensor, // (BETWEEN)
}

impl Events {
    /// `None` on a CPU.
    pub fn new(device: &Device) -> Result<Option<Self>> {
        let Device::Cuda(cuda) = device else {
            return Ok(None);
        };
        Ok(Some(Self {
            queue: Queue::new(cuda)?,
            between: Tensor::zeros(BETWEEN, DType::U8, device)?,
        }))
    }

    // ANCHOR: between
    /// Microseconds that the device takes for what `work` queues. The host runs ahead while the device is busy with
    /// something else, so the device does not wait for it. If `work` makes the host wait for the device, as an upload
    /// or the reading of a number does, the device does wait, and this gap counts.
    pub fn between(&self, work: impl FnOnce() -> Result<()>) -> Result<f64> {
        self.behind(AHEAD, work)
    }

    fn behind(&self, products: usize, work: impl FnOnce() -> Result<()>) -> Result<f64> {
        self.queue.run_ahead(products)?;
        let start = self.queue.mark()?;
        work()?;
        let end = self.queue.mark()?;
        Ok(start.until(&end)?.as_secs_f64() * 1e6)
    }
    // ANCHOR_END: between

    /// Microseconds of `launches` of a recording.
    pub fn replays(&self, recorded: &Recorded, launches: usize) -> Result<f64> {
        self.behind(AHEAD_OF_GRAPHS, || {
            (0..launches).try_for_each(|_| recorded.graph.launch())
        })
    }

    /// Microseconds on the device of `calls` calls, with a large copy, which does not count, before each.
    pub fn cold(&self, calls: usize, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
        self.queue.run_ahead(AHEAD)?;
        let mut marks = Vec::with_capacity(calls);
        for _ in 0..calls {
            self.between.copy()?;
            let start = self.queue.mark()?;
            call()?;
            marks.push((start, self.queue.mark()?));
        }
        let us = |(start, end): &(Event, Event)| Ok(start.until(end)?.as_secs_f64() * 1e6);
        marks.iter().map(us).sum()
    }
}

/// Calls as one CUDA graph.
pub struct Recorded {
    graph: CudaGraph,
    calls: usize,
}

impl Recorded {
    /// How many.
    pub(super) fn calls(&self) -> usize {
        self.calls
    }
}

/// Records so many calls of `timed` after a warm-up, which loads kernels and packs weights. Each call writes where the
/// one before did, as the calls of another framework do, whose allocator gives the same memory again.
pub fn record(device: &Device, timed: &mut dyn Timed, calls: usize) -> Result<Recorded> {
    if let Some(why) = timed.not_recorded() {
        candle_core::bail!("{why}")
    }
    warm(device, || timed.call().map(drop))?;
    let buffers = warm(device, || Buffers::of(|| timed.call().map(drop)))?;
    device.synchronize()?;
    let graph = CudaGraph::repeated(device, buffers, calls, || timed.call())?;
    graph.launch()?;
    device.synchronize()?;
    Ok(Recorded { graph, calls })
}
