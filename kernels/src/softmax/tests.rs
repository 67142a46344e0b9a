//! Both levels against the oracle, on every device.

use candle_core::{DType, Device, Result, Tensor};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use simt::Options;

use crate::launch::simulated;
use crate::output::poisoned;
use crate::testing::{
    Expected, assert_close, cases, devices, host, pairwise, rng, tolerance, uniform,
};

type Kernel = fn(&Tensor, f64) -> Result<Tensor>;

const KERNELS: [(&str, Kernel); 2] = [
    ("level 3", super::level3::softmax),
    ("level 4", super::level4::softmax),
];

/// Computes the result in f64; errors scale with the probability and with the maximum of the row.
fn oracle(x: &[f64], c: usize, scale: f64) -> Expected {
    let (mut values, mut scales) = (Vec::new(), Vec::new());
    for row in x.chunks(c) {
        let max = row
            .iter()
            .map(|x| x * scale)
            .fold(f64::NEG_INFINITY, f64::max);
        let exp: Vec<f64> = row.iter().map(|x| (x * scale - max).exp()).collect();
        let sum: f64 = exp.iter().sum();
        values.extend(exp.iter().map(|e| e / sum));
        scales.extend(exp.iter().map(|_| 1. / sum));
    }
    Expected { values, scales }
}

#[derive(Debug, Clone, Copy)]
struct Case {
    rows: usize,
    c: usize,
    scale: f64,
    dtype: DType,
    /// Offset of x from a multiple of 16 bytes, in elements.
    offset: usize,
}

fn compare(rng: &mut ChaCha8Rng, case: Case, device: &Device) -> Result<()> {
    let Case { rows, c, .. } = case;
    let (x, x64) = uniform(rng, &[case.offset + rows * c], case.dtype, device)?;
    let x = x.narrow(0, case.offset, rows * c)?.reshape((rows, c))?;
    let expected = oracle(&x64[case.offset..], c, case.scale);
    for (level, kernel) in KERNELS {
        let what = format!("{level} {device:?} {case:?}");
        let y = poisoned(|| kernel(&x, case.scale))?;
        assert_close(&what, &y, &expected, tolerance(case.dtype, 1e-5))?;
    }
    Ok(())
}

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    let rows = [1, 2, 31, 33, 197];
    let columns = [1, 7, 64, 65, 257, 513, 1000, 4096, 10000];
    let scales = [1., 0.125, -3., 30.];
    for device in devices() {
        for shape in pairwise(&[&rows, &columns, &[0, 1, 2, 3], &[0, 1], &[0, 1]]) {
            let case = Case {
                rows: shape[0],
                c: shape[1],
                scale: scales[shape[2]],
                dtype: [DType::F32, DType::BF16][shape[3]],
                offset: shape[4],
            };
            compare(&mut rng, case, &device)?;
        }
    }
    Ok(())
}

/// Level 4 uses the fallback if a row is not a multiple of 16 bytes, is too long for the registers, or
/// belongs to a tensor that does not start at a multiple of 16 bytes.
#[test]
fn rows_that_do_not_fit_in_registers_have_a_fallback() -> Result<()> {
    let mut rng = rng();
    for (dtype, name) in [(DType::F32, "f32"), (DType::BF16, "bf16")] {
        for (c, offset, suffix) in [
            (512, 0, ""),
            (2000, 8, ""),
            (16384, 0, ""),
            (513, 0, "_fallback"),
            (16392, 0, "_fallback"),
            (512, 1, "_fallback"),
        ] {
            let case = Case {
                rows: 2,
                c,
                scale: 1.,
                dtype,
                offset,
            };
            let (ran, reports) =
                simulated(Options::default(), || compare(&mut rng, case, &Device::Cpu));
            ran?;
            let level4: Vec<&str> = (reports.iter().map(|r| &*r.entry))
                .filter(|entry| entry.contains("level4"))
                .collect();
            let expected = format!("softmax_{name}_level4{suffix}");
            assert!(level4.iter().all(|entry| *entry == expected), "{level4:?}");
            assert!(!level4.is_empty() && reports.iter().all(|r| r.is_clean()));
        }
    }
    Ok(())
}

/// A block has four rows of two warps each, and the last block one row: rows wait at separate barriers, and
/// missing rows return before them.
#[test]
fn rows_of_several_warps_share_a_block() -> Result<()> {
    let mut rng = rng();
    for (dtype, in_registers) in [(DType::F32, 516), (DType::BF16, 1032)] {
        for c in [in_registers, 37] {
            let case = Case {
                rows: 385,
                c,
                scale: 1.,
                dtype,
                offset: 0,
            };
            let (ran, reports) =
                simulated(Options::default(), || compare(&mut rng, case, &Device::Cpu));
            ran?;
            let is_clean = reports.iter().all(|r| r.is_clean());
            assert!(
                is_clean && reports.iter().any(|r| r.block == [64, 4, 1]),
                "{case:?}"
            );
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
        scale in -50f64..50.,
        dtype in prop::sample::select(vec![DType::F32, DType::BF16]),
        offset in 0usize..5,
    ) {
        let case = Case { rows, c, scale, dtype, offset };
        for device in devices() {
            compare(&mut rng(), case, &device).expect("a kernel that runs");
        }
    }
}

#[test]
fn masked_columns_have_probability_0() -> Result<()> {
    for device in devices() {
        for c in [5, 1000, 2500] {
            let mut x = vec![f32::NEG_INFINITY; c];
            (x[0], x[c - 1]) = (88., 88.);
            let x = Tensor::from_vec(x, (1, c), &device)?;
            for (level, kernel) in KERNELS {
                let y = host(&poisoned(|| kernel(&x, 1.))?)?;
                assert!(
                    (y[0] - 0.5).abs() < 1e-6 && y[0] == y[c - 1],
                    "{level} {y:?}"
                );
                assert!(y[1..c - 1].iter().all(|&p| p == 0.), "{level} {y:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_row_with_nan_is_nan() -> Result<()> {
    for device in devices() {
        for (c, bad) in [(5, f32::NAN), (1000, f32::INFINITY), (2500, f32::NAN)] {
            let mut x = vec![0.5; 2 * c];
            x[c / 2] = bad;
            let x = Tensor::from_vec(x, (2, c), &device)?;
            for (level, kernel) in KERNELS {
                let y = host(&kernel(&x, 1.)?)?;
                assert!(y[..c].iter().all(|p| p.is_nan()), "{level}: its own row");
                assert!(y[c..].iter().all(|p| !p.is_nan()), "{level}: the other row");
            }
        }
    }
    Ok(())
}

#[test]
fn an_empty_tensor_launches_nothing() -> Result<()> {
    for device in devices() {
        let x = Tensor::zeros((0, 8), DType::F32, &device)?;
        for (_, kernel) in KERNELS {
            assert_eq!(kernel(&x, 1.)?.dims(), [0, 8]);
        }
    }
    Ok(())
}

#[test]
fn other_dtypes_are_errors() -> Result<()> {
    let x = Tensor::zeros((2, 8), DType::F64, &Device::Cpu)?;
    for (_, kernel) in KERNELS {
        let error = kernel(&x, 1.).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("level 2 can"), "{error}");
    }
    Ok(())
}
