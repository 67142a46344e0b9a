//! Chains: launches that follow one another without anything in between, such as those of a decode step.
//!
//! A kernel waits for the one before it to end, and only then starts: an SM is idle while the last blocks finish,
//! while their results become visible, and while the next kernel is set up and waits for its first bytes. *Programmatic
//! dependent launch* (compute capability 9.0) removes the part that does not depend on the result: a kernel may start
//! when every block of the one before has executed `griddepcontrol.launch_dependents`, and until its own
//! `griddepcontrol.wait` it may load what no earlier kernel of the chain writes, such as weights. The wait ends when the
//! kernel before has ended and its writes are visible.
//!
//! A kernel that can do this is launched by [`Launch::programmatic`](super::Launch::programmatic). It overlaps with
//! the launch before only
//!
//! - in a [`chained`] part of a recording for a CUDA graph: a launch outside of a graph takes the host longer than the
//!   overlap saves,
//! - if the launch before was one of these kernels, too, with nothing in between: no copy, and no kernel of a library.
//!   So each kernel has waited when it ends, and when a wait ends, all kernels before have ended. What follows the
//!   wait is in the order of the launches; the memory that one kernel reads, a later one may overwrite.
//!
//! `--without overlap` turns the overlap off, for comparisons.
//!
//! "CUDA C++ Programming Guide", section on programmatic dependent launch; "PTX ISA", `griddepcontrol`.

use std::cell::Cell;

use crate::without::Idea;

/// The state of this thread's chain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chain {
    /// There is none.
    None,
    /// The next launch must wait for all that came before.
    Unknown,
    /// The last launch was programmatic; it is this node of the graph that is being recorded.
    #[cfg_attr(not(any(feature = "cuda", test)), expect(dead_code))]
    After(usize),
}

thread_local! {
    static CHAIN: Cell<Chain> = const { Cell::new(Chain::None) };
}

/// Runs `f`, in whose recorded launches a [programmatic](super::Launch::programmatic) one may overlap with the one before.
///
/// The first launch of `f` waits for all that came before. What a kernel of `f` reads before it waits, such as weights, no
/// launch before it in `f` may write.
pub fn chained<T>(f: impl FnOnce() -> T) -> T {
    let before = CHAIN.replace(Chain::Unknown);
    scopeguard::defer! { CHAIN.set(if before == Chain::None { before } else { Chain::Unknown }) }
    f()
}

/// Whether launches of this thread may overlap: they are [`chained`], and [`Idea::Overlap`] is not left out.
pub fn is_chained() -> bool {
    CHAIN.get() != Chain::None && !Idea::Overlap.is_left_out()
}

#[cfg(feature = "cuda")]
pub(super) use on_a_gpu::{follows, note};

#[cfg(feature = "cuda")]
mod on_a_gpu {
    use std::ptr;

    use candle_core::Result;
    use candle_core::cuda_backend::WrapErr;
    use candle_core::cuda_backend::cudarc::driver::{CudaStream, sys};

    use super::{CHAIN, Chain, is_chained};
    use crate::cuda_graph::is_recording;

    /// Whether the next launch on `stream` directly follows a programmatic launch of the chain.
    pub fn follows(stream: &CudaStream) -> Result<bool> {
        let Chain::After(last) = CHAIN.get() else {
            return Ok(false);
        };
        Ok(is_recording() && last_node(stream)? == Some(last))
    }

    /// Notes a launch, programmatic or not, on `stream`.
    pub fn note(programmatic: bool, stream: &CudaStream) -> Result<()> {
        if !is_chained() {
            return Ok(());
        }
        let node = if programmatic && is_recording() {
            last_node(stream)?
        } else {
            None
        };
        CHAIN.set(node.map_or(Chain::Unknown, Chain::After));
        Ok(())
    }

    /// The node that the next one of the recording on `stream` will depend on, if it is one alone.
    fn last_node(stream: &CudaStream) -> Result<Option<usize>> {
        let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let (mut nodes, mut count) = (ptr::null(), 0);
        let mut edges = ptr::null();
        // SAFETY: the stream is alive and each pointer is that of a variable of its type, or null where the driver allows it.
        // `nodes` belongs to the driver, and is read before the next call that concerns the stream.
        unsafe {
            sys::cuStreamGetCaptureInfo_v3(
                stream.cu_stream(),
                &raw mut status,
                ptr::null_mut(),
                ptr::null_mut(),
                &raw mut nodes,
                &raw mut edges,
                &raw mut count,
            )
            .result()
            .w()?;
            let active = status == sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
            Ok((active && count == 1).then(|| (*nodes).addr()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_chain_ends_with_its_function() {
        assert!(CHAIN.get() == Chain::None);
        chained(|| {
            assert!(CHAIN.get() == Chain::Unknown);
            assert!(is_chained());
            CHAIN.set(Chain::After(1));
            chained(|| assert!(CHAIN.get() == Chain::Unknown, "the first launch waits"));
            assert!(CHAIN.get() == Chain::Unknown, "and so does the next");
        });
        assert!(catch_unwind(|| chained(|| panic!("of the test"))).is_err());
        assert!(CHAIN.get() == Chain::None && !is_chained());
    }
}
