//! Statistics of samples.

pub use models::trace::profile::Spread;
pub use models::trace::quantile;

/// Returns the maximum difference of two answers, relative to the maximum of the first.
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

/// Formats with three significant digits.
pub fn significant(x: f64) -> String {
    let digits = (2 - x.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{x:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        let texts = [0.01234, 0.98, 1.234, 45.67, 1234.5].map(significant);
        assert_eq!(texts, ["0.0123", "0.980", "1.23", "45.7", "1234"]);
    }

    #[test]
    fn differences_are_relative_to_the_largest_logit() {
        assert_eq!(relative_difference(&[1., -4.], &[1., -4.]), 0.);
        assert_eq!(relative_difference(&[1., -4.], &[1.5, -4.]), 0.125);
        assert_eq!(relative_difference(&[0., 0.], &[0., 0.]), 0.);
    }
}
