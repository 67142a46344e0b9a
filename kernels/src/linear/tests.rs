//! Every level, and every entry of level 5, against the oracle, on every device that is here.

use candle_core::cpu::erf::erf_f64;
use candle_core::{DType, Device, Result, Tensor};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::level4::{Op, Packed, Product};
use super::level5::Call;
use super::tile::tiles;
use super::{Shape, level3, level4, level5};
use crate::dispatch::{Entry, Facts};
use crate::output::poisoned;
use crate::testing::{
    Devices, Expected, assert_close, behind, cases, devices, gpu, hardware, host, is_sanitized,
    pairwise, relative_error, rng, skip, tolerance, uniform,
};

/// Maximum number of multiply-adds of a case. Larger ones are [`large_shapes_equal_the_oracle`]'s.
const LIMIT: usize = 1 << 24;

/// One product of each kind, of one level.
struct Level {
    name: &'static str,
    linear: fn(&Tensor, &Tensor, Option<&Tensor>) -> Result<Tensor>,
    gelu: fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>,
    swiglu: fn(&Tensor, &Tensor) -> Result<Tensor>,
}

const LEVELS: [Level; 3] = [
    Level {
        name: "level 3",
        linear: level3::linear,
        gelu: level3::linear_gelu,
        swiglu: level3::linear_swiglu,
    },
    Level {
        name: "level 4",
        linear: |x, w, b| level4::linear(x, &Packed::new(w)?, b),
        gelu: |x, w, b| level4::linear_gelu(x, &Packed::new(w)?, b),
        swiglu: |x, w| level4::linear_swiglu(x, &Packed::gate_up(w)?),
    },
    Level {
        name: "level 5",
        linear: |x, w, b| level5::linear(x, &Packed::new(w)?, b),
        gelu: |x, w, b| level5::linear_gelu(x, &Packed::new(w)?, b),
        swiglu: |x, w| level5::linear_swiglu(x, &Packed::gate_up(w)?),
    },
];

/// Σ x·w + b, and Σ |x||w| + |b|, which its rounding errors scale with.
#[derive(Clone, Copy)]
struct Sum {
    value: f64,
    scale: f64,
}

/// x (M, K), w (N, K) → (M, N)
fn sums(x: &[f64], w: &[f64], (m, n, k): (usize, usize, usize)) -> Vec<Sum> {
    let sum = |at: usize| {
        let (i, j) = (at / n, at % n);
        let products = x[i * k..][..k].iter().zip(&w[j * k..][..k]);
        let (mut value, mut scale) = (0., 0.);
        for (x, w) in products {
            value += x * w;
            scale += (x * w).abs();
        }
        Sum { value, scale }
    };
    (0..m * n).into_par_iter().map(sum).collect()
}

fn expected(sums: impl Iterator<Item = Sum>) -> Expected {
    let (values, scales) = sums.map(|s| (s.value, s.scale)).unzip();
    Expected { values, scales }
}

/// The slope of gelu is below 1.13.
fn gelu(s: Sum) -> Sum {
    Sum {
        value: s.value * 0.5 * (1. + erf_f64(s.value / 2f64.sqrt())),
        scale: s.scale * 1.13,
    }
}

/// The slope of silu is below 1.1.
fn swiglu(gate: Sum, up: Sum) -> Sum {
    let silu = gate.value / (1. + (-gate.value).exp());
    Sum {
        value: silu * up.value,
        scale: 1.1 * gate.scale * up.value.abs() + silu.abs() * up.scale,
    }
}

/// x (M, K), w (2N, K), of which the plain products take the upper half, b (N).
fn compare(
    rng: &mut ChaCha8Rng,
    (m, n, k, bias): (usize, usize, usize, bool),
    dtype: DType,
    device: &Device,
) -> Result<()> {
    let (x, x64) = uniform(rng, &[m, k], dtype, device)?;
    let (w, w64) = uniform(rng, &[2 * n, k], dtype, device)?;
    let (b, b64) = uniform(rng, &[n], dtype, device)?;
    compare_with(&[x, w, b], &[x64, w64, b64], (m, n, k, bias), dtype, device)
}

