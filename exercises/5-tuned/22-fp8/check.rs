// Rows of weights of all sizes survive the way there and back; each code is a number of E4M3.

use crate::submission::{dequantise, e4m3, quantise};
use exercise::{Fresh, Verdict, expect};

pub fn check(fresh: &mut Fresh) -> Verdict {
    for bound in [1e-3, 0.02, 1., 30., 5000.] {
        let len = 1 + fresh.below(300);
        let mut row = fresh.numbers(len, bound);
        // The greatest weight is a negative one, by far.
        row[fresh.below(len)] = -1.5 * bound;
        let amax = row.iter().fold(0f32, |max, x| max.max(x.abs()));
        let stored = quantise(&row);
        expect(stored.codes.len() == len, "codes of a row", len, stored.codes.len())?;
        let largest = stored.codes.iter().fold(0f32, |max, x| max.max(x.abs()));
        let what = format!("the greatest code of weights below {bound}");
        expect(largest == 448., what, "448: the whole range is used", largest)?;
        for (i, code) in stored.codes.iter().enumerate() {
            let what = format!("code {i} of a row up to {amax}");
            expect(e4m3(*code) == *code, what, "a number of E4M3", code)?;
        }
        for (i, (x, y)) in row.iter().zip(dequantise(&stored)).enumerate() {
            // Half a step: a sixteenth of the weight, or of the least normal number.
            let bound = (x.abs() / 16.).max(amax / 448. / 1024.) * 1.001;
            let what = format!("weight {i} of a row up to {amax}, there and back");
            expect((x - y).abs() <= bound, what, x, y)?;
        }
    }
    let stored = quantise(&[0., 0.]);
    expect(stored.codes == [0., 0.], "the codes of a row of zeros", "[0, 0]", format!("{:?}", stored.codes))?;
    let zeros = dequantise(&stored);
    expect(zeros == [0., 0.], "a row of zeros, there and back", "[0, 0]", format!("{zeros:?}"))
}
