// The three against products in f64; and that they are views of one tensor, with no copy behind it.

use crate::submission::one_product;
use exercise::candle_core::Tensor;
use exercise::{Fresh, Verdict, close_tensor, expect, trace, values};

pub fn check(fresh: &mut Fresh) -> Verdict {
    for (t, c) in [(1, 1), (3, 5), (7, 32), (33, 12)] {
        let (x, w) = (fresh.tensor(&[t, c])?, fresh.tensor(&[3 * c, c])?);
        let parts = one_product(&x, &w)?;
        for (number, (name, part)) in ["q", "k", "v"].iter().zip(&parts).enumerate() {
            let what = format!("{name} at T = {t}, C = {c}");
            expect(part.dims() == [t, c], &what, format!("the shape [{t}, {c}]"), format!("{:?}", part.dims()))?;
            close_tensor(&what, part, &product(&x, &w, number)?, 1e-4)?;
        }
    }
    let (x, w) = (fresh.tensor(&[8, 16])?, fresh.tensor(&[48, 16])?);
    let (parts, tensors) = trace::count_tensors(|| one_product(&x, &w))?;
    expect(tensors <= 10, "tensors made, views included", "at most 10", tensors)?;
    let strides = parts.each_ref().map(|part| part.stride().to_vec());
    let shared = strides.iter().all(|stride| stride == &[48, 1]);
    expect(shared, "rows of q, k and v", "views of one tensor (T, 3·C): strides [48, 1]", format!("{strides:?}"))?;
    let memory = parts.each_ref().map(|part| std::ptr::from_ref(&*part.storage_and_layout().0));
    expect(memory.iter().all(|m| *m == memory[0]), "q, k and v", "one product that all three look at", "several")
}

/// Part `number` of x · wᵀ, in f64.
fn product(x: &Tensor, w: &Tensor, number: usize) -> exercise::candle_core::Result<Vec<f64>> {
    let (t, c) = x.dims2()?;
    let (x, w) = (values(x)?, values(w)?);
    let dot = |i: usize, j: usize| (0..c).map(|k| x[i * c + k] * w[(number * c + j) * c + k]).sum();
    Ok((0..t * c).map(|at| dot(at / c, at % c)).collect())
}
