// Sizes and GPUs at random, so that each of the three limits dominates in many cases.

use exercise::{Fresh, Submission, Verdict, compare, expect};

/// FLOPs and bytes.
type Cost = (f64, f64);

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    let size = |fresh: &mut Fresh| match fresh.below(4) {
        0 => 1,
        1 => 1 + fresh.below(100),
        _ => 1 + fresh.below(5000),
    };
    for _ in 0..50 {
        let (m, n, k) = (size(fresh), size(fresh), size(fresh));
        let bf16 = fresh.below(2) == 1;
        let (name, of_one) = if bf16 { ("bf16", 2.) } else { ("f32", 4.) };
        let [m_, n_, k_] = [m, n, k].map(|n| n as f64);
        let found: Cost = submission.call("matmul", (m, n, k, bf16))?;
        let expected = (2. * m_ * n_ * k_, of_one * (m_ * k_ + n_ * k_ + m_ * n_));
        same(&format!("matmul of m = {m}, n = {n}, k = {k} in {name}"), found, expected)?;
        let found: Cost = submission.call("rms_norm", (m, k, bf16))?;
        let expected = (4. * m_ * k_, of_one * (2. * m_ * k_ + k_));
        same(&format!("rms_norm of {m} rows, {k} columns in {name}"), found, expected)?;
    }
    let mut share = |least: f64, most: f64| {
        let [at] = fresh.numbers(1, 1.)[..] else { return least };
        least * (most / least).powf(f64::from(at) / 2. + 0.5)
    };
    for round in 0..200usize {
        let gpu = [share(10., 1000.), share(0.3, 8.), share(0.5, 10.)];
        let launches = 1 + round % 5;
        let empty = launches as f64 * gpu[2];
        // The times of arithmetic and memory lie on both sides of that of the launches.
        let times = [share(0.1, 10.) * empty, share(0.1, 10.) * empty, empty];
        let cost = ((times[0] * gpu[0] * 1e6).round(), (times[1] * gpu[1] * 1e6).round());
        let [mut expected, mut limit] = [empty, 0.];
        let names = ["launch", "arithmetic", "memory"];
        for (which, time) in [(1., cost.0 / gpu[0] / 1e6), (2., cost.1 / gpu[1] / 1e6)] {
            if time > expected {
                (expected, limit) = (time, which);
            }
        }
        let (found, of): (f64, String) = submission.call("time", (cost, launches, gpu))?;
        let what = format!(
            "{} FLOPs, {} bytes, {launches} launches on {:.1} TFLOP/s, {:.2} TB/s, {:.2} µs",
            cost.0, cost.1, gpu[0], gpu[1], gpu[2]
        );
        let is_close = (found - expected).abs() <= 1e-6 * expected;
        expect(is_close, format!("time of {what}"), format!("{expected:.4} µs"), format!("{found:.4} µs"))?;
        let named = names[limit as usize];
        expect(of == named, format!("limit of {what}"), named, of)?;
    }
    compare_traffic(submission)
}

/// Compares the page's first matmul with one that reads both operands of each multiplication from memory.
fn compare_traffic(submission: &mut Submission) -> Verdict {
    let (m, n, k) = (512usize, 4096usize, 4096usize);
    let own: Cost = submission.call("matmul", (m, n, k, true))?;
    let bytes_of_bf16 = 2;
    let no_reuse: Cost = (own.0, (bytes_of_bf16 * (2 * m * n * k + m * n)) as f64);
    let mut time = |cost: Cost| submission.call::<(f64, String)>("time", (cost, 1usize, [990f64, 4.8, 2.]));
    let times = (time(no_reuse)?.0, time(own)?.0);
    let rounded = |number: f64| number.round() as usize;
    let counters = [
        ("megabytes of operands and result", rounded(no_reuse.1 / 1e6), rounded(own.1 / 1e6)),
        ("minimum time in µs", rounded(times.0), rounded(times.1)),
    ];
    compare(&format!("m = {m}, n = {n}, k = {k} in bf16"), "no reuse", &counters);
    Ok(())
}

fn same(what: &str, found: Cost, expected: Cost) -> Verdict {
    expect(found.0 == expected.0, format!("FLOPs of a {what}"), expected.0, found.0)?;
    expect(found.1 == expected.1, format!("bytes of a {what}"), expected.1, found.1)
}
