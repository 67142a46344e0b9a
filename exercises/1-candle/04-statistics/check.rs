// A clock whose first runs are slow, as those of a GPU are, and which has an outlier now and then.

use exercise::{Fresh, Submission, Verdict, compare, expect};

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    for (warmup, samples) in [(0, 1), (1, 3), (2, 7), (3, 11), (5, 101)] {
        let times = clock(fresh, warmup, samples);
        let (found, runs): ([f64; 3], usize) = submission.call("summary", (times.clone(), warmup, samples))?;
        let count = |n: usize, name: &str| format!("{n} {name}{}", if n == 1 { "" } else { "s" });
        let what = format!("{} to warm up, {}", count(warmup, "run"), count(samples, "sample"));
        expect(runs == warmup + samples, format!("{what}: runs"), warmup + samples, runs)?;
        let mut counted = times[warmup..].to_vec();
        counted.sort_by(f64::total_cmp);
        let at = |share: f64| counted[(share * (samples - 1) as f64).round() as usize];
        let expected = [at(0.5), at(0.1), at(0.9)];
        for ((name, f), e) in ["median", "low", "high"].iter().zip(found).zip(expected) {
            expect(f == e, format!("{what}: {name}"), e, f)?;
        }
    }
    compare_reports(fresh, submission)
}

/// Times of runs that take 9 to 11, but for those that warm up and an outlier.
fn clock(fresh: &mut Fresh, warmup: usize, samples: usize) -> Vec<f64> {
    let mut times: Vec<f64> = fresh.numbers(warmup + samples, 1.).iter().map(|&x| 10. + f64::from(x)).collect();
    // The first runs are not like the others: they compile and allocate, or the clock stops before they end.
    let odd_ones = [500., 0.001].into_iter().cycle();
    times.iter_mut().take(warmup).zip(odd_ones).for_each(|(time, odd)| *time = odd);
    if samples > 10 {
        times[warmup + fresh.below(samples)] = 400.;
    }
    times
}

/// Compares the report on runs that take 9 to 11 with the starter's, which counts the runs to warm up.
fn compare_reports(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    let (warmup, samples) = (5, 101);
    let times = clock(fresh, warmup, samples);
    let (median, low) = (times[0], times.iter().copied().fold(f64::INFINITY, f64::min));
    let high = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (own, _): ([f64; 3], usize) = submission.call("summary", (times, warmup, samples))?;
    let thousandths = |time: f64| (1000. * time).round() as usize;
    let counters = [
        ("median", thousandths(median), thousandths(own[0])),
        ("from low to high", thousandths(high - low), thousandths(own[2] - own[1])),
    ];
    let at = format!("{warmup} warm-up runs, {} samples of 9000 to 11000, one of 400000", samples - 1);
    compare(&at, "starter", &counters);
    Ok(())
}
