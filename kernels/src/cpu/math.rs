//! exp, erf and activations built from them, for all lanes of a vector register at once.
//!
//! The C library's `expf` and `erff` take one number per call. These take as many as a register has lanes (16
//! with AVX-512) and do not branch: lanes cannot diverge, so every case is computed and a mask selects. Each
//! function has a scalar form, the same code with one lane, which the compiler vectorises in a plain loop.
//!
//! The coefficients are minimax polynomials, fitted by iteratively reweighted least squares on
//! Chebyshev nodes.

use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E, SQRT_2};

use pulp::{Scalar, Simd};

/// eˣ for one number; see [`exp_f32s`].
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp_f32s(Scalar::new(), x)
}

/// erf(x) for one number; see [`erf_f32s`].
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    erf_f32s(Scalar::new(), x)
}

/// x·½(1 + erf(x/√2)) for one number; see [`gelu_f32s`].
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    gelu_f32s(Scalar::new(), x)
}

/// x/(1 + e⁻ˣ) for one number; see [`silu_f32s`].
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    silu_f32s(Scalar::new(), x)
}

/// eʳ for |r| ≤ ½ ln 2, lowest power first: within 2e-8 of its value.
const EXP: [f32; 7] = [
    1.,
    1.,
    0.499_999_9,
    1.666_642e-1,
    4.166_822_5e-2,
    8.374_816e-3,
    1.383_684_2e-3,
];

/// ln 2 in two parts: the first has 9 bits, so that its product with a whole number below 2¹⁵ is exact.
const LN_2: [f32; 2] = [355. / 512., -2.121_944_4e-4];

/// Below the first, eˣ is smaller than 2⁻¹²⁵; above the second, it exceeds the maximum f32.
const EXP_RANGE: (f32, f32) = (-86.643_39, 88.722_84);

/// 1.5·2²³: an f32 of this size has no fraction, so adding it rounds to an integer, which is then in the
/// lowest bits.
const ROUND: f32 = 12_582_912.;

/// Returns eˣ with a relative error of at most 3e-7: 0 below −86.64, where eˣ is smaller than 2⁻¹²⁵; ∞ above
/// 88.72; NaN for NaN.
///
/// x = n ln 2 + r with |r| ≤ ½ ln 2; eˣ = 2ⁿ·eʳ, a polynomial and an addition to the exponent. "Elementary
/// functions: algorithms and implementation", Muller 2016, chapter 11.
#[inline(always)]
pub fn exp_f32s<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let splat = |x| simd.splat_f32s(x);
    let rounded = simd.mul_add_e_f32s(x, splat(LOG2_E), splat(ROUND));
    let n = simd.sub_f32s(rounded, splat(ROUND));
    let r = simd.mul_add_e_f32s(n, splat(-LN_2[0]), x);
    let r = simd.mul_add_e_f32s(n, splat(-LN_2[1]), r);
    let e_r = polynomial(simd, r, &EXP);
    // 2ⁿ⁻¹ and 2eʳ, because 2¹²⁸ is no f32. The exponent's bias is 127.
    let bits = simd.add_u32s(simd.transmute_u32s_f32s(rounded), simd.splat_u32s(126));
    let bits = simd.wrapping_dyn_shl_u32s(bits, simd.splat_u32s(23));
    let scale = simd.transmute_f32s_u32s(bits);
    let y = simd.mul_f32s(simd.add_f32s(e_r, e_r), scale);
    let too_low = simd.less_than_f32s(x, splat(EXP_RANGE.0));
    let too_high = simd.greater_than_f32s(x, splat(EXP_RANGE.1));
    let y = simd.select_f32s(too_low, splat(0.), y);
    simd.select_f32s(too_high, splat(f32::INFINITY), y)
}

/// Beyond this, erf(x) is within 6.1e-8 of 1, about one unit in the last place of f32.
const ERF_END: f32 = 3.83;

