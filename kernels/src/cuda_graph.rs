//! CUDA graphs: launches recorded once and replayed.
//!
//! A launch takes the host a few microseconds, whatever the kernel; in a graph it takes the GPU less than
//! one. A graph records launches with their arguments, including addresses, so it reads and writes the memory
//! it was recorded with. Inputs are copied there before each replay, and outputs are read there.
//!
//! "CUDA C++ Programming Guide", section on CUDA graphs.

mod buffers;

use std::cell::Cell;
use std::sync::{PoisonError, RwLock};

use candle_core::{Device, Result, Tensor};

pub use buffers::Buffers;
pub(crate) use buffers::{keep, next};

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// Opened GPUs. Opening or closing a GPU waits for every stream, which invalidates recordings. So a recording
/// blocks the opening of GPUs, and none is closed before the program ends.
static OPEN: RwLock<Vec<Device>> = RwLock::new(vec![]);

/// Opens GPU number `ordinal` with a stream of its own, which all host threads share. (`Device::new_cuda` takes CUDA's
/// per-thread default stream, another one for each host thread.) The GPU stays open. If other threads record, this waits
/// for their end.
///
/// # Errors
/// If there is no such GPU, or no driver.
pub fn open(ordinal: usize) -> Result<Device> {
    let mut open = OPEN.write().unwrap_or_else(PoisonError::into_inner);
    let device = Device::new_cuda_with_stream(ordinal)?;
    open.push(device.clone());
    Ok(device)
}

/// Whether the launches of this thread are being recorded instead of run.
pub fn is_recording() -> bool {
    RECORDING.get()
}

/// Recorded launches.
pub struct CudaGraph {
    graph: imp::Recorded,
    /// Dropped after the graph, which writes there.
    _buffers: Buffers,
}

impl CudaGraph {
    /// Records the launches of `f` on the stream of `device` without running them. `f` must have run before
    /// with the same shapes, so that all kernels are loaded. Kernels write to the `buffers` of that run;
    /// beyond them, the graph allocates and frees memory.
    ///
    /// Outputs of `f` live as long as the graph: they are valid after a launch, until the next. `f` must not
    /// drop a tensor from before, nor copy a value to the host.
    ///
    /// # Errors
    /// If `device` is no GPU with its own stream, if `f` fails, or if the driver cannot record a launch.
    pub fn record<T>(
        device: &Device,
        buffers: Buffers,
        f: impl FnOnce() -> Result<T>,
    ) -> Result<(Self, T)> {
        let (graph, value) = recorded(device, || buffers.given(f))?;
        let _buffers = buffers;
        Ok((Self { graph, _buffers }, value))
    }

    /// Records the launches of `f` several times, each time with the same `buffers`: for timing, without
    /// allocations in between.
    ///
    /// # Errors
    /// See [`record`](Self::record).
    pub fn repeated<T>(
        device: &Device,
        buffers: Buffers,
        times: usize,
        mut f: impl FnMut() -> Result<T>,
    ) -> Result<Self> {
        let again = |_| buffers.given(&mut f).map(drop);
        let (graph, ()) = recorded(device, || (0..times).try_for_each(again))?;
        let _buffers = buffers;
        Ok(Self { graph, _buffers })
    }

    /// Launches the graph; returns before it ends.
    ///
    /// # Errors
    /// If the driver fails.
    pub fn launch(&self) -> Result<()> {
        self.graph.launch()
    }

    /// Number of its nodes.
    pub fn nodes(&self) -> Nodes {
        self.graph.nodes()
    }
}

/// Number of nodes of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nodes {
    /// Kernels, including candle's and cuBLAS's.
    pub kernels: usize,
    /// Copies, memsets and allocations.
    pub others: usize,
}

/// Copies of one u32 at a time to the host, which reads a copy without waiting for what was queued after it.
///
/// `to_vec1` waits for all that is queued. In a decode step that is read this way, the next step can be queued before the
/// host has the token: the device need not wait for the host. At most two copies may be under way.
pub struct Readback(imp::Readback);

impl Readback {
    /// Page-locked memory for the copies.
    ///
    /// # Errors
    /// If `device` is no GPU, or there is no memory.
    pub fn new(device: &Device) -> Result<Self> {
        imp::Readback::new(device).map(Self)
    }

    /// Queues a copy of `x`, one u32, after what is queued, and returns at once.
    ///
    /// # Errors
    /// If `x` is something else, or two copies are under way.
    pub fn queue(&mut self, x: &Tensor) -> Result<()> {
        self.0.queue(x)
    }

    /// Waits for the oldest copy under way, and for nothing after it. It polls: that takes a core, and a microsecond less
    /// than to sleep until the driver wakes the thread.
    ///
    /// # Errors
    /// If none is under way, or a kernel before it has failed.
    pub fn wait(&mut self) -> Result<u32> {
        self.0.wait()
    }

    /// Copies under way.
    pub fn pending(&self) -> usize {
        self.0.pending()
    }
}

fn recorded<T>(device: &Device, f: impl FnOnce() -> Result<T>) -> Result<(imp::Recorded, T)> {
    let _nobody_opens = OPEN.read().unwrap_or_else(PoisonError::into_inner);
    imp::Recorded::record(device, || {
        RECORDING.set(true);
        scopeguard::defer! { RECORDING.set(false) }
        f()
    })
}

/// Runs `f` and keeps the data that the host sends to the device: candle's kernels get shapes and strides
/// that way, and a replay needs them.
pub fn warm<T>(device: &Device, f: impl FnOnce() -> T) -> T {
    imp::warm(device, f)
}

#[cfg(not(feature = "cuda"))]
mod imp {
    use candle_core::{Device, Result, Tensor};

    use super::Nodes;
    use crate::error::mismatch;

    pub enum Recorded {}

    impl Recorded {
        pub fn record<T>(_: &Device, _: impl FnOnce() -> Result<T>) -> Result<(Self, T)> {
            Err(mismatch(
                "a CUDA graph",
                "a build with the feature `cuda`",
                "a build without it",
            ))
        }

        pub fn launch(&self) -> Result<()> {
            match *self {}
        }

        pub fn nodes(&self) -> Nodes {
            match *self {}
        }
    }

    pub fn warm<T>(_: &Device, f: impl FnOnce() -> T) -> T {
        f()
    }

    pub enum Readback {}

    impl Readback {
        pub fn new(_: &Device) -> Result<Self> {
            let expected = "a build with the feature `cuda`";
            Err(mismatch("readback", expected, "a build without it"))
        }

        pub fn queue(&mut self, _: &Tensor) -> Result<()> {
            match *self {}
        }

        pub fn wait(&mut self) -> Result<u32> {
            match *self {}
        }

        pub fn pending(&self) -> usize {
            match *self {}
        }
    }
}

#[cfg(feature = "cuda")]
#[path = "cuda_graph/cuda.rs"]
mod imp;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_has_no_graphs() {
        let error = CudaGraph::record(&Device::Cpu, Buffers::default(), || Ok(()))
            .map(|_| ())
            .unwrap_err();
        assert!(error.to_string().contains("expected a"), "{error}");
        assert!(!is_recording());
    }
}
