//! Packing, and both kernels against their oracles, on every device.

mod packing;

use candle_core::{DType, Device, Result, Tensor};
use proptest::prelude::*;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{Ternary, level4};
use crate::output::poisoned;
use crate::testing::{
    Expected, KernelFile, assert_close, cases, devices, host, pairwise, rng, tolerance, uniform,
};

type Kernel = fn(&Tensor, &Ternary) -> Result<Tensor>;

const KERNELS: [(&str, Kernel); 2] = [("lut", level4::lut), ("dp4a", level4::dp4a)];

/// Weights in f64: t (N, K) and s (N).
struct Weights {
    t: Vec<f64>,
    s: Vec<f64>,
    k: usize,
}

impl Weights {
    fn random(rng: &mut ChaCha8Rng, n: usize, k: usize) -> Self {
        let t = (0..n * k).map(|_| f64::from(rng.random_range(-1i8..=1)));
        let t = t.collect();
        let s = (0..n).map(|_| f64::from(rng.random::<f32>() * 2. - 1.));
        Self {
            t,
            s: s.collect(),
            k,
        }
    }

    /// Packs as the contract says, independently of the crate: four codes per byte, the first lowest, and 3
    /// in the padding.
    fn pack(&self, device: &Device) -> Result<Ternary> {
        let byte = |t: &[f64]| {
            let code = |i: usize| t.get(i).map_or(3, |t| (t + 1.) as u8);
            code(0) + 4 * code(1) + 16 * code(2) + 64 * code(3)
        };
        let rows = self.t.chunks(self.k);
        let codes: Vec<u8> = rows.flat_map(|row| row.chunks(4).map(byte)).collect();
        let scales: Vec<f32> = self.s.iter().map(|&s| s as f32).collect();
        let shape = (self.s.len(), self.k.div_ceil(4));
        let codes = Tensor::from_vec(codes, shape, device)?;
        Ternary::from_packed(&codes, &Tensor::new(scales, device)?, self.k)
    }

    /// Returns s_n·Σ_k x_mk·t_nk·`unit`_m, with |s|·Σ|x||t|·`unit` as the scale of errors.
    fn product(&self, x: &[f64], unit: &[f64]) -> Expected {
        let of = |sum: fn(f64, f64) -> f64| {
            let rows = x.chunks(self.k).zip(unit).flat_map(move |(x, unit)| {
                self.t.chunks(self.k).zip(&self.s).map(move |(t, s)| {
                    s * unit * x.iter().zip(t).map(|(x, t)| sum(*x, *t)).sum::<f64>()
                })
            });
            rows.collect::<Vec<f64>>()
        };
        let absolute = of(|x, t| (x * t).abs());
        Expected {
            values: of(|x, t| x * t),
            scales: absolute.iter().map(|x| x.abs()).collect(),
        }
    }
}

/// Rounds rows of x as the contract says: q, and 1/c for each row.
fn quantized(x: &[f64], k: usize) -> (Vec<f64>, Vec<f64>) {
    let scale = |row: &[f64]| {
        let max = row.iter().fold(0., |max: f64, x| max.max(x.abs()));
        127f32 / (max as f32).max(1e-5)
    };
    let q = x.chunks(k).flat_map(|row| {
        let c = scale(row);
        row.iter()
            .map(move |&x| f64::from((x as f32 * c).round_ties_even()))
    });
    let unit = x.chunks(k).map(|row| 1. / f64::from(scale(row)));
    (q.collect(), unit.collect())
}

