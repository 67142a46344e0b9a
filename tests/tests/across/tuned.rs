//! `level5::tuned`, the dispatch for other code, on every device: against sums in f64 and candle's own matmul.

mod linear;
mod picked;

use candle_core::{DType, Device, Result, Tensor, Var};
use kernels::output::poisoned;
use level5::tuned::Tuned;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tests::inputs::{fresh_rng, uniform};
use tests::{devices, gpu, is_sanitized, skip};

fn random(rng: &mut ChaCha8Rng, dims: &[usize], device: &Device) -> Result<Tensor> {
    let values = uniform(rng, 1, dims.iter().product());
    Tensor::from_vec(values, dims, &Device::Cpu)?.to_device(device)
}

/// The elements in f64, on the host.
fn exact(x: &Tensor) -> Result<Tensor> {
    if x.elem_count() == 0 {
        return Tensor::zeros(x.shape(), DType::F64, &Device::Cpu); // candle panics at some views of nothing
    }
    let x = x.contiguous()?.to_device(&Device::Cpu)?;
    x.to_dtype(DType::F64)
}

/// Largest error of `found` as a share of `scale`, element by element. NaN is infinitely wrong.
fn worst(found: &Tensor, expected: &Tensor, scale: &Tensor) -> Result<f64> {
    let errors = ((exact(found)? - expected)?.abs()? / (scale + 1e-30)?)?;
    let errors = errors.flatten_all()?.to_vec1::<f64>()?;
    let nan_as_infinite = |x: f64| if x.is_nan() { f64::INFINITY } else { x };
    Ok(errors.into_iter().map(nan_as_infinite).fold(0., f64::max))
}

fn multiply(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    match a.rank() {
        2 => a.mm_tuned(b),
        _ => a.bmm_tuned(b),
    }
}

/// Checks A·B, computed into poisoned memory, against sums in f64, whose rounding errors scale with Σ|a||b|.
fn compare(a: &Tensor, b: &Tensor) -> Result<()> {
    let what = format!("{a:?} · {b:?}, strides {:?} {:?}", a.stride(), b.stride());
    let tolerance = if a.dtype() == DType::BF16 { 1e-2 } else { 1e-5 };
    let c = poisoned(|| multiply(a, b))?;
    let dims = [&a.dims()[..a.rank() - 1], &b.dims()[b.rank() - 1..]].concat();
    assert_eq!((c.dims(), c.dtype()), (&dims[..], a.dtype()), "{what}");
    if c.elem_count() == 0 {
        return Ok(());
    }
    let (a, b) = (exact(a)?, exact(b)?);
    let scale = a.abs()?.matmul(&b.abs()?)?;
    let worst = worst(&c, &a.matmul(&b)?, &scale)?;
    assert!(worst < tolerance, "{what}: {worst:.1e}");
    Ok(())
}

/// One matmul (M, K)·(K, N) per shape (M, N, K), on every device.
fn compare_all(shapes: &[(usize, usize, usize)]) -> Result<()> {
    let mut rng = fresh_rng();
    for device in devices() {
        for &(m, n, k) in shapes {
            let a = random(&mut rng, &[m, k], &device)?;
            compare(&a, &random(&mut rng, &[k, n], &device)?)?;
        }
    }
    Ok(())
}

/// Sizes without those that take a sanitizer minutes.
fn sizes(all: &[usize]) -> Vec<usize> {
    if !is_sanitized() {
        return all.to_vec();
    }
    skip(
        "matmuls of sizes above 80",
        "a sanitizer watches every access",
    );
    all.iter().copied().filter(|&n| n <= 80).collect()
}

#[test]
fn rectangles_squares_and_one_by_one() -> Result<()> {
    let squares = sizes(&[1, 16, 31, 32, 33, 64, 65, 128, 192, 256, 512]);
    let squares: Vec<_> = squares.into_iter().map(|n| (n, n, n)).collect();
    compare_all(&squares)?;
    compare_all(&[
        (64, 64, 128),
        (32, 128, 64),
        (1, 77, 33),
        (77, 1, 33),
        (17, 33, 9),
    ])
}

