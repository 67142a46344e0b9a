//! RMSNorm and linear in one launch against the oracle.

use candle_core::{DType, Device, Result, Tensor};
use operands::{Linear, Norm};
use rand_chacha::ChaCha8Rng;

use super::oracle::{Sum, expected, sums, swiglu};
use crate::launch::{is_simulated, on_cpu};
use crate::linear::level5::{norm_linear, norm_swiglu};
use crate::output::poisoned;
use crate::testing::{assert_close, behind, devices, rng, tolerance, uniform};

/// Rows of one chunk, of some lanes' chunks, and of all chunks of each kernel; columns that fill no warp, many, and those of a
/// head.
const SHAPES: [(usize, usize); 12] = [
    (1, 8),
    (7, 264),
    (64, 512),
    (65, 576),
    (3, 768),
    (129, 1000),
    (50, 1536),
    (5, 512),
    (1000, 512),
    (8193, 264),
    (8195, 520),
    (8197, 1000),
];

#[test]
fn norm_and_matmul_in_one_launch_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for dtype in [DType::F32, DType::BF16] {
            for (n, k) in SHAPES {
                for shifted in [false, true] {
                    if shifted && is_long(n) {
                        continue;
                    }
                    compare(&mut rng, (n, k, shifted), dtype, &device)?;
                }
            }
        }
    }
    Ok(())
}

/// Whether a product takes the simulator minutes in all variants. Then it has a bias and aligned operands: others are copied
/// before the launch, and a bias is added per element, so that shorter products show both.
fn is_long(n: usize) -> bool {
    is_simulated() && n > 4096
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
        let x = if shifted { behind(&x)? } else { x };
        Ok::<_, candle_core::Error>((x, values))
    };
    let ((x, x64), (weight, g64)) = (operand(&[1, 1, k])?, operand(&[k])?);
    let ((w, w64), (b, b64)) = (operand(&[2 * n, k])?, operand(&[n])?);
    let what = format!("{n}×{k} {dtype:?} {device:?} shifted {shifted}");

    let (eps, tolerance) = (1e-5, tolerance(dtype, 1e-4));
    let norm = Norm::Rms { weight, eps };
    let half = w.narrow(0, 0, n)?;
    if on_cpu(device) {
        let y = norm_linear(&x, &norm, &Linear::new(half, None))?;
        assert!(y.is_none(), "{what}: expected no kernel, found one");
        return Ok(());
    }
    let mean = x64.iter().map(|x| x * x).sum::<f64>() / k as f64;
    let scale = 1. / (mean + eps).sqrt();
    let h: Vec<f64> = x64.iter().zip(&g64).map(|(x, g)| x * scale * g).collect();
    let gate = sums(&h, &w64[..n * k], (1, n, k));
    let up = sums(&h, &w64[n * k..], (1, n, k));

    let biases = [None, Some(&b)];
    for bias in &biases[usize::from(is_long(n))..] {
        let layer = Linear::new(half.clone(), bias.cloned());
        let y = poisoned(|| norm_linear(&x, &norm, &layer))?.expect("a kernel");
        let plus_bias = |(i, s): (usize, &Sum)| s.plus(bias.map_or(0., |_| b64[i]));
        let expected = expected(gate.iter().enumerate().map(plus_bias));
        assert_eq!(y.dims(), [1, 1, n], "{what}");
        assert_close(&what, &y, &expected, tolerance)?;
    }
    let y = poisoned(|| norm_swiglu(&x, &norm, &Linear::new(w, None)))?;
    let gated = gate.iter().zip(&up).map(|(&g, &u)| swiglu(g, u));
    assert_close(
        &what,
        &y.expect("a kernel, as for the product"),
        &expected(gated),
        tolerance,
    )
}

#[test]
fn operands_that_no_kernel_takes_are_none() -> Result<()> {
    for device in devices() {
        let ones = |dims: &[usize]| Tensor::ones(dims, DType::F32, &device);
        let rms = |k| {
            let (weight, eps) = (ones(&[k])?, 1e-5);
            Ok::<_, candle_core::Error>(Norm::Rms { weight, eps })
        };
        let layer_norm = Norm::Layer {
            weight: ones(&[8])?,
            bias: ones(&[8])?,
            eps: 1e-5,
        };
        for (rows, k, norm) in [
            (2, 8, rms(8)?),
            (1, 7, rms(7)?),
            (1, 1540, rms(1540)?),
            (1, 8, layer_norm),
        ] {
            let (x, w) = (ones(&[rows, k])?, Linear::new(ones(&[4, k])?, None));
            assert!(norm_linear(&x, &norm, &w)?.is_none(), "{rows} × {k}");
            assert!(norm_swiglu(&x, &norm, &w)?.is_none(), "{rows} × {k}");
        }
        let (x, norm) = (ones(&[1, 8])?, rms(4)?);
        let w = Linear::new(ones(&[4, 8])?, None);
        let error = norm_linear(&x, &norm, &w).unwrap_err().to_string();
        assert!(error.contains("the norm's weight"), "{error}");
    }
    Ok(())
}
