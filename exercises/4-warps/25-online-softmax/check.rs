// Against two passes in f64; in one piece, and merged from pieces as the lanes of a warp would. And that no row is kept.

use std::error::Error;

use exercise::{Fresh, Submission, Verdict, close, compare, expect, noise};

/// Maximum and sum.
type Stats = (f32, f32);

const NOTHING: Stats = (f32::NEG_INFINITY, 0.);

/// Numbers of a row: in f32 they are 16 MiB, more than the stack of a thread.
const MANY: usize = 1 << 22;

/// Bytes that `stats` may ask for, however long the row.
const KEPT: usize = 10_000;

/// Bytes by which the process may grow meanwhile, also outside the heap: three times what the solution grows by, and a
/// quarter of the row at one byte per number.
const GROWN: usize = 1 << 20;

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    // First, while the process is small.
    let seed = fresh.seed();
    let (found, bytes): (Stats, usize) = submission.call("stats_of_noise", (seed, MANY, 128f32))?;
    let what = format!("stats of {MANY} numbers, seen once");
    let expected = format!("fewer than {KEPT}: the numbers are not kept");
    expect(bytes < KEPT, format!("bytes that {what}, allocates"), expected, bytes)?;
    if let Some(grown) = submission.grown() {
        let expected = format!("fewer than {GROWN}: the numbers are kept nowhere");
        expect(grown < GROWN, format!("bytes by which the process grows during {what}"), expected, grown)?;
    }
    let of_none: Stats = submission.call("stats", (Vec::<f32>::new(),))?;
    same("stats of no number", of_none)?;
    let mut held = Held { submission };
    for len in [1, 2, 31, 1000] {
        // Far apart, so that a sum of differences from another maximum overflows or vanishes.
        let shift = 200. * (fresh.below(5) as f32 - 2.);
        let row: Vec<f32> = fresh.numbers(len, 100.).iter().map(|x| x + shift).collect();
        held.whole(&format!("{len} numbers"), &row)?;
        held.merged(&format!("{len} numbers"), &row)?;
        // A row with some masked scores at its beginning, as many as a part may have.
        let masked = 1 + fresh.below(len);
        let row = [vec![f32::NEG_INFINITY; masked], row].concat();
        let what = format!("{len} numbers after {masked} of −∞");
        held.whole(&what, &row)?;
        held.merged(&what, &row)?;
    }
    // In f32, millions of terms add up to an error of their own.
    of_row(&what, found, || noise(seed, MANY, 128.), 1e-2)?;
    let nothing = held.merge(NOTHING, NOTHING)?;
    same("NOTHING merged with NOTHING", nothing)?;
    let before: usize = submission.call("two_passes", (seed, MANY, 128f32))?;
    compare(&format!("{MANY} numbers"), "two passes", &[("bytes allocated for them", before, bytes)]);
    Ok(())
}

fn same(what: &str, found: Stats) -> Verdict {
    let text = |(max, sum): Stats| format!("Stats {{ max: {max:?}, sum: {sum:?} }}");
    expect(found == NOTHING, what, format!("NOTHING, {}", text(NOTHING)), text(found))
}

/// A submission whose results are compared.
struct Held<'s> {
    submission: &'s mut Submission,
}

impl Held<'_> {
    fn stats(&mut self, row: &[f32]) -> Result<Stats, Box<dyn Error>> {
        self.submission.call("stats", (row.to_vec(),))
    }

    fn merge(&mut self, a: Stats, b: Stats) -> Result<Stats, Box<dyn Error>> {
        self.submission.call("merge", (a, b))
    }

    fn whole(&mut self, what: &str, row: &[f32]) -> Verdict {
        let found = self.stats(row)?;
        of_row(&format!("stats of {what}"), found, || row.iter().copied(), 1e-4)
    }

    /// The parts of a row, merged in either order.
    fn merged(&mut self, what: &str, row: &[f32]) -> Verdict {
        let mut all = NOTHING;
        for part in row.chunks(row.len().div_ceil(4)) {
            let part = self.stats(part)?;
            all = self.merge(all, part)?;
        }
        of_row(&format!("{what}, merged from parts"), all, || row.iter().copied(), 1e-4)?;
        let mut all = NOTHING;
        for part in row.chunks(3).rev() {
            let part = self.stats(part)?;
            all = self.merge(part, all)?;
        }
        of_row(&format!("{what}, merged backwards"), all, || row.iter().copied(), 1e-4)
    }
}

fn of_row<I: Iterator<Item = f32>>(what: &str, found: Stats, row: impl Fn() -> I, tolerance: f64) -> Verdict {
    let max = row().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row().map(|x| f64::from(x - max).exp()).sum();
    let found = [found.0, found.1].map(f64::from);
    close(format!("{what} (max, then sum)"), &found, &[f64::from(max), sum], tolerance)
}
