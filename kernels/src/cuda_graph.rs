//! Launches recorded once and repeated: a CUDA graph.
//!
//! A launch costs the host some microseconds, whatever the kernel does; a recorded one costs the GPU less than one.
//! What is recorded is the launches with their arguments, addresses among them: a graph reads and writes the
//! memory that it was recorded with. Inputs are put there before each replay, and outputs taken from there.
//!
//! "CUDA C++ Programming Guide", section on CUDA graphs.

mod buffers;

use std::cell::Cell;
use std::sync::{PoisonError, RwLock};

use candle_core::{Device, Result};

pub use buffers::Buffers;
pub(crate) use buffers::{keep, next};

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// The GPUs that were opened. Opening one and closing one wait for every stream, and a recording that is waited for is
/// void: whoever records keeps others from opening, and none is closed before the program ends.
static OPEN: RwLock<Vec<Device>> = RwLock::new(vec![]);

/// GPU number `ordinal` with a stream of its own: candle's default would be the legacy stream, which nobody can record.
/// It stays open. Other threads may record: it waits for the end of their recordings.
///
/// # Errors
/// When there is no such GPU, or no driver.
pub fn open(ordinal: usize) -> Result<Device> {
    let mut open = OPEN.write().unwrap_or_else(PoisonError::into_inner);
    let device = Device::new_cuda_with_stream(ordinal)?;
    open.push(device.clone());
    Ok(device)
}

/// Whether the launches of this thread are being recorded, and not run.
pub fn is_recording() -> bool {
    RECORDING.get()
}

/// What was launched while it was recorded.
pub struct CudaGraph {
    graph: imp::Recorded,
    /// Dropped after the graph that writes there.
    _buffers: Buffers,
}

impl CudaGraph {
    /// Records what `f` launches on the stream of `device`; the launches are not run. `f` has run before, with the
    /// same shapes, so that all kernels are loaded; kernels write to the `buffers` of that run, and where there are
    /// none, to memory that the graph takes and gives back.
    ///
    /// What `f` makes stays where it is for as long as the graph: it is valid after a launch, until the next.
    /// A tensor from before may not be dropped in `f`, and no value may come to the host.
    ///
    /// # Errors
    /// When `device` is no GPU with a stream of its own, those of `f`, and what the driver refuses to record.
    pub fn record<T>(
        device: &Device,
        buffers: Buffers,
        f: impl FnOnce() -> Result<T>,
    ) -> Result<(Self, T)> {
        let (graph, value) = recorded(device, || buffers.given(f))?;
        let _buffers = buffers;
        Ok((Self { graph, _buffers }, value))
    }

    /// Records what `f` launches, so many times over, each time to the same `buffers`: for timing, without memory that
    /// is taken and given back in between.
    ///
    /// # Errors
    /// As of [`record`](Self::record).
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

    /// Starts all of it; returns before it ends.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn launch(&self) -> Result<()> {
        self.graph.launch()
    }

    /// Kernels in it, candle's and cuBLAS's among them.
    pub fn kernels(&self) -> usize {
        self.graph.kernels()
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

/// Runs `f`, in which what the host sends to the device is kept there: candle's kernels are told shapes and
/// strides that way, and a replay has to find them.
pub fn warm<T>(device: &Device, f: impl FnOnce() -> T) -> T {
    imp::warm(device, f)
}

#[cfg(not(feature = "cuda"))]
mod imp {
    use candle_core::{Device, Result};

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

        pub fn kernels(&self) -> usize {
            match *self {}
        }
    }

    pub fn warm<T>(_: &Device, f: impl FnOnce() -> T) -> T {
        f()
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