/// Compares both kernels on x (M, K) with their oracles, and dp4a with the exact result.
fn compare(what: &str, x: &Tensor, weights: &Weights) -> Result<()> {
    let (x64, k) = (host(x)?, weights.k);
    let ones = vec![1.; x64.len() / k];
    let exact = weights.product(&x64, &ones);
    let w = weights.pack(x.device())?;

    let y = poisoned(|| level4::lut(x, &w))?;
    assert_close(
        &format!("lut {what}"),
        &y,
        &exact,
        tolerance(x.dtype(), 1e-4),
    )?;

    let y = poisoned(|| level4::dp4a(x, &w))?;
    let (q, unit) = quantized(&x64, k);
    let rounded = weights.product(&q, &unit);
    assert_close(
        &format!("dp4a {what}"),
        &y,
        &rounded,
        tolerance(x.dtype(), 1e-6),
    )?;

    // Each activation is off by at most half a step, in addition to the rounding of y.
    let half_steps = weights.product(&vec![0.5; q.len()], &unit).scales;
    let slack = |value: &f64| value.abs() * tolerance(x.dtype(), 1e-5);
    let bounds = half_steps.iter().zip(&rounded.scales);
    let expected = Expected {
        scales: bounds.map(|(step, y)| step * 1.0001 + slack(y)).collect(),
        values: exact.values,
    };
    assert_close(&format!("dp4a, unrounded, {what}"), &y, &expected, 1.)
}

fn compare_random(
    rng: &mut ChaCha8Rng,
    (m, n, k): (usize, usize, usize),
    dtype: DType,
    device: &Device,
) -> Result<()> {
    let (x, _) = uniform(rng, &[m, k], dtype, device)?;
    let what = format!("{device:?} {dtype:?} M {m} N {n} K {k}");
    compare(&what, &x, &Weights::random(rng, n, k))
}

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    let k = [
        1, 3, 4, 7, 127, 128, 255, 257, 2048, 2049, 4096, 4100, 10000,
    ];
    for device in devices() {
        for shape in pairwise(&[&[1, 2, 3, 5, 31], &[1, 2, 15, 65, 131], &k, &[0, 1]]) {
            let dtype = [DType::F32, DType::BF16][shape[3]];
            let sizes = (shape[0], shape[1], shape[2]);
            compare_random(&mut rng, sizes, dtype, &device)?;
        }
    }
    Ok(())
}

/// Sizes at which a CPU's threads divide the rows, and at which a row of x exceeds a GPU's shared memory.
#[test]
fn large_sizes_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for (sizes, dtype) in [
            ((1, 1500, 1024), DType::F32),
            ((3, 777, 513), DType::BF16),
            ((197, 129, 64), DType::F32),
            ((2, 3, 60001), DType::F32),
        ] {
            compare_random(&mut rng, sizes, dtype, &device)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(32))]
    #[test]
    fn any_shape(m in 1usize..9, n in 1usize..200, k in 1usize..3000, half: bool) {
        let dtype = if half { DType::BF16 } else { DType::F32 };
        for device in devices() {
            compare_random(&mut rng(), (m, n, k), dtype, &device).unwrap();
        }
    }
}

/// Rows of zeros in x and in t, and scales of 0.
#[test]
fn zeros_give_zeros() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        let mut weights = Weights::random(&mut rng, 9, 300);
        weights.t[300..600].fill(0.);
        weights.s[2] = 0.;
        let (x, _) = uniform(&mut rng, &[3, 300], DType::F32, &device)?;
        let x = x.slice_assign(&[1..2, 0..300], &x.narrow(0, 1, 1)?.zeros_like()?)?;
        compare("zeros", &x, &weights)?;
        for (what, kernel) in KERNELS {
            let y = host(&poisoned(|| kernel(&x, &weights.pack(&device)?))?)?;
            assert!(y[9..18].iter().all(|&y| y == 0.), "{what}: row of zeros");
            for row in y.chunks(9) {
                assert_eq!([row[1], row[2]], [0., 0.], "{what}: weights of zero");
            }
        }
    }
    Ok(())
}

/// From the smallest numbers to the largest, one row of each, and mixed rows.
#[test]
fn extreme_activations() -> Result<()> {
    let mut rng = rng();
    let sizes = [1e-45f32, 1e-38, 1e-20, 1e-5, 1e-4, 1e10, 1e30, 1e36];
    for device in devices() {
        for dtype in [DType::F32, DType::BF16] {
            let mut x: Vec<f32> = Vec::new();
            for size in sizes {
                x.extend((0..100).map(|_| size * rng.random_range(-1f32..1.)));
            }
            x.extend((0..100).map(|i| sizes[i % 8] * rng.random_range(-1f32..1.)));
            x.extend((0..100).map(|i| if i == 40 { -f32::MAX / 2. } else { 1e-3 }));
            let x = Tensor::from_vec(x, (10, 100), &Device::Cpu)?.to_dtype(dtype)?;
            let weights = Weights::random(&mut rng, 33, 100);
            compare(
                &format!("{device:?} {dtype:?} extreme"),
                &x.to_device(&device)?,
                &weights,
            )?;
        }
    }
    Ok(())
}

