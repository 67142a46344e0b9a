//! Oracles of the exercises on matmul.

use crate::problem::Problem;

/// y = a b; arguments a (rows, inner) and b (inner, columns).
pub fn matmul(p: &Problem) -> Option<Vec<f64>> {
    let columns = p.size("columns")?;
    let b = p.arg(1)?;
    product(p, columns, |k, c| b.get(k * columns + c))
}

/// y = a bᵀ; arguments a (rows, inner) and b (columns, inner), as the weights of a linear layer are stored.
pub fn matmul_transposed(p: &Problem) -> Option<Vec<f64>> {
    let inner = p.size("inner")?;
    let b = p.arg(1)?;
    product(p, p.size("columns")?, |k, c| b.get(c * inner + k))
}

/// The same with the second and third register of mma.sync's fragment of a exchanged: in each tile of 16 × 16, the upper
/// right and the lower left quarter.
pub fn matmul_transposed_exchanged(p: &Problem) -> Option<Vec<f64>> {
    let inner = p.size("inner")?;
    let a = p.arg(0)?;
    let element = |i: usize| {
        let (row, k) = (i / inner, i % inner);
        let flip = (row ^ k) & 8;
        a.get((row ^ flip) * inner + (k ^ flip)).copied()
    };
    let mut exchanged = p.clone();
    *exchanged.args.first_mut()? = (0..a.len()).map(element).collect::<Option<_>>()?;
    matmul_transposed(&exchanged)
}

/// Returns a b, where `b` gives an element by row and column.
fn product<'b>(
    p: &Problem,
    columns: usize,
    b: impl Fn(usize, usize) -> Option<&'b f64>,
) -> Option<Vec<f64>> {
    let rows = p.arg(0)?.chunks(p.size("inner")?);
    let elements = rows.flat_map(|row| (0..columns).map(move |c| (row, c)));
    let element = |(row, c): (&[f64], usize)| {
        let terms = row.iter().enumerate().map(|(k, a)| Some(a * b(k, c)?));
        terms.sum()
    };
    elements.map(element).collect()
}

/// y (rows, columns): y_rc = x_rc w_c; arguments x and w, which begin at the elements `shift` and `w_shift` of their buffers.
pub fn scaled_columns_at(p: &Problem) -> Option<Vec<f64>> {
    let shift = |name| usize::try_from(*p.sizes.get(name)?).ok();
    let w = p.arg(1)?.get(shift("w_shift")?..)?.iter().cycle();
    let x = p.arg(0)?.get(shift("shift")?..)?;
    Some(x.iter().zip(w).map(|(x, w)| x * w).collect())
}