/// erf(x)/x for 0 ≤ x ≤ `ERF_END`, in t = 2(x/`ERF_END`)² − 1, lowest power first. The value at the end is
/// slightly above 1/`ERF_END`, so that clamping at 1 gives exactly 1.
const ERF: [f32; 15] = [
    3.691_990_7e-1,
    -1.842_316_1e-1,
    1.368_223_3e-1,
    -1.107_050_5e-1,
    9.083_619e-2,
    -7.300_948e-2,
    5.588_193e-2,
    -3.983_094_5e-2,
    2.766_857e-2,
    -1.943_485_6e-2,
    1.062_668_6e-2,
    -3.373_769e-3,
    2.526_149_2e-3,
    -3.055_330_4e-3,
    1.176_760_1e-3,
];

/// erf(x/√2)/x: the same with another scale.
const ERF_SCALED: [f32; 15] = {
    let mut scaled = ERF;
    let mut i = 0;
    while i < scaled.len() {
        scaled[i] *= FRAC_1_SQRT_2;
        i += 1;
    }
    scaled
};

/// Returns erf(x) = 2/√π ∫₀ˣ e^(−t²) dt, with an error of at most 3e-7 and never beyond ±1; NaN for NaN.
///
/// erf is odd: x times a polynomial in x², evaluated in −1..1, where its terms stay small.
#[inline(always)]
pub fn erf_f32s<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    const SQUARE: f32 = 2. / (ERF_END * ERF_END);
    let splat = |x| simd.splat_f32s(x);
    let x = clamp(simd, x, ERF_END);
    let t = simd.mul_add_e_f32s(simd.mul_f32s(x, x), splat(SQUARE), splat(-1.));
    clamp(simd, simd.mul_f32s(x, polynomial(simd, t, &ERF)), 1.)
}

/// Returns x·½(1 + erf(x/√2)). "Gaussian error linear units", Hendrycks and Gimpel 2016.
///
/// This is [`erf_f32s`] of x/√2 with the √2 in its constants. `min` and `max` clamp it in half as many
/// instructions; they drop NaN, which the final multiplication by x restores.
#[inline(always)]
pub fn gelu_f32s<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    const END: f32 = ERF_END * SQRT_2;
    const SQUARE: f32 = 2. / (END * END);
    let splat = |x| simd.splat_f32s(x);
    let within = |x, end: f32| simd.max_f32s(splat(-end), simd.min_f32s(splat(end), x));
    let short = within(x, END);
    let t = simd.mul_add_e_f32s(simd.mul_f32s(short, short), splat(SQUARE), splat(-1.));
    let erf = within(simd.mul_f32s(short, polynomial(simd, t, &ERF_SCALED)), 1.);
    let half = simd.mul_f32s(x, splat(0.5));
    simd.mul_add_e_f32s(half, erf, half)
}

/// Returns x/(1 + e⁻ˣ), the gate of SwiGLU. "GLU variants improve transformer", Shazeer 2020.
#[inline(always)]
pub fn silu_f32s<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let e = exp_f32s(simd, simd.sub_f32s(simd.splat_f32s(0.), x));
    simd.div_f32s(x, simd.add_f32s(simd.splat_f32s(1.), e))
}

/// Horner's scheme: c₀ + t(c₁ + t(c₂ + …)).
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(simd: S, t: S::f32s, coefficients: &[f32; N]) -> S::f32s {
    let mut sum = simd.splat_f32s(coefficients[N - 1]);
    for &c in coefficients[..N - 1].iter().rev() {
        sum = simd.mul_add_e_f32s(sum, t, simd.splat_f32s(c));
    }
    sum
}

/// Clamps x to −end..end. Compares, because `min` may drop NaN.
#[inline(always)]
fn clamp<S: Simd>(simd: S, x: S::f32s, end: f32) -> S::f32s {
    let (low, high) = (simd.splat_f32s(-end), simd.splat_f32s(end));
    let x = simd.select_f32s(simd.less_than_f32s(x, low), low, x);
    simd.select_f32s(simd.greater_than_f32s(x, high), high, x)
}