#[test]
fn nan_and_infinity() -> Result<()> {
    for device in devices() {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = vec![1f32; 2 * 70];
            x[70 + 65] = value;
            let x = Tensor::from_vec(x, (2, 70), &device)?;
            // Row 0 skips column 65, row 1 uses it.
            let mut t = vec![1.; 2 * 70];
            t[65] = 0.;
            let s = vec![1., 1.];
            let w = Weights { t, s, k: 70 }.pack(&device)?;
            let y = host(&level4::lut(&x, &w)?)?;
            assert_eq!(y[..3], [69., 70., 69.], "{device:?} {value}");
            assert!(
                y[3].is_nan() || y[3] == f64::from(value),
                "{device:?} {value}"
            );
            let y = host(&level4::dp4a(&x, &w)?)?;
            assert!((y[0] - 69.).abs() < 1e-3, "{device:?} {value}: {y:?}");
            assert!(y[2].is_nan() && y[3].is_nan(), "{device:?} {value}: {y:?}");
        }
    }
    Ok(())
}

/// Rows at addresses that are no multiple of 16, and leading dimensions.
#[test]
fn views_of_contiguous_rows() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        let weights = Weights::random(&mut rng, 5, 37);
        let w = weights.pack(&device)?;
        let (x, _) = uniform(&mut rng, &[7, 37], DType::BF16, &device)?;
        let narrow = x.narrow(0, 1, 6)?;
        compare("narrow", &narrow, &weights)?;
        for (what, kernel) in KERNELS {
            let flat = kernel(&narrow, &w)?;
            let y = kernel(&narrow.reshape((2, 3, 37))?, &w)?;
            assert_eq!(y.dims(), [2, 3, 5], "{what}");
            assert_eq!(host(&y)?, host(&flat)?, "{what}");
            assert!(kernel(&x.t()?.contiguous()?.t()?, &w).is_err(), "{what}");
        }
    }
    Ok(())
}

#[test]
fn no_rows_launch_nothing() -> Result<()> {
    for device in devices() {
        let w = Ternary::quantize(&Tensor::ones((3, 8), DType::F32, &device)?)?;
        let x = Tensor::zeros((0, 8), DType::F32, &device)?;
        for (_, kernel) in KERNELS {
            assert_eq!(kernel(&x, &w)?.dims(), [0, 3]);
        }
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let w = Ternary::quantize(&Tensor::ones((3, 8), DType::F32, &Device::Cpu)?)?;
    for (_, kernel) in KERNELS {
        let x = Tensor::ones((2, 8), DType::F64, &Device::Cpu)?;
        let message = kernel(&x, &w).unwrap_err().to_string();
        assert!(message.contains("expected f32 or bf16"), "{message}");
        let x = Tensor::ones((2, 9), DType::F32, &Device::Cpu)?;
        let message = kernel(&x, &w).unwrap_err().to_string();
        assert!(message.contains("(…, 8), found [2, 9]"), "{message}");
    }
    Ok(())
}

#[test]
fn launches_have_the_constants_of_the_kernels() {
    for (stem, kernels) in [
        ("lut", &["lut"][..]),
        ("dp4a", &["dp4a", "quantize", "dp4a_tile"]),
    ] {
        let file = KernelFile::read(&format!("ternary_linear/level4/{stem}"), "sm_75");
        let (warps, warp) = (file.constant("WARPS"), file.constant("WARP"));
        assert_eq!(warps * warp, level4::THREADS, "{stem}");
        // The header of `dp4a.cu` has ` TN = `, too.
        assert_eq!(warps * file.constant("int TN"), level4::ROWS, "{stem}");
        for kernel in kernels {
            for dtype in ["f32", "bf16"] {
                let entry = format!("ternary_linear_{kernel}_{dtype}_level4");
                assert_eq!(file.max_threads(&entry), level4::THREADS, "{entry}");
            }
        }
    }
}
