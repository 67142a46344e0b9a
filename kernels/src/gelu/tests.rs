//! Both levels against the oracle, on every device.

use candle_core::{DType, Device, Result, Tensor};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

use crate::cpu::math::tests::erf_f64;
use crate::output::poisoned;
use crate::testing::{
    Expected, KernelFile, assert_close, cases, devices, host, rng, tolerance, uniform,
};

type Kernel = fn(&Tensor) -> Result<Tensor>;

const KERNELS: [(&str, Kernel); 2] = [
    ("level 3", super::level3::gelu),
    ("level 4", super::level4::gelu),
];

fn oracle(x: &[f64]) -> Expected {
    let gelu = |x: &f64| x * 0.5 * (1. + erf_f64(x / 2f64.sqrt()));
    Expected::of_order_one(x.iter().map(gelu).collect())
}

fn compare(
    rng: &mut ChaCha8Rng,
    n: usize,
    offset: usize,
    dtype: DType,
    device: &Device,
) -> Result<()> {
    let (x, _) = uniform(rng, &[offset + n], dtype, device)?;
    let x = (x.narrow(0, offset, n)? * 8.)?;
    let x = Tensor::cat(&[&x, &x], 0)?.narrow(0, offset.min(n), n)?;
    let expected = oracle(&host(&x)?);
    for (level, kernel) in KERNELS {
        let what = format!("{level} {device:?} {dtype:?} {n} from {offset}");
        let y = poisoned(|| kernel(&x))?;
        assert_close(&what, &y, &expected, tolerance(dtype, 1e-5))?;
    }
    Ok(())
}

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for n in [1, 7, 64, 65, 257, 513, 1000, 4096, 10000, 197 * 1536] {
            for dtype in [DType::F32, DType::BF16] {
                compare(&mut rng, n, n % 2, dtype, &device)?;
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_length(
        n in 1usize..100_000,
        offset in 0usize..5,
        dtype in prop::sample::select(vec![DType::F32, DType::BF16]),
    ) {
        for device in devices() {
            compare(&mut rng(), n, offset, dtype, &device).expect("a kernel that runs");
        }
    }
}

#[test]
fn far_from_zero_gelu_is_x_or_zero() -> Result<()> {
    for device in devices() {
        let x = Tensor::new(
            &[1e30f32, 100., -100., -1e30, f32::NAN, f32::INFINITY],
            &device,
        )?;
        for (level, kernel) in KERNELS {
            let y = host(&kernel(&x)?)?;
            assert_eq!(y[..4], [f64::from(1e30f32), 100., 0., 0.], "{level}");
            assert!(y[4].is_nan() && y[5] == f64::INFINITY, "{level} {y:?}");
        }
    }
    Ok(())
}

#[test]
fn the_shape_is_kept_and_an_empty_tensor_launches_nothing() -> Result<()> {
    for device in devices() {
        for shape in [&[2, 0, 3][..], &[2, 5, 3]] {
            let x = Tensor::zeros(shape, DType::F32, &device)?;
            for (_, kernel) in KERNELS {
                assert_eq!(kernel(&x)?.dims(), shape);
            }
        }
    }
    Ok(())
}

#[test]
fn other_dtypes_are_errors() -> Result<()> {
    let x = Tensor::zeros((2, 8), DType::F64, &Device::Cpu)?;
    for (_, kernel) in KERNELS {
        let error = kernel(&x).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("level 2 can"), "{error}");
    }
    Ok(())
}

#[test]
fn launches_have_the_threads_of_the_kernels() {
    let threads = super::level4_launch::THREADS;
    for target in ["sm_75", "sm_80"] {
        let file = KernelFile::read("gelu/level4", target);
        assert_eq!(file.constant("BLOCK"), threads);
        for entry in ["gelu_f32_level4", "gelu_bf16_level4"] {
            assert_eq!(file.max_threads(entry), threads, "{entry}, {target}");
        }
    }
}