/// [`compare`] of operands and their values.
fn compare_with(
    [x, w, b]: &[Tensor; 3],
    [x64, w64, b64]: &[Vec<f64>; 3],
    (m, n, k, bias): (usize, usize, usize, bool),
    dtype: DType,
    device: &Device,
) -> Result<()> {
    let half = w.narrow(0, 0, n)?;

    let gate = sums(x64, &w64[..n * k], (m, n, k));
    let up = sums(x64, &w64[n * k..], (m, n, k));
    let add = |(i, s): (usize, &Sum)| {
        let b = b64[i % n];
        Sum {
            value: s.value + b,
            scale: s.scale + b.abs(),
        }
    };
    let biased = || gate.iter().enumerate().map(add);
    let linear = if bias {
        expected(biased())
    } else {
        expected(gate.iter().copied())
    };
    let linear_gelu = expected(biased().map(gelu));
    let linear_swiglu = expected(gate.iter().zip(&up).map(|(&g, &u)| swiglu(g, u)));

    let tolerance = tolerance(dtype, 1e-4);
    let (plain, gated) = (Packed::new(&half)?, Packed::gate_up(w)?);
    for (call, expected) in [
        (Call::linear(x, &plain, bias.then_some(b))?, &linear),
        (Call::gelu(x, &plain, b)?, &linear_gelu),
        (Call::swiglu(x, &gated)?, &linear_swiglu),
    ] {
        let facts = Facts::of(device)?;
        for entry in level5::REGISTRY.able(&call.problem, facts) {
            if !watchable(entry, dtype) {
                continue;
            }
            let y = poisoned(|| call.run(entry.run))?;
            let what = format!("{} {device:?} {} bias {bias}", entry.name, call.problem);
            assert_close(&what, &y, expected, tolerance)?;
        }
    }

    for level in &LEVELS {
        let what = format!(
            "{} {device:?} {dtype:?} {m}×{n}×{k} bias {bias}",
            level.name
        );
        let y = poisoned(|| (level.linear)(x, &half, bias.then_some(b)))?;
        assert_close(&format!("linear {what}"), &y, &linear, tolerance)?;
        let y = poisoned(|| (level.gelu)(x, &half, b))?;
        assert_close(&format!("linear_gelu {what}"), &y, &linear_gelu, tolerance)?;
        let y = poisoned(|| (level.swiglu)(x, w))?;
        assert_close(
            &format!("linear_swiglu {what}"),
            &y,
            &linear_swiglu,
            tolerance,
        )?;
    }
    Ok(())
}

/// Whether a sanitizer can watch `entry`, if there is one.
fn watchable(entry: &Entry<level5::Run>, dtype: DType) -> bool {
    let library = matches!(entry.run, level5::Run::Candle | level5::Run::CublasLt);
    let watchable = !(library && dtype == DType::BF16 && is_sanitized());
    if !watchable {
        let what = format!("{} in bf16", entry.name);
        skip(&what, "sanitizers report false errors in cuBLAS's kernels");
    }
    watchable
}

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    compare_all(devices(), |multiply_adds| multiply_adds <= LIMIT)
}

#[test]
#[ignore = "large: run it with `cargo test -p kernels -- --ignored large`"]
fn large_shapes_equal_the_oracle() -> Result<()> {
    compare_all(hardware(), |multiply_adds| multiply_adds > LIMIT)
}

