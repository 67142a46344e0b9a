//! Both levels against the oracle, on every device that is here.

use candle_core::{DType, Device, Result, Tensor};
use rand_chacha::ChaCha8Rng;

use crate::output::poisoned;
use crate::testing::{Expected, assert_close, devices, pairwise, rng, tolerance, uniform};

type Kernel = fn(&Tensor, Option<&Tensor>, &Tensor, f64) -> Result<(Tensor, Tensor)>;

const KERNELS: [(&str, Kernel); 2] = [
    ("level 3", super::level3::add_rms_norm),
    ("level 4", super::level4::add_rms_norm),
];

/// s and y in f64.
fn oracle(x: &[f64], residual: Option<&[f64]>, w: &[f64], eps: f64) -> (Vec<f64>, Vec<f64>) {
    let c = w.len();
    let sum: Vec<f64> = match residual {
        Some(residual) => x.iter().zip(residual).map(|(x, r)| x + r).collect(),
        None => x.to_vec(),
    };
    let y = sum.chunks(c).flat_map(|row| {
        let mean = row.iter().map(|s| s * s).sum::<f64>() / c as f64;
        let scale = 1. / (mean + eps).sqrt();
        row.iter().zip(w).map(move |(s, w)| s * scale * w)
    });
    let y = y.collect();
    (sum, y)
}

fn compare(
    rng: &mut ChaCha8Rng,
    (rows, c, residual): (usize, usize, bool),
    dtype: DType,
    device: &Device,
) -> Result<()> {
    let (x, x64) = uniform(rng, &[rows, c], dtype, device)?;
    let (r, r64) = uniform(rng, &[rows, c], dtype, device)?;
    let (w, w64) = uniform(rng, &[c], dtype, device)?;
    let (sum, y) = oracle(&x64, residual.then_some(&r64), &w64, 1e-6);
    let (sum, y) = (Expected::of_order_one(sum), Expected::of_order_one(y));
    for (level, kernel) in KERNELS {
        let what = format!("{level} {device:?} {dtype:?} {rows}×{c} residual {residual}");
        let out = poisoned(|| kernel(&x, residual.then_some(&r), &w, 1e-6))?;
        assert_close(&what, &out.0, &sum, tolerance(dtype, 1e-5))?;
        assert_close(&what, &out.1, &y, tolerance(dtype, 1e-5))?;
    }
    Ok(())
}

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    let rows = [1, 2, 31, 33, 197];
    let columns = [1, 7, 64, 65, 257, 513, 1000, 4096, 10000];
    for device in devices() {
        for shape in pairwise(&[&rows, &columns, &[0, 1], &[0, 1]]) {
            let dtype = [DType::F32, DType::BF16][shape[3]];
            compare(
                &mut rng,
                (shape[0], shape[1], shape[2] == 1),
                dtype,
                &device,
            )?;
        }
    }
    Ok(())
}

#[test]
fn no_rows_are_no_work() -> Result<()> {
    for device in devices() {
        let x = Tensor::zeros((0, 8), DType::F32, &device)?;
        let w = Tensor::zeros(8, DType::F32, &device)?;
        for (_, kernel) in KERNELS {
            assert_eq!(kernel(&x, None, &w, 1e-6)?.1.dims(), [0, 8]);
        }
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let x = Tensor::zeros((2, 8), DType::F32, &Device::Cpu)?;
    let w = Tensor::zeros(8, DType::F32, &Device::Cpu)?;
    for (_, kernel) in KERNELS {
        assert!(kernel(&x, Some(&w), &w, 1e-6).is_err());
        assert!(kernel(&x, None, &x, 1e-6).is_err());
        assert!(kernel(&x, None, &w.to_dtype(DType::BF16)?, 1e-6).is_err());
        assert!(
            kernel(
                &x.to_dtype(DType::F64)?,
                None,
                &w.to_dtype(DType::F64)?,
                1e-6
            )
            .is_err()
        );
    }
    Ok(())
}
