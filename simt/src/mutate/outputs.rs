//! Whether two launches left the same behind.

use std::fmt;

use crate::case::{Element, Operands};

/// The share of its scale by which a number may differ: in the wide formats what tests of kernels allow for sums
/// in another order, in the narrow ones less than a unit in the last place.
fn tolerance(element: Element) -> f64 {
    match element {
        Element::F64 => 1e-12,
        Element::F32 => 1e-5,
        Element::F16 => 1. / 2048.,
        Element::Bf16 => 1. / 256.,
        _ => 0.,
    }
}

/// The first number that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The buffer's name.
    pub buffer: String,
    /// Which number of it.
    pub index: usize,
    /// The right kernel's.
    pub expected: f64,
    /// The mutant's.
    pub found: f64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "{}, number {}: expected {}, found {}",
            self.buffer, self.index, self.expected, self.found
        )
    }
}

/// The first number, of any buffer, that is not the expected one within the tolerance of its format. An error
/// scales with the number itself, and of small numbers with the mean magnitude of their buffer.
pub fn difference(expected: &Operands, found: &Operands) -> Option<Difference> {
    let buffers = expected.buffers.iter().zip(&found.buffers);
    let mut all = buffers.zip(&expected.layouts);
    all.find_map(|((expected, found), (element, _))| {
        if expected.bytes == found.bytes {
            return None;
        }
        // Poison is NaN in every float format: a NaN that the kernel writes is not what it leaves alone.
        let poison = u64::MAX >> (64 - 8 * element.bytes());
        let numbers = |bytes: &[u8]| -> Vec<(f64, bool)> {
            let all = bytes.chunks_exact(element.bytes()).map(bits);
            all.map(|b| (element.to_f64(b), b == poison)).collect()
        };
        let (right, wrong) = (numbers(&expected.bytes), numbers(&found.bytes));
        let mean = mean_magnitude(&right);
        let is_off = |((a, left), (b, also_left)): (&(f64, bool), &(f64, bool))| {
            let close = (a - b).abs() <= tolerance(*element) * a.abs().max(mean);
            let both_nan = a.is_nan() && b.is_nan() && left == also_left;
            !(close || a == b || both_nan)
        };
        let index = right.iter().zip(&wrong).position(is_off)?;
        Some(Difference {
            buffer: expected.name.clone(),
            index,
            expected: right[index].0,
            found: wrong[index].0,
        })
    })
}

/// Least significant byte first.
fn bits(bytes: &[u8]) -> u64 {
    let digits = bytes.iter().rev();
    digits.fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

/// Over those that are finite.
fn mean_magnitude(numbers: &[(f64, bool)]) -> f64 {
    let finite = numbers.iter().filter(|(x, _)| x.is_finite());
    let (count, sum) = finite.fold((0usize, 0.), |(n, sum), (x, _)| (n + 1, sum + x.abs()));
    sum / count.max(1) as f64
}
