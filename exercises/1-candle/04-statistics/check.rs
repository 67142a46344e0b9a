// A clock whose first runs are slow, as those of a GPU are, and which has an outlier now and then.

use exercise::{Fresh, Submission, Verdict, expect};

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    for (warmup, samples) in [(0, 1), (1, 3), (2, 7), (3, 11), (5, 101)] {
        let mut times: Vec<f64> = fresh.numbers(warmup + samples, 1.).iter().map(|&x| 10. + f64::from(x)).collect();
        // The first runs are not like the others: they compile and allocate, or nobody waits for their end.
        let odd_ones = [500., 0.001].into_iter().cycle();
        times.iter_mut().take(warmup).zip(odd_ones).for_each(|(time, odd)| *time = odd);
        if samples > 10 {
            times[warmup + fresh.below(samples)] = 400.;
        }
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
    Ok(())
}
