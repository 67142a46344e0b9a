//! Comparison of two launches' outputs.

use std::fmt;

use crate::case::{Element, Operands};

/// Relative tolerance of a number: for wide types as tests of kernels allow for reordered sums, for narrow
/// types less than one unit in the last place.
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
    /// Index of the number.
    pub index: usize,
    /// Value of the original kernel.
    pub expected: f64,
    /// Value of the mutant.
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

/// Returns the first number of any buffer that differs by more than the tolerance of its type. The tolerance
/// scales with the number, or for small numbers with the mean magnitude of the buffer.
pub fn difference(expected: &Operands, found: &Operands) -> Option<Difference> {
    let buffers = expected.buffers.iter().zip(&found.buffers);
    let mut all = buffers.zip(&expected.layouts);
    all.find_map(|((expected, found), (element, _))| {
        if expected.bytes == found.bytes {
            return None;
        }
        // Poison is NaN in every float type, and a NaN that the kernel writes differs from untouched poison.
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

/// Assembles a little-endian number.
fn bits(bytes: &[u8]) -> u64 {
    let digits = bytes.iter().rev();
    digits.fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

/// Mean magnitude of the finite numbers.
fn mean_magnitude(numbers: &[(f64, bool)]) -> f64 {
    let finite = numbers.iter().filter(|(x, _)| x.is_finite());
    let (count, sum) = finite.fold((0usize, 0.), |(n, sum), (x, _)| (n + 1, sum + x.abs()));
    sum / count.max(1) as f64
}