#[test]
fn around_the_largest_that_is_small() -> Result<()> {
    let mut shapes = vec![];
    for m in sizes(&[255, 256, 257]) {
        shapes.extend([(255, 257), (256, 256), (257, 255)].map(|(n, k)| (m, n, k)));
    }
    compare_all(&shapes)
}

#[test]
fn without_terms_a_sum_is_zero_and_without_rows_there_is_none() -> Result<()> {
    compare_all(&[(3, 4, 0), (1, 1, 0), (0, 4, 3), (3, 0, 4), (0, 0, 0)])?;
    let mut rng = fresh_rng();
    for device in devices() {
        for (batch, m, k) in [(2, 5, 0), (2, 0, 5), (0, 5, 3)] {
            let a = random(&mut rng, &[batch, m, k], &device)?;
            compare(&a, &random(&mut rng, &[batch, k, 4], &device)?)?;
        }
    }
    Ok(())
}

#[test]
fn a_batch_is_multiplied_matrix_by_matrix() -> Result<()> {
    let mut rng = fresh_rng();
    for device in devices() {
        for (batch, m, n, k) in [
            (4, 32, 32, 64),
            (1, 20, 30, 10),
            (7, 1, 1, 1),
            (65, 5, 17, 9),
        ] {
            let a = random(&mut rng, &[batch, m, k], &device)?;
            compare(&a, &random(&mut rng, &[batch, k, n], &device)?)?;
        }
    }
    Ok(())
}

#[test]
fn operands_may_be_transposed_strided_or_shared() -> Result<()> {
    let mut rng = fresh_rng();
    for device in devices() {
        let mut random = |dims: &[usize]| random(&mut rng, dims, &device);
        let mut views = |rows: usize, columns: usize| -> Result<Vec<Tensor>> {
            Ok(vec![
                random(&[rows, columns])?,
                random(&[columns, rows])?.t()?,
                random(&[rows + 2, columns + 3])?
                    .narrow(0, 1, rows)?
                    .narrow(1, 2, columns)?,
                random(&[columns + 1, rows + 2])?
                    .narrow(0, 1, columns)?
                    .narrow(1, 1, rows)?
                    .t()?,
                random(&[1, columns])?.broadcast_as((rows, columns))?,
            ])
        };
        for (m, n, k) in [(17, 33, 9), (64, 48, 100), (1, 20, 30)] {
            for a in views(m, k)? {
                for b in views(k, n)? {
                    compare(&a, &b)?;
                }
            }
        }
        let shared = random(&[40, 24])?.broadcast_as((3, 40, 24))?;
        compare(&random(&[3, 20, 40])?, &shared)?;
        let turned = random(&[3, 40, 20])?.transpose(1, 2)?;
        compare(&turned, &random(&[40, 3, 24])?.transpose(0, 1)?)?;
    }
    Ok(())
}

#[test]
fn any_shape() -> Result<()> {
    let (cases, largest) = if is_sanitized() { (3, 80) } else { (40, 512) };
    let mut rng = fresh_rng();
    for device in devices() {
        for _ in 0..cases {
            let [m, n, k] = [(); 3].map(|()| rng.random_range(0..=largest));
            let mut matrix = |rows, columns| {
                if rng.random::<bool>() {
                    random(&mut rng, &[columns, rows], &device)?.t()
                } else {
                    random(&mut rng, &[rows, columns], &device)
                }
            };
            compare(&matrix(m, k)?, &matrix(k, n)?)?;
        }
    }
    Ok(())
}

