// How the check calls the submission: with a clock that shows `times`, one after the other.

use exercise::Calls;
use submission::{Summary, summary};

pub fn calls(calls: &mut Calls) {
    calls.add("summary", |(times, warmup, samples): (Vec<f64>, usize, usize)| {
        let mut runs = 0;
        let run = || {
            runs += 1;
            times.get(runs - 1).copied().unwrap_or(f64::NAN)
        };
        let Summary { median, low, high } = summary(run, warmup, samples);
        Ok(([median, low, high], runs))
    });
}