#[cfg(test)]
pub(crate) mod tests {
    use pulp::{Arch, WithSimd};

    use super::*;

    /// 2/√π e^(−x²) Σ 2ⁿx²ⁿ⁺¹/(1·3·…·(2n+1)): all terms have the sign of x, so nothing cancels.
    pub(crate) fn erf_f64(x: f64) -> f64 {
        if x.abs() > 6. {
            return x.signum();
        }
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            term *= 2. * x * x / f64::from(2 * n + 1);
            sum += term;
        }
        sum * (-x * x).exp() * std::f64::consts::FRAC_2_SQRT_PI
    }

    /// Applies the four functions to every element, one register at a time.
    struct Each<'a>(&'a [f32]);

    impl WithSimd for Each<'_> {
        type Output = Vec<[f32; 4]>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let mut out = Vec::new();
            for x in self.0.chunks(S::F32_LANES) {
                let x_lanes = simd.partial_load_f32s(x);
                let all = [
                    exp_f32s(simd, x_lanes),
                    erf_f32s(simd, x_lanes),
                    gelu_f32s(simd, x_lanes),
                    silu_f32s(simd, x_lanes),
                ];
                let mut y = vec![[0.; 4]; x.len()];
                for (i, lanes) in all.into_iter().enumerate() {
                    let mut one = vec![0.; x.len()];
                    simd.partial_store_f32s(&mut one, lanes);
                    one.iter().zip(&mut y).for_each(|(&v, y)| y[i] = v);
                }
                out.extend(y);
            }
            out
        }
    }

    /// Iterates over both forms for each x.
    fn both(x: &[f32]) -> impl Iterator<Item = (f32, [f32; 4])> {
        let lanes = Arch::new().dispatch(Each(x));
        let one = x.iter().map(|&x| [exp(x), erf(x), gelu(x), silu(x)]);
        let x = x.iter().chain(x).copied().collect::<Vec<_>>();
        x.into_iter().zip(one.chain(lanes).collect::<Vec<_>>())
    }

    #[test]
    fn functions_are_close_to_those_of_f64() {
        let x: Vec<f32> = (-100_000..=100_000).map(|i| i as f32 * 1e-3).collect();
        for (x, [e, erf, gelu, silu]) in both(&x) {
            let x = f64::from(x);
            let close = |found: f32, expected: f64, scale: f64| {
                let error = (f64::from(found) - expected).abs();
                assert!(error <= scale, "{x}: {found}, expected {expected}");
            };
            let in_range = x > -86.6 && x < 88.7;
            if in_range {
                close(e, x.exp(), 3e-7 * x.exp());
            }
            close(erf, erf_f64(x), 3e-7);
            let gate = 0.5 * (1. + erf_f64(x * std::f64::consts::FRAC_1_SQRT_2));
            close(
                gelu,
                x * gate,
                2e-7 * x.abs().clamp(1., 6.) + 6e-8 * x.abs(),
            );
            close(silu, x / (1. + (-x).exp()), 4e-7 * x.abs());
        }
    }

    #[test]
    fn ends_are_exact() {
        let inf = f32::INFINITY;
        let x = [0., -0., 3.83, 10., 1e30, inf, -3.83, -10., -1e30, -inf];
        for (x, [e, erf, gelu, silu]) in both(&x) {
            if x.abs() < 1. {
                assert_eq!([e, erf, gelu, silu], [1., 0., 0., 0.]);
            } else {
                assert_eq!(erf, x.signum(), "{x}");
            }
            if x.abs() >= 1e30 {
                assert_eq!(e, if x > 0. { inf } else { 0. });
                let expected = if x > 0. { x } else { 0. };
                // −∞·0 is NaN.
                assert!(gelu == expected || x == -inf, "{x}: {gelu}");
            }
        }
        for (_, y) in both(&[f32::NAN; 17]) {
            assert!(y.iter().all(|y| y.is_nan()), "{y:?}");
        }
    }
}
