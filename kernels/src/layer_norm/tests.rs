//! All levels against the oracle, on every device.

use candle_core::{DType, Device, Result, Tensor};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use simt::Options;

use super::level5::{ENTRIES, REGISTRY};
use crate::dispatch::{Facts, Op, Problem};
use crate::launch::{NARROW_ROW_VARIANTS, simulated};
use crate::output::poisoned;
use crate::testing::{
    Expected, assert_close, cases, devices, host, pairwise, rng, tolerance, uniform,
};

type Kernel = fn(&Tensor, &Tensor, &Tensor, f64) -> Result<Tensor>;

const KERNELS: [(&str, Kernel); 3] = [
    ("level 3", super::level3::layer_norm),
    ("level 4", super::level4::layer_norm),
    ("level 5", super::level5::layer_norm),
];

const EPS: f64 = 1e-6;

/// Returns y in f64.
fn oracle(x: &[f64], w: &[f64], b: &[f64]) -> Vec<f64> {
    let rows = x.chunks(w.len()).flat_map(|row| {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
        let scale = 1. / (variance + EPS).sqrt();
        let parameters = w.iter().zip(b);
        row.iter()
            .zip(parameters)
            .map(move |(x, (w, b))| (x - mean) * scale * w + b)
    });
    rows.collect()
}

#[derive(Debug, Clone, Copy)]
struct Case {
    rows: usize,
    c: usize,
    dtype: DType,
    /// Offset of x from a multiple of 16 bytes, in elements.
    offset: usize,
}

fn compare(rng: &mut ChaCha8Rng, case: Case, device: &Device) -> Result<()> {
    let Case { rows, c, dtype, .. } = case;
    let (x, x64) = uniform(rng, &[case.offset + rows * c], dtype, device)?;
    let x = x.narrow(0, case.offset, rows * c)?.reshape((rows, c))?;
    let (w, w64) = uniform(rng, &[c], dtype, device)?;
    let (b, b64) = uniform(rng, &[c], dtype, device)?;
    let expected = Expected::of_order_one(oracle(&x64[case.offset..], &w64, &b64));
    let problem = Problem::of_rows(Op::LayerNorm, &x)?;
    let able = REGISTRY.able(&problem, Facts::of(device)?);
    let entries = able.map(|entry| (entry.name, entry.run));
    for (kernel_name, kernel) in KERNELS.into_iter().chain(entries) {
        let what = format!("{kernel_name} {device:?} {case:?}");
        let y = poisoned(|| kernel(&x, &w, &b, EPS))?;
        assert_close(&what, &y, &expected, tolerance(dtype, 1e-5))?;
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
        for shape in pairwise(&[&rows, &columns, &[0, 1], &[0, 1]]) {
            let case = Case {
                rows: shape[0],
                c: shape[1],
                dtype: [DType::F32, DType::BF16][shape[2]],
                offset: shape[3],
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
                dtype,
                offset,
            };
            let (ran, reports) =
                simulated(Options::default(), || compare(&mut rng, case, &Device::Cpu));
            ran?;
            let level4: Vec<&str> = (reports.iter().map(|r| &*r.entry))
                .filter(|entry| entry.contains("level4"))
                .collect();
            let expected = format!("layer_norm_{name}_level4{suffix}");
            assert!(level4.iter().all(|entry| *entry == expected), "{level4:?}");
            assert!(!level4.is_empty() && reports.iter().all(|r| r.is_clean()));
        }
    }
    Ok(())
}

#[test]
fn entries_are_named_by_lanes_and_chunks() {
    for ((f32, bf16), (lanes, chunks)) in ENTRIES.into_iter().zip(NARROW_ROW_VARIANTS) {
        assert_eq!(f32, format!("layer_norm_f32_level5_{lanes}x{chunks}"));
        assert_eq!(bf16, format!("layer_norm_bf16_level5_{lanes}x{chunks}"));
    }
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
        dtype in prop::sample::select(vec![DType::F32, DType::BF16]),
        offset in 0usize..5,
    ) {
        let case = Case { rows, c, dtype, offset };
        for device in devices() {
            compare(&mut rng(), case, &device).expect("a kernel that runs");
        }
    }
}

/// With a mean of a thousand times the deviations, mean(x²) − m² would keep one digit of the variance.
///
/// A kernel may lose only the rounding of its mean m. Each addition on an element's path rounds by at most
/// 2⁻²⁴ of the sum, so m is off by their number · 2⁻²⁴ · m, and y by that over the deviation: at most 2e-3
/// for 64 columns, where mean(x²) − m² is off by 1e-1 and more.
#[test]
fn a_large_mean_costs_no_digits() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for c in [64, 1000] {
            // Multiples of 2⁻¹⁰ up to 1025 are exact in f32, so all rounding is the kernel's.
            let (x, _) = uniform(&mut rng, &[4, c], DType::F32, &device)?;
            let x = (((x * 1024.)?.round()? / 1024.)? + 1024.)?;
            let (w, b) = (x.ones_like()?.narrow(0, 0, 1)?, x.zeros_like()?);
            let (w, b) = (w.flatten_all()?, b.narrow(0, 0, 1)?.flatten_all()?);
            let y = oracle(&host(&x)?, &host(&w)?, &host(&b)?);
            // One chain of additions per lane, with at least four registers of four lanes, and a tree over
            // the lanes.
            let additions = (c / 16 + 8) as f64;
            // Values are within 1 of 1024; rows have a deviation of 0.58 on average and never under 0.4.
            let bound = additions * 2f64.powi(-24) * 1025. / 0.4;
            for (level, kernel) in KERNELS {
                let found = kernel(&x, &w, &b, EPS)?;
                let what = format!("{level} {device:?} {c} columns");
                assert_close(&what, &found, &Expected::of_order_one(y.clone()), bound)?;
            }
        }
    }
    Ok(())
}

#[test]
fn an_empty_tensor_launches_nothing() -> Result<()> {
    for device in devices() {
        let x = Tensor::zeros((0, 8), DType::F32, &device)?;
        let w = Tensor::zeros(8, DType::F32, &device)?;
        for (_, kernel) in KERNELS {
            assert_eq!(kernel(&x, &w, &w, EPS)?.dims(), [0, 8]);
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
        assert!(kernel(&x, &x, &w, EPS).is_err());
        assert!(kernel(&x, &w, &x, EPS).is_err());
        assert!(kernel(&x, &w, &as_dtype(&w, DType::BF16)?, EPS).is_err());
        let (x, w) = (as_dtype(&x, DType::F64)?, as_dtype(&w, DType::F64)?);
        let error = kernel(&x, &w, &w, EPS).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("level 2 can"), "{error}");
    }
    Ok(())
}
