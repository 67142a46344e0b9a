// Weights in FP8 (E4M3, Micikevicius et al. 2022): 4 bits of exponent, 3 of mantissa, maximum 448.
// Each row has one scale, which makes its largest weight 448.

/// The nearest number of E4M3, ties to even; beyond 448, 448.
pub fn e4m3(x: f32) -> f32 {
    let magnitude = x.abs().min(448.);
    // Below 2⁻⁶ numbers are 2⁻⁹ apart, above it an eighth of their power of two.
    let exponent = if magnitude < 0.015_625 {
        -6.
    } else {
        magnitude.log2().floor()
    };
    let step = (exponent - 3.).exp2();
    let nearest = (magnitude / step).round_ties_even() * step;
    nearest.min(448.).copysign(x)
}

/// A row as it is stored: x ≈ scale · code.
pub struct Quantised {
    /// Numbers of E4M3.
    pub codes: Vec<f32>,
    /// Scale of all codes.
    pub scale: f32,
}

pub fn quantise(row: &[f32]) -> Quantised {
    // REGION: scale
    let amax = row.iter().fold(0., |max: f32, x| max.max(x.abs()));
    let scale = if amax == 0. { 1. } else { amax / 448. };
    let codes = row.iter().map(|x| e4m3(x / scale)).collect();
    Quantised { codes, scale }
    // END
}

pub fn dequantise(row: &Quantised) -> Vec<f32> {
    row.codes.iter().map(|code| code * row.scale).collect()
}