/// Other dtypes, other ranks, and sizes beyond the measured ones.
#[test]
fn all_else_is_candles() -> Result<()> {
    let mut rng = fresh_rng();
    for device in devices() {
        if !device.is_cpu() && is_sanitized() {
            skip(
                "candle's matmuls on a GPU",
                "sanitizers report false errors in cuBLAS's kernels",
            );
            continue;
        }
        // A GPU refuses to convert nothing, so the host converts.
        let mut random = |dims: &[usize], dtype| {
            let x = random(&mut rng, dims, &Device::Cpu)?.to_dtype(dtype)?;
            x.to_device(&device)
        };
        for (a, b, dtype) in [
            (&[8, 9][..], &[9, 7][..], DType::F64),
            (&[3, 0], &[0, 4], DType::F64),
            (&[40, 33], &[33, 64], DType::BF16),
            (&[3, 0], &[0, 4], DType::BF16),
            (&[4, 8, 16], &[4, 16, 8], DType::BF16),
            (&[2, 3, 4, 5], &[2, 3, 5, 6], DType::F32),
        ] {
            let (a, b) = (random(a, dtype)?, random(b, dtype)?);
            assert_eq!(a.product_info(&b)?, "candle: not eligible", "{a:?}");
            compare(&a, &b)?;
        }
        let (a, b) = (
            random(&[600, 600], DType::F32)?,
            random(&[600, 600], DType::F32)?,
        );
        let info = a.product_info(&b)?;
        assert!(info.starts_with("candle: "), "{info}");
        compare(&a, &b)?;
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_candles_errors() -> Result<()> {
    let mut rng = fresh_rng();
    for device in devices() {
        let mut random = |dims: &[usize]| random(&mut rng, dims, &device);
        let (a, b) = (random(&[4, 5])?, random(&[6, 7])?);
        let (c, d) = (random(&[2, 4, 5])?, random(&[3, 5, 7])?);
        for found in [
            a.mm_tuned(&b),
            a.bmm_tuned(&b),
            c.bmm_tuned(&d),
            c.mm_tuned(&b),
        ] {
            let error = found.unwrap_err().to_string();
            assert!(error.contains("shape mismatch in matmul"), "{error}");
        }
    }
    Ok(())
}

/// ∂A and ∂B of Σ W⊙(A·B), against W·Bᵀ and Aᵀ·W in f64.
#[test]
fn gradients_are_matmuls_too() -> Result<()> {
    let mut rng = fresh_rng();
    for device in devices() {
        let shapes: [&[&[usize]; 3]; 3] = [
            &[&[5, 7], &[7, 3], &[5, 3]],
            &[&[64, 33], &[33, 65], &[64, 65]],
            &[&[4, 5, 7], &[4, 7, 3], &[4, 5, 3]],
        ];
        for dims in shapes {
            let [a, b, w] = dims.map(|dims| random(&mut rng, dims, &device));
            let (a, b, w) = (Var::from_tensor(&a?)?, Var::from_tensor(&b?)?, w?);
            let grads = poisoned(|| (multiply(&a, &b)? * &w)?.sum_all()?.backward())?;
            let [a64, b64, w64] = [a.as_tensor(), b.as_tensor(), &w].map(exact);
            let (a64, b64, w64) = (a64?, b64?, w64?);
            let last = a.rank() - 1;
            let turned = |x: &Tensor| x.transpose(last - 1, last)?.contiguous();
            for (var, x, y) in [(&a, &w64, &turned(&b64)?), (&b, &turned(&a64)?, &w64)] {
                let found = grads.get(var).expect("a gradient");
                let scale = x.abs()?.matmul(&y.abs()?)?;
                let worst = worst(found, &x.matmul(y)?, &scale)?;
                assert!(worst < 1e-5, "{dims:?} on {device:?}: {worst:.1e}");
            }
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn operands_on_two_devices_are_candles_error() -> Result<()> {
    let (gpu, mut rng) = (gpu()?, fresh_rng());
    let on_gpu = random(&mut rng, &[4, 4], &gpu)?;
    let on_cpu = random(&mut rng, &[4, 4], &Device::Cpu)?;
    for found in [on_gpu.mm_tuned(&on_cpu), on_cpu.mm_tuned(&on_gpu)] {
        let error = found.unwrap_err().to_string();
        assert!(error.contains("device mismatch in matmul"), "{error}");
    }
    Ok(())
}
