//! From samples to figures.

pub use models::trace::profile::Spread;
pub use models::trace::quantile;

/// The largest difference of two answers, as a share of the largest value of the first.
pub fn relative_difference(expected: &[f32], found: &[f32]) -> f64 {
    assert_eq!(expected.len(), found.len(), "answers of one workload");
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
