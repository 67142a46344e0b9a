// The three against products in f64; and that they are views of one tensor, with no copy behind it.

use exercise::candle_core::Tensor;
use exercise::{Fresh, Submission, Verdict, close_tensor, compare, expect, values};

/// q, k and v; the tensors made, the strides of the three, and whether they share their memory.
type Views = ([Tensor; 3], usize, Vec<Vec<usize>>, bool);

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    for (t, c) in [(1, 1), (3, 5), (7, 32), (33, 12)] {
        let (x, w) = (fresh.tensor(&[t, c])?, fresh.tensor(&[3 * c, c])?);
        let parts: [Tensor; 3] = submission.call("one_product", (x.clone(), w.clone()))?;
        for (number, (name, part)) in ["q", "k", "v"].iter().zip(&parts).enumerate() {
            let what = format!("{name} at T = {t}, C = {c}");
            expect(part.dims() == [t, c], &what, format!("the shape [{t}, {c}]"), format!("{:?}", part.dims()))?;
            close_tensor(&what, part, &product(&x, &w, number)?, 1e-4)?;
        }
    }
    let (x, w) = (fresh.tensor(&[8, 16])?, fresh.tensor(&[48, 16])?);
    let (parts, tensors, strides, shared): Views = submission.call("views", (x.clone(), w.clone()))?;
    for (number, part) in parts.iter().enumerate() {
        close_tensor("q, k or v at T = 8, C = 16", part, &product(&x, &w, number)?, 1e-4)?;
    }
    expect(tensors <= 10, "tensors made, views included", "at most 10", tensors)?;
    let rows = strides.iter().all(|stride| stride == &[48, 1]);
    expect(rows, "rows of q, k and v", "views of one tensor (T, 3·C): strides [48, 1]", format!("{strides:?}"))?;
    expect(shared, "q, k and v", "one product that all three look at", "several")?;
    let before: usize = submission.call("before", (x, w))?;
    compare("T = 8, C = 16", "three_products", &[("tensors made, views included", before, tensors)]);
    Ok(())
}

/// Part `number` of x · wᵀ, in f64.
fn product(x: &Tensor, w: &Tensor, number: usize) -> exercise::candle_core::Result<Vec<f64>> {
    let (t, c) = x.dims2()?;
    let (x, w) = (values(x)?, values(w)?);
    let dot = |i: usize, j: usize| (0..c).map(|k| x[i * c + k] * w[(number * c + j) * c + k]).sum();
    Ok((0..t * c).map(|at| dot(at / c, at % c)).collect())
}
