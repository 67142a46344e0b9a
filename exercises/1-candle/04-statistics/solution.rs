// Statistics of a repeated benchmark.

/// Quantiles of the samples, in the unit of the clock. Quantile s is the sample with the index
/// round(s * (samples - 1)) after sorting, where s is 0.5, 0.1 or 0.9.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Half of the samples took less.
    pub median: f64,
    /// A tenth of the samples took less.
    pub low: f64,
    /// A tenth of the samples took more.
    pub high: f64,
}

/// Calls `run`, which returns its time, `warmup` times uncounted, then `samples` (odd) times.
pub fn summary(mut run: impl FnMut() -> f64, warmup: usize, samples: usize) -> Summary {
    // REGION: summary
    for _ in 0..warmup {
        run();
    }
    let mut times: Vec<f64> = (0..samples).map(|_| run()).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[(share * (samples - 1) as f64).round() as usize];
    Summary { median: at(0.5), low: at(0.1), high: at(0.9) }
    // END
}
