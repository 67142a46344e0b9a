// Against the formula in f64.

use exercise::candle_core::Tensor;
use exercise::{Fresh, Submission, Verdict, close_tensor, compare, expect, values};

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    for (t, c, f) in [(1, 1, 1), (3, 4, 5), (7, 16, 33)] {
        let (x, w) = ((fresh.tensor(&[t, c])? * 3.)?, fresh.tensor(&[2 * f, c])?);
        let y: Tensor = submission.call("swiglu", (x.clone(), w.clone()))?;
        let what = format!("swiglu at T = {t}, C = {c}, F = {f}");
        expect(y.dims() == [t, f], &what, format!("the shape [{t}, {f}]"), format!("{:?}", y.dims()))?;
        let (x, w) = (values(&x)?, values(&w)?);
        let product = |i: usize, j: usize| -> f64 { (0..c).map(|k| x[i * c + k] * w[j * c + k]).sum() };
        let silu = |z: f64| z / (1. + (-z).exp());
        let element = |at: usize| silu(product(at / f, at % f)) * product(at / f, f + at % f);
        let expected: Vec<f64> = (0..t * f).map(element).collect();
        close_tensor(what, &y, &expected, 1e-4)?;
    }
    let operands = (fresh.tensor(&[7, 16])?, fresh.tensor(&[66, 16])?);
    let [before, own] = ["before", "now"].map(|name| submission.call::<(usize, usize)>(name, operands.clone()));
    let (before, own) = (before?, own?);
    let counters = [("tensors made by one call", before.0, own.0), ("bytes allocated by it", before.1, own.1)];
    compare("T = 7, C = 16, F = 33", "starter", &counters);
    Ok(())
}
