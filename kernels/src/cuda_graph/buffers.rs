//! Memory that a recording writes to, from before it.
//!
//! Memory that is asked for while launches are recorded becomes two nodes of the graph, one that takes it and one
//! that gives it back, and each kernel waits for those before it: on an H200 a chain of small kernels takes a tenth
//! longer with them. A forward pass writes the same shapes in the same order each time. So the pass before the
//! recording leaves its outputs here, and the recording is given them in that order.

use std::cell::RefCell;
use std::vec::IntoIter;

use candle_core::{DType, Result, Shape, Tensor};

use crate::error::mismatch;

/// Bytes that are kept at the most; what a pass writes after them, its graph takes and gives back. A pass that
/// writes more has kernels that take much longer than those nodes.
const MOST: usize = 256 << 20;

/// The outputs of a pass, in the order in which its kernels wrote them.
#[derive(Debug, Default)]
pub struct Buffers {
    outputs: Vec<Tensor>,
    /// Of what was written, kept or not.
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
    /// Runs `f`, and keeps what kernels of this crate write in it.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn of<T>(f: impl FnOnce() -> Result<T>) -> Result<Self> {
        STATE.set(State::Keeping(Self::default()));
        scopeguard::defer! { STATE.set(State::Off) }
        f()?;
        match STATE.replace(State::Off) {
            State::Keeping(buffers) => Ok(buffers),
            _ => Err(mismatch("a recording", "one at a time", "another in it")),
        }
    }

    /// Runs `f`, in which kernels of this crate write there. The graph that `f` is recorded to is dropped before
    /// these are.
    pub(super) fn given<T>(&self, f: impl FnOnce() -> T) -> T {
        STATE.set(State::Giving(self.outputs.clone().into_iter()));
        scopeguard::defer! { STATE.set(State::Off) }
        f()
    }

    fn keep(&mut self, x: &Tensor) {
        self.bytes += x.elem_count() * x.dtype().size_in_bytes();
        // What comes after one that is left out would be taken for it: it counts, so that all after it are left out.
        if self.bytes <= MOST {
            self.outputs.push(x.clone());
        }
    }
}

/// The next output of the pass before, if one is given.
///
/// # Errors
/// When it has another shape or format: the passes are not the same.
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

/// Keeps `x`, if outputs are kept.
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
    fn a_recording_writes_where_the_pass_before_it_wrote() -> Result<()> {
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
    fn another_pass_is_refused() -> Result<()> {
        let buffers = Buffers::of(|| outputs(&[3]))?;
        let error = buffers.given(|| outputs(&[4])).unwrap_err().to_string();
        let expected = "expected [3] f32, as in the run before, found [4] f32";
        assert!(error.contains(expected), "{error}");
        Ok(())
    }

    #[test]
    fn what_fails_or_panics_leaves_nothing_on() -> Result<()> {
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
    fn no_more_is_kept_than_pays() -> Result<()> {
        let of = |n| Tensor::zeros(1, DType::U8, &Device::Cpu)?.broadcast_as(n);
        let mut buffers = Buffers::default();
        for (n, kept) in [(MOST / 2, 1), (MOST / 2, 2), (1, 2), (0, 2)] {
            buffers.keep(&of(n)?);
            assert_eq!(buffers.outputs.len(), kept);
        }
        Ok(())
    }
}
