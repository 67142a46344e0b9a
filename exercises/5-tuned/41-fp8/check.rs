// Rows of weights of all sizes survive the way there and back; each code is a number of E4M3.

use exercise::{Fresh, Submission, Verdict, compare, expect};

/// The codes of a row, and the row that they stand for.
type ThereAndBack = (Vec<f32>, Vec<f32>);

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    for bound in [1e-3, 0.02, 1., 30., 5000.] {
        let len = 1 + fresh.below(300);
        let mut row = fresh.numbers(len, bound);
        // The greatest weight is a negative one, by far.
        row[fresh.below(len)] = -1.5 * bound;
        let amax = row.iter().fold(0f32, |max, x| max.max(x.abs()));
        let (codes, back): ThereAndBack = submission.call("there_and_back", (row.clone(),))?;
        expect(codes.len() == len, "codes of a row", len, codes.len())?;
        expect(back.len() == len, "weights of a row, there and back", len, back.len())?;
        let largest = codes.iter().fold(0f32, |max, x| max.max(x.abs()));
        let what = format!("the greatest code of weights below {bound}");
        expect(largest == 448., what, "448: the whole range is used", largest)?;
        for (i, code) in codes.iter().enumerate() {
            let what = format!("code {i} of a row up to {amax}");
            expect(e4m3(*code) == *code, what, "a number of E4M3", code)?;
        }
        for (i, (x, y)) in row.iter().zip(back).enumerate() {
            // Half a step: a sixteenth of the weight, or of the least normal number.
            let bound = (x.abs() / 16.).max(amax / 448. / 1024.) * 1.001;
            let what = format!("weight {i} of a row up to {amax}, there and back");
            expect((x - y).abs() <= bound, what, x, y)?;
        }
    }
    let (codes, zeros): ThereAndBack = submission.call("there_and_back", (vec![0f32, 0.],))?;
    expect(codes == [0., 0.], "the codes of a row of zeros", "[0, 0]", format!("{codes:?}"))?;
    expect(zeros == [0., 0.], "a row of zeros, there and back", "[0, 0]", format!("{zeros:?}"))?;
    compare_weights(fresh, submission)
}

/// Compares with the starter, whose weights come back as 0.
fn compare_weights(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    let row = fresh.numbers(256, 0.02);
    let amax = row.iter().fold(0f32, |max, x| max.max(x.abs()));
    let before: Vec<f32> = submission.call("by_starter", (row.clone(),))?;
    let (_, own): ThereAndBack = submission.call("there_and_back", (row.clone(),))?;
    let zeros = |back: &[f32]| row.iter().zip(back).filter(|(x, y)| **x != 0. && **y == 0.).count();
    let error = |back: &[f32]| {
        let largest = row.iter().zip(back).fold(0f32, |max, (x, y)| max.max((x - y).abs()));
        (1000. * largest / amax).round() as usize
    };
    let counters = [
        ("weights that come back as 0", zeros(&before), zeros(&own)),
        ("largest error, thousandths of the largest weight", error(&before), error(&own)),
    ];
    compare(&format!("{} weights up to ±0.02", row.len()), "starter", &counters);
    Ok(())
}

/// The nearest number of E4M3, ties to even; beyond 448, 448.
fn e4m3(x: f32) -> f32 {
    let magnitude = x.abs().min(448.);
    // Below 2⁻⁶ numbers are 2⁻⁹ apart, above it an eighth of their power of two.
    let exponent = if magnitude < 0.015_625 { -6. } else { magnitude.log2().floor() };
    let step = (exponent - 3.).exp2();
    ((magnitude / step).round_ties_even() * step).min(448.).copysign(x)
}
