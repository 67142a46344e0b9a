//! Level 3's kernels for one row of x against the oracle, and the rule that picks them.

use candle_core::{DType, Device, Result, Tensor};
use operands::Linear;
use rand_chacha::ChaCha8Rng;
use simt::Options;

use super::oracle::{Sum, expected, sums, swiglu};
use crate::launch::simulated;
use crate::linear::level3;
use crate::output::poisoned;
use crate::testing::{assert_close, behind, devices, rng, tolerance, uniform};

/// Rows that fill no block, one and several; columns for some lanes, for whole steps of 128, and a few more.
const SHAPES: [(usize, usize); 9] = [
    (1, 1),
    (3, 33),
    (4, 128),
    (5, 129),
    (9, 264),
    (130, 97),
    (2, 515),
    (65, 512),
    (6, 0),
];

#[test]
fn a_row_at_level_3_equals_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for dtype in [DType::F32, DType::BF16] {
            for (n, k) in SHAPES {
                for shifted in [false, true] {
                    compare(&mut rng, (n, k, shifted), dtype, &device)?;
                }
            }
        }
    }
    Ok(())
}

/// With `shifted`, operands start one element after a multiple of 16 bytes.
fn compare(
    rng: &mut ChaCha8Rng,
    (n, k, shifted): (usize, usize, bool),
    dtype: DType,
    device: &Device,
) -> Result<()> {
    let mut operand = |dims: &[usize]| {
        let (x, values) = uniform(rng, dims, dtype, device)?;
        let x = if shifted && !values.is_empty() {
            behind(&x)?
        } else {
            x
        };
        Ok::<_, candle_core::Error>((x, values))
    };
    let ((x, x64), (w, w64)) = (operand(&[1, 1, k])?, operand(&[2 * n, k])?);
    let ((b, b64), (r, r64)) = (operand(&[n])?, operand(&[1, 1, n])?);
    let half = w.narrow(0, 0, n)?;
    let gate = sums(&x64, &w64[..n * k], (1, n, k));
    let up = sums(&x64, &w64[n * k..], (1, n, k));
    let tolerance = tolerance(dtype, 1e-4);
    let what = format!("{n}×{k} {dtype:?} {device:?} {shifted}");
    for bias in [false, true] {
        let layer = Linear::new(half.clone(), bias.then(|| b.clone()));
        let bias = |(i, s): (usize, &Sum)| s.plus(if bias { b64[i] } else { 0. });
        let sums: Vec<Sum> = gate.iter().enumerate().map(bias).collect();
        let y = poisoned(|| level3::linear(&x, &layer))?;
        assert_eq!(y.dims(), [1, 1, n], "{what}");
        assert_close(&what, &y, &expected(sums.iter().copied()), tolerance)?;
        let y = poisoned(|| level3::linear_residual(&x, &layer, &r))?;
        let added = sums.iter().zip(&r64).map(|(s, &r)| s.plus(r));
        assert_close(&what, &y, &expected(added), tolerance)?;
    }
    let y = poisoned(|| level3::linear_swiglu(&x, &Linear::new(w, None)))?;
    let gated = gate.iter().zip(&up).map(|(&g, &u)| swiglu(g, u));
    assert_close(&what, &y, &expected(gated), tolerance)
}

#[test]
fn one_row_has_kernels_of_its_own_and_two_take_the_tile() -> Result<()> {
    for (dtype, name) in [(DType::F32, "f32"), (DType::BF16, "bf16")] {
        let ones = |dims: &[usize]| Tensor::ones(dims, dtype, &Device::Cpu);
        let layer = Linear::new(ones(&[6, 8])?, Some(ones(&[6])?));
        let gated = Linear::new(ones(&[6, 8])?, None);
        for (m, row) in [(1, "_row"), (2, "")] {
            let x = ones(&[m, 8])?;
            let (ran, reports) = simulated(Options::default(), || {
                level3::linear(&x, &layer)?;
                level3::linear_residual(&x, &layer, &ones(&[m, 6])?)?;
                level3::linear_swiglu(&x, &gated)
            });
            ran?;
            let entries: Vec<&str> = reports.iter().map(|r| &*r.entry).collect();
            let linear = format!("linear{row}_{name}_level3");
            let swiglu = format!("linear_swiglu{row}_{name}_level3");
            assert_eq!(entries, [&*linear, &*linear, &*swiglu], "{m} rows");
            assert!(reports.iter().all(|r| r.is_clean()), "{m} rows");
        }
    }
    Ok(())
}
