//! On which stream of a GPU the pass may run.
//!
//! The clusters of a pass wait for each other. Two passes at once could each have some clusters on the GPU and no room for the
//! others, and wait forever. Launches of one stream follow each other, in graphs, too, because a graph is launched on the
//! stream on which it was recorded. So the first stream that asks keeps the pass; another one of the same GPU computes op by op.
//!
//! `Device::new_cuda` takes CUDA's per-thread default stream, another one for each host thread. There the first thread keeps
//! the pass.
//!
//! Another process is not a danger: without MPS, the Multi-Process Service, the GPU runs one process at a time.

use std::sync::{Mutex, PoisonError};
use std::thread::{ThreadId, current};

use candle_core::Device;

/// A device, and the host thread if each has a stream of its own there.
type Stream = (Device, Option<ThreadId>);

/// For each GPU, the stream that has the pass.
static FIRST: Mutex<Vec<Stream>> = Mutex::new(vec![]);

/// Whether this thread's stream of `device` is the one of its GPU, which it is from now on if there was none.
pub fn may_launch(device: &Device) -> bool {
    let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    let thread = (!has_own_stream(device)).then(|| current().id());
    let Some((other, of)) = (first.iter()).find(|(d, _)| d.location() == device.location()) else {
        first.push((device.clone(), thread));
        return true;
    };
    other.same_device(device) && *of == thread
}

/// Whether all host threads share the device's stream. The driver's default streams are the handles 0, 1 and 2.
#[cfg(feature = "cuda")]
fn has_own_stream(device: &Device) -> bool {
    match device {
        Device::Cuda(cuda) => cuda.cuda_stream().cu_stream().addr() > 2,
        _ => false,
    }
}

#[cfg(not(feature = "cuda"))]
fn has_own_stream(_: &Device) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// A CPU stands for a GPU whose streams are those of the host threads.
    #[test]
    fn the_first_thread_keeps_the_pass() {
        for _ in 0..2 {
            assert!(may_launch(&Device::Cpu));
            let other = thread::spawn(|| may_launch(&Device::Cpu));
            assert!(!other.join().expect("no panic"));
        }
    }
}
