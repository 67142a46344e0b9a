//! Oracles of the exercises' kernels, in f64 straight from the formula.

use data::BadInput;

use crate::problem::Problem;

/// Computes the output of a launch from the arguments before it.
pub type Oracle = fn(&Problem) -> Vec<f64>;

const ALL: [(&str, Oracle); 8] = [
    ("axpy", axpy),
    ("doubled", doubled),
    ("layer_norm", layer_norm),
    ("rope", rope),
    ("row_sum", row_sum),
    ("scaled_columns", scaled_columns),
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
fn doubled(p: &Problem) -> Vec<f64> {
    p.args[0].iter().map(|x| 2. * x).collect()
}

/// z = a x + y; arguments x, y, z, n, a.
fn axpy(p: &Problem) -> Vec<f64> {
    let a = p.args[4][0];
    p.args[0]
        .iter()
        .zip(&p.args[1])
        .map(|(x, y)| a * x + y)
        .collect()
}

/// y (rows, C): y_rc = x_rc w_c; arguments x (rows, C) and w (C).
fn scaled_columns(p: &Problem) -> Vec<f64> {
    let w = p.args[1].iter().cycle();
    p.args[0].iter().zip(w).map(|(x, w)| x * w).collect()
}

/// y (rows): the sum of each row of x (rows, columns).
fn row_sum(p: &Problem) -> Vec<f64> {
    p.args[0]
        .chunks(p.size("columns"))
        .map(|row| row.iter().sum())
        .collect()
}

/// y (rows, columns): exp(x − max x) / Σ exp(x − max x) over each row of x.
fn softmax(p: &Problem) -> Vec<f64> {
    let of_row = |row: &[f64]| -> Vec<f64> {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|x| (x - max).exp()).sum();
        row.iter().map(|x| (x - max).exp() / sum).collect()
    };
    p.args[0]
        .chunks(p.size("columns"))
        .flat_map(of_row)
        .collect()
}

/// y (columns, rows): yᵀ = x (rows, columns).
fn transpose(p: &Problem) -> Vec<f64> {
    let (rows, columns) = (p.size("rows"), p.size("columns"));
    let element = |i: usize| p.args[0][i % rows * columns + i / rows];
    (0..rows * columns).map(element).collect()
}

/// (x − mean x)/√(var x + eps) ⊙ w + b over rows of C; arguments x, w, b, y, C, eps. Ba, Kiros and Hinton 2016.
fn layer_norm(p: &Problem) -> Vec<f64> {
    let (w, b, eps) = (&p.args[1], &p.args[2], p.args[5][0]);
    let normed = |row: &[f64]| -> Vec<f64> {
        let c = row.len() as f64;
        let mean = row.iter().sum::<f64>() / c;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / c;
        let unit = row.iter().map(|x| (x - mean) / (variance + eps).sqrt());
        unit.zip(w.iter().zip(b))
            .map(|(x, (w, b))| x * w + b)
            .collect()
    };
    p.args[0].chunks(w.len()).flat_map(normed).collect()
}

/// x (steps, D) with the pair (d, d + D/2) rotated by the angle whose cosine and sine are arguments 1 and 2
/// (steps, D/2). Su et al. 2021, with the halves as in Hugging Face.
fn rope(p: &Problem) -> Vec<f64> {
    let half = p.size("half");
    let turned = |t: usize| {
        let x = &p.args[0][t * 2 * half..][..2 * half];
        let (cos, sin) = (
            &p.args[1][t * half..][..half],
            &p.args[2][t * half..][..half],
        );
        let first = (0..half).map(|d| x[d] * cos[d] - x[d + half] * sin[d]);
        let second = (0..half).map(|d| x[d + half] * cos[d] + x[d] * sin[d]);
        first.chain(second).collect::<Vec<_>>()
    };
    (0..p.size("steps")).flat_map(turned).collect()
}
