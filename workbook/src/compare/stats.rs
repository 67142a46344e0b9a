//! From samples to figures.

pub use models::trace::quantile;

/// The share of samples below `low`, and above `high`.
const TAIL: f64 = 0.1;

// ANCHOR: spread
/// Samples as three figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// A tenth of the samples is below.
    pub low: f64,
    /// The sample in the middle.
    pub median: f64,
    /// A tenth of the samples is above.
    pub high: f64,
}

impl Spread {
    /// Of samples in any order.
    pub fn of(samples: &[f64]) -> Self {
        let [low, median, high] = [TAIL, 0.5, 1. - TAIL].map(|share| quantile(samples, share));
        Self { low, median, high }
    }
}
// ANCHOR_END: spread

/// The largest difference of two answers, as a share of the largest value of the first.
pub fn relative_difference(expected: &[f32], found: &[f32]) -> f64 {
    let largest = expected.iter().fold(0f32, |max, x| max.max(x.abs()));
    let pairs = expected.iter().zip(found);
    let difference = pairs.fold(0f32, |max, (a, b)| max.max((a - b).abs()));
    match difference {
        0. => 0.,
        _ => f64::from(difference) / f64::from(largest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_relative_to_the_largest_logit() {
        assert_eq!(relative_difference(&[1., -4.], &[1., -4.]), 0.);
        assert_eq!(relative_difference(&[1., -4.], &[1.5, -4.]), 0.125);
        assert_eq!(relative_difference(&[0., 0.], &[0., 0.]), 0.);
    }
}
