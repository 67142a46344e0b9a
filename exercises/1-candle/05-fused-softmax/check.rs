// The result against the formula in f64, on rows of odd lengths and with large scores; and the tensors made.

use exercise::candle_core::{DType, Tensor};
use exercise::{Fresh, Submission, Verdict, close_tensor, compare, expect, values};

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    for shape in [&[1, 1][..], &[3, 7], &[2, 3, 5, 33], &[4, 1000]] {
        let scale = 0.1 + fresh.below(40) as f64;
        let x = (fresh.tensor(shape)? * 30.)?;
        let y: Tensor = submission.call("fused", (x.clone(), scale))?;
        expect(y.dims() == shape, "shape of the result", format!("{shape:?}"), format!("{:?}", y.dims()))?;
        let expected = oracle(&x, scale)?;
        close_tensor(format!("softmax at {shape:?}, scale {scale}"), &y, &expected, 1e-4)?;
        // An operation of candle takes any format; a loop of one's own over f32 does not.
        let y: Tensor = submission.call("fused", (x.to_dtype(DType::F64)?, scale))?;
        close_tensor(format!("softmax of f64 at {shape:?}, scale {scale}"), &y, &expected, 1e-9)?;
    }
    let x = fresh.tensor(&[8, 64])?;
    let (y, tensors, bytes): (Tensor, usize, usize) = submission.call("counted", (x.clone(), 0.125))?;
    close_tensor("softmax at [8, 64], scale 0.125", &y, &oracle(&x, 0.125)?, 1e-4)?;
    expect(tensors <= 2, "tensors made by one call", "at most 2", tensors)?;
    let naive: (Tensor, usize, usize) = submission.call("naive", (x, 0.125))?;
    let counters = [("tensors made by one call", naive.1, tensors), ("bytes allocated by it", naive.2, bytes)];
    compare("[8, 64]", "naive", &counters);
    Ok(())
}

fn oracle(x: &Tensor, scale: f64) -> exercise::candle_core::Result<Vec<f64>> {
    let columns = x.dims().last().copied().unwrap_or(1);
    let softmax = |row: &[f64]| -> Vec<f64> {
        let scaled = || row.iter().map(|x| x * scale);
        let max = scaled().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scaled().map(|x| (x - max).exp()).sum();
        scaled().map(|x| (x - max).exp() / sum).collect()
    };
    Ok(values(x)?.chunks(columns).flat_map(softmax).collect())
}
