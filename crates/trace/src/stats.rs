//! Statistics of samples.

/// Returns the quantile `q` of the samples, with linear interpolation (definition 7 of Hyndman and Fan,
/// "Sample quantiles in statistical packages", 1996); NaN without samples.
pub fn quantile(samples: &[f64], q: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let at = q.clamp(0., 1.) * last as f64;
    let (below, above) = (at.floor() as usize, at.ceil() as usize);
    sorted[below] + (at - at.floor()) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let samples = [4., 1., 3., 2.];
        assert_eq!(quantile(&samples, 0.), 1.);
        assert_eq!(quantile(&samples, 0.5), 2.5);
        assert_eq!(quantile(&samples, 0.1), 1.3);
        assert_eq!(quantile(&samples, 1.), 4.);
        assert_eq!(quantile(&[7.], 0.9), 7.);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn one_slow_sample_does_not_move_the_median() {
        assert_eq!(quantile(&[1., 1., 1., 1., 100.], 0.5), 1.);
    }
}
