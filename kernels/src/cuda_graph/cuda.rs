//! Recording by the driver.

use candle_core::cuda_backend::WrapErr;
use candle_core::cuda_backend::cudarc::driver::CudaGraph;
use candle_core::cuda_backend::cudarc::driver::sys;
use candle_core::{Device, Result};
use scopeguard::ScopeGuard;
use sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_RELAXED as RELAXED;

use super::Nodes;
use crate::error::mismatch;

#[path = "readback.rs"]
mod readback;

pub use readback::Readback;

/// The next launch frees memory that a replay has not freed.
const AUTO_FREE: sys::CUgraphInstantiate_flags =
    sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;

/// A recording. It stays on its thread, as `CudaGraph` does: shapes and strides for candle's kernels are on
/// the device as long as that thread keeps them ([`warm`](super::warm)).
pub struct Recorded {
    graph: CudaGraph,
    nodes: Nodes,
}

impl Recorded {
    pub fn record<T>(device: &Device, f: impl FnOnce() -> Result<T>) -> Result<(Self, T)> {
        let Device::Cuda(cuda) = device else {
            let found = format!("{:?}", device.location());
            return Err(mismatch("a CUDA graph", "a GPU", found));
        };
        let stream = cuda.cuda_stream();
        if stream.cu_stream().is_null() {
            let expected = "a device with a stream of its own (`cuda_graph::open`)";
            return Err(mismatch("a CUDA graph", expected, "the default stream"));
        }
        let _cached = cuda.enable_cuda_graph_htod_cache();
        stream.begin_capture(RELAXED).w()?;
        // The capture also ends if `f` panics, because the stream cannot be used while it records.
        let end = scopeguard::guard((), |()| drop(stream.end_capture(AUTO_FREE)));
        let value = f();
        ScopeGuard::into_inner(end);
        let graph = stream.end_capture(AUTO_FREE).w();
        // The error of `f` is more useful than that of the capture.
        let value = value?;
        let graph = graph?.ok_or_else(|| mismatch("a CUDA graph", "launches", "none"))?;
        graph.upload().w()?;
        let nodes = count(graph.cu_graph())?;
        Ok((Self { graph, nodes }, value))
    }

    pub fn launch(&self) -> Result<()> {
        self.graph.launch().w()
    }

    pub fn nodes(&self) -> Nodes {
        self.nodes
    }
}

fn count(graph: sys::CUgraph) -> Result<Nodes> {
    let mut count = 0;
    // SAFETY: the graph is alive; without room for nodes, only their number is written.
    unsafe { sys::cuGraphGetNodes(graph, std::ptr::null_mut(), &raw mut count) }
        .result()
        .w()?;
    let mut nodes = vec![std::ptr::null_mut(); count];
    // SAFETY: there is room for `count` nodes.
    unsafe { sys::cuGraphGetNodes(graph, nodes.as_mut_ptr(), &raw mut count) }
        .result()
        .w()?;
    let mut counted = Nodes::default();
    for node in nodes {
        let mut kind = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
        // SAFETY: the node belongs to the graph, and only `kind` is written.
        unsafe { sys::cuGraphNodeGetType(node, &raw mut kind) }
            .result()
            .w()?;
        match kind {
            sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL => counted.kernels += 1,
            _ => counted.others += 1,
        }
    }
    Ok(counted)
}

pub fn warm<T>(device: &Device, f: impl FnOnce() -> T) -> T {
    let _cached = match device {
        Device::Cuda(cuda) => Some(cuda.enable_cuda_graph_htod_cache()),
        _ => None,
    };
    f()
}
