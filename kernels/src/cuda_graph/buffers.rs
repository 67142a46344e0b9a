//! Output buffers of a recording, allocated before it.
//!
//! An allocation during recording becomes two nodes of the graph, for allocating and freeing, and each kernel
//! waits for the nodes before it: on an H200 this makes a chain of small kernels a tenth slower. A forward
//! pass writes the same shapes in the same order each time. So the pass before the recording keeps its
//! outputs here, and the recording reuses them in that order.

use std::cell::RefCell;
use std::vec::IntoIter;

use candle_core::{DType, Result, Shape, Tensor};

use crate::error::mismatch;

/// Maximum bytes to keep; the graph allocates later outputs itself. A pass with more output has kernels that
/// take much longer than the extra nodes.
const MOST: usize = 256 << 20;

/// Outputs of a pass, in the order of the launches that wrote them.
#[derive(Debug, Default)]
pub struct Buffers {
    outputs: Vec<Tensor>,
    /// Bytes written, kept or not.
    bytes: usize,
}

enum State {
    Off,
    Keeping(Buffers),
    Giving(IntoIter<Tensor>),
}

thread_local! {
    static STATE: RefCell<State> = const { RefCell::new(State::Off) };
}

impl Buffers {
    /// Runs `f` and keeps the outputs of this crate's kernels.
    ///
    /// # Errors
    /// The errors of `f`.
    pub fn of<T>(f: impl FnOnce() -> Result<T>) -> Result<Self> {
        STATE.set(State::Keeping(Self::default()));
        scopeguard::defer! { STATE.set(State::Off) }
        f()?;
        match STATE.replace(State::Off) {
            State::Keeping(buffers) => Ok(buffers),
            _ => Err(mismatch("a recording", "one at a time", "another in it")),
        }
    }

    /// Runs `f`, whose kernels of this crate write to these buffers. The graph that records `f` must be
    /// dropped before them.
    pub(super) fn given<T>(&self, f: impl FnOnce() -> T) -> T {
        STATE.set(State::Giving(self.outputs.clone().into_iter()));
        scopeguard::defer! { STATE.set(State::Off) }
        f()
    }

    fn keep(&mut self, x: &Tensor) {
        self.bytes += x.elem_count() * x.dtype().size_in_bytes();
        // Outputs that are not kept count, too, so that all later ones are left out: the order would be lost
        // otherwise.
        if self.bytes <= MOST {
            self.outputs.push(x.clone());
        }
    }
}

/// Returns the next output of the previous pass, if one is given.
///
/// # Errors
/// If its shape or dtype differs, because the passes are not the same.
pub(crate) fn next(shape: &Shape, dtype: DType) -> Result<Option<Tensor>> {
    STATE.with_borrow_mut(|state| {
        let State::Giving(outputs) = state else {
            return Ok(None);
        };
        let Some(x) = outputs.next() else {
            return Ok(None);
        };
        if x.shape() != shape || x.dtype() != dtype {
            let expected = format!(
                "{:?} {}, as in the run before",
                x.dims(),
                x.dtype().as_str()
            );
            let found = format!("{:?} {}", shape.dims(), dtype.as_str());
            return Err(mismatch("a recording", expected, found));
        }
        Ok(Some(x))
    })
}

/// Keeps `x` if outputs are being kept.
pub(crate) fn keep(x: &Tensor) {
    STATE.with_borrow_mut(|state| {
        if let State::Keeping(buffers) = state {
            buffers.keep(x);
        }
    });
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use candle_core::Device;

    use super::*;
    use crate::output;

    fn outputs(shapes: &[usize]) -> Result<Vec<Tensor>> {
        let one = |&n: &usize| output::tensor(n, DType::F32, &Device::Cpu);
        shapes.iter().map(one).collect()
    }

    #[test]
    fn a_recording_writes_to_the_outputs_of_the_previous_pass() -> Result<()> {
        let mut before = vec![];
        let buffers = Buffers::of(|| {
            before = outputs(&[3, 3, 5])?;
            Ok(())
        })?;
        let given = buffers.given(|| outputs(&[3, 3, 5, 7]))?;
        let ids = |all: &[Tensor]| all.iter().map(Tensor::id).collect::<Vec<_>>();
        assert_eq!(ids(&given[..3]), ids(&before));
        assert_eq!(given[3].dims(), [7], "one more is new");
        assert_ne!(
            ids(&outputs(&[3])?),
            ids(&before[..1]),
            "and so is any later"
        );
        Ok(())
    }

    #[test]
    fn a_different_pass_is_an_error() -> Result<()> {
        let buffers = Buffers::of(|| outputs(&[3]))?;
        let error = buffers.given(|| outputs(&[4])).unwrap_err().to_string();
        let expected = "expected [3] f32, as in the run before, found [4] f32";
        assert!(error.contains(expected), "{error}");
        Ok(())
    }

    #[test]
    fn errors_and_panics_end_the_state() -> Result<()> {
        let is_off = || STATE.with_borrow(|state| matches!(state, State::Off));
        let buffers = Buffers::of(|| outputs(&[3]))?;
        assert!(Buffers::of(|| -> Result<()> { candle_core::bail!("of the test") }).is_err());
        assert!(is_off());
        let kept = catch_unwind(|| Buffers::of(|| -> Result<()> { panic!("of the test") }));
        assert!(kept.is_err());
        assert!(is_off());
        let given = AssertUnwindSafe(|| buffers.given(|| panic!("of the test")));
        assert!(catch_unwind(given).is_err());
        assert!(is_off());
        Ok(())
    }

    #[test]
    fn at_most_the_maximum_is_kept() -> Result<()> {
        let of = |n| Tensor::zeros(1, DType::U8, &Device::Cpu)?.broadcast_as(n);
        let mut buffers = Buffers::default();
        for (n, kept) in [(MOST / 2, 1), (MOST / 2, 2), (1, 2), (0, 2)] {
            buffers.keep(&of(n)?);
            assert_eq!(buffers.outputs.len(), kept);
        }
        Ok(())
    }
}