/// Shapes that cover all pairs of sizes, those whose number of multiply-adds is `taken`.
fn compare_all(devices: Devices, taken: fn(usize) -> bool) -> Result<()> {
    let mut rng = rng();
    let rows = [1, 2, 31, 33, 197];
    let columns = [1, 7, 64, 65, 257, 513, 1000, 4096, 10000];
    for device in devices {
        for shape in pairwise(&[&rows, &columns, &columns, &[0, 1], &[0, 1]]) {
            let (m, n, k) = (shape[0], shape[1], shape[2]);
            if taken(m * n * k) {
                let dtype = [DType::F32, DType::BF16][shape[4]];
                compare(&mut rng, (m, n, k, shape[3] == 1), dtype, &device)?;
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn any_shape(m in 0..70usize, n in 1..140usize, k in 0..140usize, bias: bool, half: bool) {
        let dtype = if half { DType::BF16 } else { DType::F32 };
        for device in devices() {
            compare(&mut rng(), (m, n, k, bias), dtype, &device).expect("a kernel for any shape");
        }
    }
}

/// Contiguous views that start one element after a multiple of 16 bytes.
#[test]
fn operands_begin_anywhere() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        for dtype in [DType::F32, DType::BF16] {
            for (m, n, k) in [(1, 40, 64), (3, 16, 24), (70, 72, 136), (256, 192, 64)] {
                let operand = |rng: &mut _, dims: &[usize]| {
                    let (x, x64) = uniform(rng, dims, dtype, &device)?;
                    Ok::<_, candle_core::Error>((behind(&x)?, x64))
                };
                let (x, x64) = operand(&mut rng, &[m, k])?;
                let (w, w64) = operand(&mut rng, &[2 * n, k])?;
                let (b, b64) = operand(&mut rng, &[n])?;
                let shape = (m, n, k, true);
                compare_with(&[x, w, b], &[x64, w64, b64], shape, dtype, &device)?;
            }
        }
    }
    Ok(())
}

/// Every tile, whatever the size would choose. The shapes end inside a tile; K is a multiple of a step, of a chunk of
/// 16 bytes, and of neither.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn every_tile_on_a_gpu_equals_the_oracle() -> Result<()> {
    let device = gpu()?;
    let mut rng = rng();
    for dtype in [DType::F32, DType::BF16] {
        for tile in 0..tiles("linear_level4", dtype)?.len() {
            for (m, n, k) in [(1, 1, 1), (150, 200, 128), (130, 129, 200), (33, 70, 67)] {
                let (x, x64) = uniform(&mut rng, &[m, k], dtype, &device)?;
                let (w, w64) = uniform(&mut rng, &[2 * n, k], dtype, &device)?;
                let (shape, tolerance) = (Shape { m, n, k }, tolerance(dtype, 1e-4));
                let gate = sums(&x64, &w64[..n * k], (m, n, k));
                let up = sums(&x64, &w64[n * k..], (m, n, k));
                let what = format!("tile {tile} {dtype:?} {m}×{n}×{k}");
                let product = |op| Product {
                    op,
                    x: &x,
                    w: &w,
                    b: None,
                    shape,
                };
                let y = poisoned(|| product(Op::Linear).tile(tile))?;
                assert_close(&what, &y, &expected(gate.iter().copied()), tolerance)?;
                let y = poisoned(|| product(Op::SwiGlu).tile(tile))?;
                let gated = gate.iter().zip(&up).map(|(&g, &u)| swiglu(g, u));
                assert_close(&what, &y, &expected(gated), tolerance)?;
            }
        }
    }
    Ok(())
}

/// Three products of TF32 are a product of f32: over a long K, too, whose sums the tensor cores would cut off. A single
/// product of TF32 has 10 bits of each factor, too few for this.
#[test]
fn split_tf32_is_as_accurate_as_f32() -> Result<()> {
    let (m, n, k) = (33, 31, 3076);
    for device in devices() {
        let (x, x64) = uniform(&mut rng(), &[m, k], DType::F32, &device)?;
        let (w, w64) = uniform(&mut rng(), &[n, k], DType::F32, &device)?;
        let sums = sums(&x64, &w64, (m, n, k));
        let (w, facts) = (Packed::new(&w)?, Facts::of(&device)?);
        let call = Call::linear(&x, &w, None)?;
        for entry in level5::REGISTRY.able(&call.problem, facts) {
            if !matches!(entry.run, level5::Run::Mma(_)) {
                continue;
            }
            let y = host(&call.run(entry.run)?)?;
            let off = relative_error(&y, sums.iter().map(|sum| sum.value));
            assert!(off < 1e-6, "{} on {device:?}: {off}", entry.name);
        }
    }
    Ok(())
}

