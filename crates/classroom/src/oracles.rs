//! Oracles of the exercises' kernels, in f64 straight from the formula.

mod attention;
mod matmul;

use data::BadInput;

use crate::problem::Problem;

/// Computes the output of a launch from the arguments before it; `None` if it needs other arguments or sizes.
pub type Oracle = fn(&Problem) -> Option<Vec<f64>>;

const ALL: [(&str, Oracle); 19] = [
    ("attention", attention::attention),
    ("axpy", axpy),
    ("doubled", doubled),
    ("gemv", attention::gemv),
    ("histogram", histogram),
    ("layer_norm", layer_norm),
    ("linear_relu_residual", attention::linear_relu_residual),
    ("linear_swiglu", attention::linear_swiglu),
    ("matmul", matmul::matmul),
    ("matmul_transposed", matmul::matmul_transposed),
    (
        "matmul_transposed_exchanged",
        matmul::matmul_transposed_exchanged,
    ),
    ("prefix_sum", prefix_sum),
    ("rope", rope),
    ("row_argmax", row_argmax),
    ("row_max", row_max),
    ("scaled_columns", scaled_columns),
    ("scaled_columns_at", matmul::scaled_columns_at),
    ("softmax", softmax),
    ("transpose", transpose),
];

/// Returns the oracle of this name.
///
/// # Errors
/// There is no such oracle.
pub fn by_name(name: &str) -> Result<Oracle, BadInput> {
    let found = ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, oracle)| *oracle).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        BadInput::new("oracle", format!("one of {}", names.join(", ")), name)
    })
}

/// y = 2 x; x is argument 0.
fn doubled(p: &Problem) -> Option<Vec<f64>> {
    Some(p.arg(0)?.iter().map(|x| 2. * x).collect())
}

/// z = a x + y; arguments x, y, z, n, a.
fn axpy(p: &Problem) -> Option<Vec<f64>> {
    let a = p.arg(4)?.first()?;
    let terms = p.arg(0)?.iter().zip(p.arg(1)?);
    Some(terms.map(|(x, y)| a * x + y).collect())
}

/// y (rows, C): y_rc = x_rc w_c; arguments x (rows, C) and w (C).
fn scaled_columns(p: &Problem) -> Option<Vec<f64>> {
    let w = p.arg(1)?.iter().cycle();
    Some(p.arg(0)?.iter().zip(w).map(|(x, w)| x * w).collect())
}

/// y (rows): the maximum of each row of x (rows, columns).
fn row_max(p: &Problem) -> Option<Vec<f64>> {
    let rows = p.arg(0)?.chunks(p.size("columns")?);
    let max = |row: &[f64]| row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(rows.map(max).collect())
}

/// y (rows): the first column with the maximum of each row of x (rows, columns).
fn row_argmax(p: &Problem) -> Option<Vec<f64>> {
    let first = |row: &[f64]| {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter().position(|&x| x == max).map(|c| c as f64)
    };
    let rows = p.arg(0)?.chunks(p.size("columns")?);
    rows.map(first).collect()
}

/// y (rows, columns): Σ over i ≤ c of x_ri, for each column c of x (rows, columns).
fn prefix_sum(p: &Problem) -> Option<Vec<f64>> {
    let up_to = |sum: &mut f64, x: &f64| {
        *sum += x;
        Some(*sum)
    };
    let rows = p.arg(0)?.chunks(p.size("columns")?);
    Some(rows.flat_map(|row| row.iter().scan(0., up_to)).collect())
}

/// y (rows, 16): how many integers x of each row of (rows, columns) have ⌊x/16⌋ mod 16 = b.
fn histogram(p: &Problem) -> Option<Vec<f64>> {
    let bins = |row: &[f64]| {
        let mut counts = [0.; 16];
        for &x in row {
            counts[x as usize / 16 % 16] += 1.;
        }
        counts
    };
    let rows = p.arg(0)?.chunks(p.size("columns")?);
    Some(rows.flat_map(bins).collect())
}

/// y (rows, columns): exp(x − max x) / Σ exp(x − max x) over each row of x.
fn softmax(p: &Problem) -> Option<Vec<f64>> {
    let of_row = |row: &[f64]| -> Vec<f64> {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|x| (x - max).exp()).sum();
        row.iter().map(|x| (x - max).exp() / sum).collect()
    };
    let rows = p.arg(0)?.chunks(p.size("columns")?);
    Some(rows.flat_map(of_row).collect())
}

/// y (columns, rows): yᵀ = x (rows, columns).
fn transpose(p: &Problem) -> Option<Vec<f64>> {
    let (x, rows, columns) = (p.arg(0)?, p.size("rows")?, p.size("columns")?);
    let element = |i: usize| x.get(i % rows * columns + i / rows).copied();
    (0..rows.checked_mul(columns)?).map(element).collect()
}

/// (x − mean x)/√(var x + eps) ⊙ w + b over rows of C; arguments x, w, b, y, C, eps. Ba, Kiros and Hinton 2016.
fn layer_norm(p: &Problem) -> Option<Vec<f64>> {
    let (w, b, eps) = (p.arg(1)?, p.arg(2)?, p.arg(5)?.first()?);
    let normed = |row: &[f64]| -> Vec<f64> {
        let c = row.len() as f64;
        let mean = row.iter().sum::<f64>() / c;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / c;
        let unit = row.iter().map(|x| (x - mean) / (variance + eps).sqrt());
        unit.zip(w.iter().zip(b))
            .map(|(x, (w, b))| x * w + b)
            .collect()
    };
    let columns = Some(w.len()).filter(|&columns| columns > 0)?;
    Some(p.arg(0)?.chunks(columns).flat_map(normed).collect())
}

/// x (steps, D) with the pair (d, d + D/2) rotated by the angle whose cosine and sine are arguments 1 and 2
/// (steps, D/2). Su et al. 2021, with the halves as in Hugging Face.
fn rope(p: &Problem) -> Option<Vec<f64>> {
    let half = p.size("half")?;
    let x = p.arg(0)?.chunks_exact(half.checked_mul(2)?);
    let angles = p
        .arg(1)?
        .chunks_exact(half)
        .zip(p.arg(2)?.chunks_exact(half));
    let turned = |(x, (cos, sin)): (&[f64], (&[f64], &[f64]))| {
        let first = (0..half).map(|d| x[d] * cos[d] - x[d + half] * sin[d]);
        let second = (0..half).map(|d| x[d + half] * cos[d] + x[d] * sin[d]);
        first.chain(second).collect::<Vec<_>>()
    };
    Some(x.zip(angles).flat_map(turned).collect())
}
