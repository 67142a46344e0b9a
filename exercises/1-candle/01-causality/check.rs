// Against the formula in f64; and the property that a causal model is named for: what comes later changes nothing.

use std::error::Error;

use exercise::candle_core::{DType, Device, Tensor};
use exercise::{Fresh, Submission, Verdict, close_tensor, compare, expect, values};

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
    compare_weights(fresh, submission)
}

/// Compares with attention without a mask: weights above 0, and rows that a later token changes.
fn compare_weights(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    let t = 17;
    let [q, k] = [fresh.tensor(&[t, t])?, fresh.tensor(&[t, t])?];
    let other = Tensor::cat(&[&k.narrow(0, 0, t - 1)?, &fresh.tensor(&[1, t])?], 0)?;
    let before = seen("without_mask", submission, &q, [&k, &other])?;
    let own = seen("causal_attention", submission, &q, [&k, &other])?;
    let counters = [
        ("earlier rows that a new last token changes", before.0, own.0),
        ("weights above 0", before.1, own.1),
    ];
    compare(&format!("T = {t}"), "no mask", &counters);
    Ok(())
}

/// The rows before the last one that differ between two tensors of keys, and the weights above 0 with the first of them.
fn seen(
    name: &str,
    submission: &mut Submission,
    q: &Tensor,
    keys: [&Tensor; 2],
) -> Result<(usize, usize), Box<dyn Error>> {
    let t = q.dim(0)?;
    // With the identity for v, the result is the weights.
    let v = Tensor::eye(t, DType::F32, &Device::Cpu)?;
    let mut weights = |k: &Tensor| -> Result<Vec<f64>, Box<dyn Error>> {
        let weights: Tensor = submission.call(name, (q.clone(), k.clone(), v.clone()))?;
        Ok(values(&weights)?)
    };
    let (first, second) = (weights(keys[0])?, weights(keys[1])?);
    let rows = first.chunks(t).zip(second.chunks(t)).take(t - 1);
    let changed = rows.filter(|(one, other)| one != other).count();
    Ok((changed, first.iter().filter(|weight| **weight > 0.).count()))
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