/// GELU where it bends, where it is nearly zero and where it is nearly x, by each kernel: sums of one product.
#[test]
fn gelu_over_its_range() -> Result<()> {
    let (m, n, k) = (641, 8, 8);
    for device in devices() {
        for dtype in [DType::F32, DType::BF16] {
            let values: Vec<f32> = (0..m).map(|i| (i as f32 - 320.) / 16.).collect();
            let values = Tensor::new(values, &Device::Cpu)?.to_dtype(dtype)?;
            let one = Tensor::new(&[1f32, 0., 0., 0., 0., 0., 0., 0.], &Device::Cpu)?;
            let x = values
                .reshape((m, 1))?
                .broadcast_mul(&one.to_dtype(dtype)?)?;
            let w = Packed::new(&Tensor::ones((n, k), dtype, &device)?)?;
            let b = Tensor::zeros(n, dtype, &device)?;
            let sum = |value: f64| {
                let scale = match dtype {
                    DType::BF16 => 1e-5 * value.abs() + gelu(Sum { value, scale: 0. }).value.abs(),
                    _ => value.abs(), // 1 + erf of a large negative number has few bits
                };
                let Sum { value, .. } = gelu(Sum { value, scale });
                [Sum { value, scale }; 8]
            };
            let expected = expected(host(&values)?.into_iter().flat_map(sum));
            let x = x.to_device(&device)?;
            let call = Call::gelu(&x, &w, &b)?;
            for entry in level5::REGISTRY.able(&call.problem, Facts::of(&device)?) {
                if !watchable(entry, dtype) {
                    continue;
                }
                let y = poisoned(|| call.run(entry.run))?;
                let what = format!("{} {dtype:?} {device:?}", entry.name);
                assert_close(&what, &y, &expected, tolerance(dtype, 1e-6))?;
            }
        }
    }
    Ok(())
}

#[test]
fn leading_dimensions_are_kept() -> Result<()> {
    for device in devices() {
        let x = Tensor::ones((2, 3, 5), DType::F32, &device)?;
        let w = Tensor::ones((8, 5), DType::F32, &device)?;
        let b = Tensor::ones(8, DType::F32, &device)?;
        for level in &LEVELS {
            assert_eq!((level.linear)(&x, &w, Some(&b))?.dims(), [2, 3, 8]);
            assert_eq!((level.gelu)(&x, &w, &b)?.dims(), [2, 3, 8]);
            assert_eq!((level.swiglu)(&x, &w)?.dims(), [2, 3, 4]);
        }
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let x = Tensor::zeros((2, 8), DType::F32, &Device::Cpu)?;
    let w = Tensor::zeros((5, 8), DType::F32, &Device::Cpu)?;
    let b = Tensor::zeros(5, DType::F32, &Device::Cpu)?;
    for Level {
        linear,
        gelu,
        swiglu,
        ..
    } in &LEVELS
    {
        assert!(linear(&x, &w.t()?.contiguous()?, None).is_err());
        assert!(linear(&x, &w, Some(&b.narrow(0, 0, 4)?)).is_err());
        assert!(linear(&x, &w.to_dtype(DType::BF16)?, None).is_err());
        assert!(linear(&x.t()?, &w.t()?, None).is_err());
        assert!(linear(&x.to_dtype(DType::F64)?, &w.to_dtype(DType::F64)?, None).is_err());
        assert!(gelu(&x, &w, &b.to_dtype(DType::BF16)?).is_err());
        assert!(swiglu(&x, &w).is_err(), "an odd number of rows");
    }
    Ok(())
}
