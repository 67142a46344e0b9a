//! On which stream of a GPU the pass may run.
//!
//! The clusters of a pass wait for each other. Two passes at once could each have some clusters on the GPU and no room for the
//! others, and wait forever. Launches of one stream follow each other, in graphs, too, because a graph is launched on the
//! stream on which it was recorded. So the first stream that asks keeps the pass; another one of the same GPU computes op by op.
//!
//! Another process is not a danger: without MPS, the Multi-Process Service, the GPU runs one process at a time.

use std::sync::{Mutex, PoisonError};

use candle_core::Device;

/// For each GPU, the device whose stream has the pass.
static FIRST: Mutex<Vec<Device>> = Mutex::new(vec![]);

/// Whether the stream of `device` is the one of its GPU, which it is from now on if there was none.
pub fn may_launch(device: &Device) -> bool {
    let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    let same_gpu = first.iter().find(|d| d.location() == device.location());
    let Some(other) = same_gpu else {
        first.push(device.clone());
        return true;
    };
    other.same_device(device)
}
