// Against the formula in f64; and the property that a causal model is named for: what comes later changes nothing.

use exercise::candle_core::Tensor;
use exercise::{Fresh, Submission, Verdict, close_tensor, expect, values};

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    let mut attention = |q: &Tensor, k: &Tensor, v: &Tensor| {
        submission.call::<Tensor>("causal_attention", (q.clone(), k.clone(), v.clone()))
    };
    for (t, d) in [(1, 1), (2, 3), (5, 8), (17, 4)] {
        let [q, k, v] = [fresh.tensor(&[t, d])?, fresh.tensor(&[t, d])?, fresh.tensor(&[t, d])?];
        let y = attention(&q, &k, &v)?;
        let what = format!("attention at T = {t}, D = {d}");
        expect(y.dims() == [t, d], what, format!("the shape [{t}, {d}]"), format!("{:?}", y.dims()))?;
        let before = values(&y)?;
        // NaN is like no number, and so would seem to have changed below.
        let odd = before.iter().position(|x| !x.is_finite()).map(|i| i / d);
        let which = odd.map_or(String::new(), |row| format!("NaN or infinity at token {row}"));
        expect(odd.is_none(), format!("attention at T = {t}, D = {d}"), "numbers", which)?;
        if t > 1 {
            // Another last token: nothing before it may notice.
            let other = |x: &Tensor, fresh: &mut Fresh| Tensor::cat(&[&x.narrow(0, 0, t - 1)?, &fresh.tensor(&[1, d])?], 0);
            let (k, v) = (other(&k, fresh)?, other(&v, fresh)?);
            let after = values(&attention(&q, &k, &v)?)?;
            let earlier = (t - 1) * d;
            let first = (0..earlier).find(|&i| after.get(i) != Some(&before[i])).map(|i| i / d);
            let found = first.map_or(String::new(), |row| format!("token {row} changed"));
            expect(first.is_none(), format!("a change of token {} of {t}", t - 1), "no change before it", found)?;
        }
        close_tensor(format!("attention at T = {t}, D = {d}"), &y, &oracle(&q, &k, &v)?, 1e-4)?;
    }
    Ok(())
}

fn oracle(q: &Tensor, k: &Tensor, v: &Tensor) -> exercise::candle_core::Result<Vec<f64>> {
    let (t, d) = q.dims2()?;
    let (q, k, v) = (values(q)?, values(k)?, values(v)?);
    let row = |i: usize| -> Vec<f64> {
        let score = |j: usize| (0..d).map(|c| q[i * d + c] * k[j * d + c]).sum::<f64>() / (d as f64).sqrt();
        let weights: Vec<f64> = (0..=i).map(|j| score(j).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let value = |c: usize| (0..=i).map(|j| weights[j] / sum * v[j * d + c]).sum();
        (0..d).map(value).collect()
    };
    Ok((0..t).flat_map(row).collect())
}
