//! The crate that Rust exercises are compiled with: candle, and helpers for checks.
//!
//! An exercise has two files for its check, and each becomes a program of its own:
//!
//! - `calls.rs` calls the submission. Its `calls(&mut Calls)` gives names to functions, and counts what they use.
//!   [`serve`] runs it, in a sandbox.
//! - `check.rs` draws the inputs, knows the right results and decides: `check(&mut Fresh, &mut Submission) -> Verdict`.
//!   [`judge`] runs it. No code of the submission is in that program.
//!
//! The two exchange values of the trait [`Sent`] through pipes.

mod allocated;
mod calls;
mod channel;
mod judge;
mod sent;

use std::error::Error;
use std::fmt::Display;

pub use allocated::{Counted, MOST, allocated, costs};
pub use calls::{Calls, serve};
pub use candle_core;
pub use candle_nn;
pub use judge::{Submission, compare, judge};
pub use sent::Sent;
pub use trace;

use candle_core::{DType, Device, Tensor};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The result of a check: success, or one line that names the problem.
pub type Verdict = Result<(), Box<dyn Error>>;

/// Random numbers from the seed of this run.
pub struct Fresh(ChaCha8Rng);

impl Fresh {
    /// Returns `len` numbers in -bound..bound.
    pub fn numbers(&mut self, len: usize, bound: f32) -> Vec<f32> {
        let number = |_| (self.0.random::<f32>() * 2. - 1.) * bound;
        (0..len).map(number).collect()
    }

    /// Returns a tensor of numbers in -1..1.
    ///
    /// # Errors
    /// candle's errors.
    pub fn tensor(&mut self, shape: &[usize]) -> candle_core::Result<Tensor> {
        let numbers = self.numbers(shape.iter().product(), 1.);
        Tensor::from_vec(numbers, shape, &Device::Cpu)
    }

    /// Returns a seed of [`noise`].
    pub fn seed(&mut self) -> u64 {
        self.0.random()
    }

    /// Returns an integer in 0..n.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.random_range(0..n)
    }
}

/// Makes `len` numbers in -bound..bound one after the other, the same for the same seed. A submission that does not know
/// the seed cannot make them a second time.
pub fn noise(seed: u64, len: usize, bound: f32) -> impl Iterator<Item = f32> {
    let mut fresh = ChaCha8Rng::seed_from_u64(seed);
    (0..len).map(move |_| (fresh.random::<f32>() * 2. - 1.) * bound)
}

/// Returns the elements in f64.
///
/// # Errors
/// candle's errors.
pub fn values(x: &Tensor) -> candle_core::Result<Vec<f64>> {
    let x = x.to_dtype(DType::F64)?.flatten_all()?;
    x.to_vec1()
}

/// Checks a condition.
///
/// # Errors
/// `{what}: expected {expected}, found {found}`
pub fn expect(
    holds: bool,
    what: impl Display,
    expected: impl Display,
    found: impl Display,
) -> Verdict {
    if holds {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected}, found {found}").into())
    }
}

/// Checks that two lists of numbers agree, each within `tolerance` of max(1, |expected|). NaN never agrees.
///
/// # Errors
/// The first wrong number and the count of wrong ones, or the wrong length.
pub fn close(what: impl Display, found: &[f64], expected: &[f64], tolerance: f64) -> Verdict {
    agree(what, found, expected, tolerance, |i| i.to_string())
}

/// Same as [`close`] for a tensor's elements, which are named by their indices: `element [0, 2]`.
///
/// # Errors
/// The errors of `close`, and candle's.
pub fn close_tensor(
    what: impl Display,
    found: &Tensor,
    expected: &[f64],
    tolerance: f64,
) -> Verdict {
    let place = |i: usize| {
        let index = found.dims().iter().rev().scan(i, |left, &size| {
            let index = *left % size;
            *left /= size;
            Some(index)
        });
        let mut index: Vec<usize> = index.collect();
        index.reverse();
        format!("{index:?}")
    };
    agree(what, &values(found)?, expected, tolerance, place)
}

fn agree(
    what: impl Display,
    found: &[f64],
    expected: &[f64],
    tolerance: f64,
    place: impl Fn(usize) -> String,
) -> Verdict {
    let lengths = (found.len(), expected.len());
    expect(
        lengths.0 == lengths.1,
        &what,
        format!("{} numbers", lengths.1),
        lengths.0,
    )?;
    let is_wrong = |&(f, e): &(&f64, &f64)| {
        let is_close = f == e || (f - e).abs() <= tolerance * e.abs().max(1.);
        !is_close
    };
    let both: Vec<(&f64, &f64)> = found.iter().zip(expected).collect();
    let Some(i) = both.iter().position(is_wrong) else {
        return Ok(());
    };
    let many = match both.iter().filter(|pair| is_wrong(pair)).count() {
        1 => String::new(),
        wrong => format!("; {wrong} of {} are wrong", both.len()),
    };
    let first = format!("{}{many}", short(found[i]));
    expect(
        false,
        format!("{what}, element {}", place(i)),
        short(expected[i]),
        first,
    )
}

/// Formats with seven digits, the precision of f32.
fn short(number: f64) -> String {
    let rounded: f64 = format!("{number:.6e}").parse().unwrap_or(number);
    if rounded == 0. || (1e-4..1e9).contains(&rounded.abs()) {
        rounded.to_string()
    } else {
        format!("{rounded:e}")
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};

    use super::{close, close_tensor};

    #[test]
    fn wrong_numbers_are_counted() {
        let said = |found: &[f64]| {
            close("y", found, &[1., 2., 3.], 1e-3)
                .err()
                .map(|e| e.to_string())
        };
        assert_eq!(said(&[1., 2., 3.001]), None);
        assert_eq!(
            said(&[1., 2.5, 3.]).unwrap(),
            "y, element 1: expected 2, found 2.5"
        );
        let two = "y, element 1: expected 2, found NaN; 2 of 3 are wrong";
        assert_eq!(said(&[1., f64::NAN, 0.]).unwrap(), two);
        assert_eq!(said(&[1.]).unwrap(), "y: expected 3 numbers, found 1");
    }

    #[test]
    fn a_tensors_element_is_named_by_its_indices() {
        let y = Tensor::arange(0f64, 12., &Device::Cpu).and_then(|y| y.reshape((2, 2, 3)));
        let mut expected: Vec<f64> = (0..12).map(f64::from).collect();
        close_tensor("y", y.as_ref().unwrap(), &expected, 0.).unwrap();
        expected[10] = 0.;
        let error = close_tensor("y", &y.unwrap(), &expected, 0.).unwrap_err();
        let said = "y, element [1, 1, 1]: expected 0, found 10";
        assert_eq!(error.to_string(), said);
    }
}
