//! Both levels against the oracle, on every device that is here.

use candle_core::{DType, Device, Result, Tensor};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

use super::level5::REGISTRY;
use crate::dispatch::{Facts, Op, Problem};
use crate::output::poisoned;
use crate::testing::{
    Expected, assert_close, cases, devices, host, pairwise, rng, tolerance, uniform,
};

type Kernel = fn(&Tensor, Option<&Tensor>, &Tensor, &Tensor, f64) -> Result<(Tensor, Tensor)>;

const KERNELS: [(&str, Kernel); 3] = [
    ("level 3", super::level3::add_layer_norm),
    ("level 4", super::level4::add_layer_norm),
    ("level 5", super::level5::add_layer_norm),
];

const EPS: f64 = 1e-6;

/// s and y in f64.
fn oracle(x: &[f64], residual: Option<&[f64]>, w: &[f64], b: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let sum: Vec<f64> = match residual {
        Some(residual) => x.iter().zip(residual).map(|(x, r)| x + r).collect(),
        None => x.to_vec(),
    };
    let y = sum.chunks(w.len()).flat_map(|row| {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / row.len() as f64;
        let scale = 1. / (variance + EPS).sqrt();
        let parameters = w.iter().zip(b);
        row.iter()
            .zip(parameters)
            .map(move |(s, (w, b))| (s - mean) * scale * w + b)
    });
    let y = y.collect();
    (sum, y)
}

#[derive(Debug, Clone, Copy)]
struct Case {
    rows: usize,
    c: usize,
    residual: bool,
    dtype: DType,
    /// Elements between a multiple of 16 bytes and the first of x.
    offset: usize,
}

fn compare(rng: &mut ChaCha8Rng, case: Case, device: &Device) -> Result<()> {
    let Case { rows, c, dtype, .. } = case;
    let (x, x64) = uniform(rng, &[case.offset + rows * c], dtype, device)?;
    let x = x.narrow(0, case.offset, rows * c)?.reshape((rows, c))?;
    let (r, r64) = uniform(rng, &[rows, c], dtype, device)?;
    let (w, w64) = uniform(rng, &[c], dtype, device)?;
    let (b, b64) = uniform(rng, &[c], dtype, device)?;
    let r64 = case.residual.then_some(&r64[..]);
    let (sum, y) = oracle(&x64[case.offset..], r64, &w64, &b64);
    let (sum, y) = (Expected::of_order_one(sum), Expected::of_order_one(y));
    let problem = Problem::of_rows(Op::AddLayerNorm, &x)?;
    let able = REGISTRY.able(&problem, Facts::of(device)?);
    let entries = able.map(|entry| (entry.name, entry.run));
    for (kernel_name, kernel) in KERNELS.into_iter().chain(entries) {
        let what = format!("{kernel_name} {device:?} {case:?}");
        let out = poisoned(|| kernel(&x, case.residual.then_some(&r), &w, &b, EPS))?;
        assert_close(&what, &out.0, &sum, tolerance(dtype, 1e-5))?;
        assert_close(&what, &out.1, &y, tolerance(dtype, 1e-5))?;
    }
    Ok(())
}

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    let rows = [1, 2, 31, 33, 197];
    let columns = [
        1, 7, 64, 65, 128, 248, 257, 512, 513, 1000, 2000, 4096, 10000,
    ];
    for device in devices() {
        for shape in pairwise(&[&rows, &columns, &[0, 1], &[0, 1], &[0, 1]]) {
            let case = Case {
                rows: shape[0],
                c: shape[1],
                residual: shape[2] == 1,
                dtype: [DType::F32, DType::BF16][shape[3]],
                offset: shape[4],
            };
            compare(&mut rng, case, &device)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_shape(
        rows in 1usize..40,
        c in 1usize..1500,
        residual: bool,
        dtype in prop::sample::select(vec![DType::F32, DType::BF16]),
        offset in 0usize..5,
    ) {
        let case = Case { rows, c, residual, dtype, offset };
        for device in devices() {
            compare(&mut rng(), case, &device).expect("a kernel that runs");
        }
    }
}

/// Where the mean is a thousand times the deviations, mean(s²) − m² would keep one digit of the variance.
///
/// What a kernel may lose is the rounding of its mean m. Each of the additions that an element goes through
/// rounds by 2⁻²⁴ of the sum at most, so m is off by their number · 2⁻²⁴ · m, and y by that over the deviation:
/// for 64 columns 2e-3 at most, where mean(s²) − m² is off by 1e-1 and more.
#[test]
fn a_large_mean_costs_no_digits() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for c in [64, 1000] {
            // Multiples of 2⁻¹⁰ up to 1025 are f32 exactly: the rounding is the kernel's own.
            let (x, _) = uniform(&mut rng, &[4, c], DType::F32, &device)?;
            let x = (((x * 1024.)?.round()? / 1024.)? + 1024.)?;
            let (w, b) = (x.ones_like()?.narrow(0, 0, 1)?, x.zeros_like()?);
            let (w, b) = (w.flatten_all()?, b.narrow(0, 0, 1)?.flatten_all()?);
            let (_, y) = oracle(&host(&x)?, None, &host(&w)?, &host(&b)?);
            // A chain a lane, the fewest lanes being four registers of four, and a tree over the lanes.
            let additions = (c / 16 + 8) as f64;
            // Of values within 1 of 1024, in rows whose deviation is 0.58 on average and never under 0.4.
            let bound = additions * 2f64.powi(-24) * 1025. / 0.4;
            for (level, kernel) in KERNELS {
                let found = kernel(&x, None, &w, &b, EPS)?.1;
                let what = format!("{level} {device:?} {c} columns");
                assert_close(&what, &found, &Expected::of_order_one(y.clone()), bound)?;
            }
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
            assert_eq!(kernel(&x, None, &w, &w, EPS)?.1.dims(), [0, 8]);
        }
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let x = Tensor::zeros((2, 8), DType::F32, &Device::Cpu)?;
    let w = Tensor::zeros(8, DType::F32, &Device::Cpu)?;
    let as_dtype = |t: &Tensor, dtype| t.to_dtype(dtype);
    for (_, kernel) in KERNELS {
        assert!(kernel(&x, Some(&w), &w, &w, EPS).is_err());
        assert!(kernel(&x, None, &x, &w, EPS).is_err());
        assert!(kernel(&x, None, &w, &x, EPS).is_err());
        assert!(kernel(&x, None, &w, &as_dtype(&w, DType::BF16)?, EPS).is_err());
        let (x, w) = (as_dtype(&x, DType::F64)?, as_dtype(&w, DType::F64)?);
        let error = kernel(&x, None, &w, &w, EPS).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("level 2 can"), "{error}");
    }
    Ok(())
}
