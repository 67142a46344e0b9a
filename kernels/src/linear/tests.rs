//! Every level, and every entry of level 5, against the oracle, on every device.

use candle_core::{DType, Device, Result, Tensor};
use operands::Linear;
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

mod errors;
mod head_pass;
mod level3_row;
mod norm_gemv;
mod oracle;
mod row_gemv;

use oracle::{Sum, expected, gelu, sums, swiglu};

use super::gemm::{Epilogue, Gemm};
use super::level5::Call;
use super::tile::tiles;
use super::{Shape, level3, level4, level5};
use crate::dispatch::{Entry, Facts};
use crate::output::poisoned;
use crate::testing::{
    Devices, assert_close, behind, cases, devices, gpu, hardware, host, is_sanitized, pairwise,
    relative_error, rng, skip, tolerance, uniform,
};

/// Maximum multiply-adds of a case; [`large_shapes_equal_the_oracle`] has larger ones.
const LIMIT: usize = 1 << 24;

type Narrow = fn(&Tensor, &Linear) -> Result<Tensor>;

/// One linear layer of each kind, at one level.
struct Level {
    name: &'static str,
    linear: Narrow,
    residual: fn(&Tensor, &Linear, &Tensor) -> Result<Tensor>,
    gelu: Narrow,
    swiglu: Narrow,
}

const LEVELS: [Level; 3] = [
    Level {
        name: "level 3",
        linear: level3::linear,
        residual: level3::linear_residual,
        gelu: level3::linear_gelu,
        swiglu: level3::linear_swiglu,
    },
    Level {
        name: "level 4",
        linear: level4::linear,
        residual: level4::linear_residual,
        gelu: level4::linear_gelu,
        swiglu: level4::linear_swiglu,
    },
    Level {
        name: "level 5",
        linear: level5::linear,
        residual: level5::linear_residual,
        gelu: level5::linear_gelu,
        swiglu: level5::linear_swiglu,
    },
];

/// Operands: x (M, K), w (2N, K), whose upper half all but SwiGLU use, b (N), and the residual (M, N).
fn compare(
    rng: &mut ChaCha8Rng,
    (m, n, k, bias): (usize, usize, usize, bool),
    dtype: DType,
    device: &Device,
) -> Result<()> {
    let mut draw = |dims: &[usize]| uniform(rng, dims, dtype, device);
    let operands = [
        draw(&[m, k])?,
        draw(&[2 * n, k])?,
        draw(&[n])?,
        draw(&[m, n])?,
    ];
    compare_with(&operands, (m, n, k, bias), dtype, device)
}

/// Same as [`compare`] for given operands and values.
fn compare_with(
    [(x, x64), (w, w64), (b, b64), (r, r64)]: &[(Tensor, Vec<f64>); 4],
    (m, n, k, bias): (usize, usize, usize, bool),
    dtype: DType,
    device: &Device,
) -> Result<()> {
    let half = w.narrow(0, 0, n)?;

    let gate = sums(x64, &w64[..n * k], (m, n, k));
    let up = sums(x64, &w64[n * k..], (m, n, k));
    let add = |(i, s): (usize, &Sum)| s.plus(b64[i % n]);
    let biased = || gate.iter().enumerate().map(add);
    let plain: Vec<Sum> = if bias {
        biased().collect()
    } else {
        gate.clone()
    };
    let linear = expected(plain.iter().copied());
    let residual = expected(plain.iter().zip(r64).map(|(s, &r)| s.plus(r)));
    let linear_gelu = expected(biased().map(gelu));
    let linear_swiglu = expected(gate.iter().zip(&up).map(|(&g, &u)| swiglu(g, u)));

    let tolerance = tolerance(dtype, 1e-4);
    let plain = Linear::new(half.clone(), bias.then(|| b.clone()));
    let with_bias = Linear::new(half, Some(b.clone()));
    let gated = Linear::new(w.clone(), None);
    for (call, expected) in [
        (Call::linear(x, &plain)?, &linear),
        (Call::residual(x, &plain, r)?, &residual),
        (Call::gelu(x, &with_bias)?, &linear_gelu),
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
        let y = poisoned(|| (level.linear)(x, &plain))?;
        assert_close(&format!("linear {what}"), &y, &linear, tolerance)?;
        let y = poisoned(|| (level.residual)(x, &plain, r))?;
        assert_close(&format!("linear_residual {what}"), &y, &residual, tolerance)?;
        let y = poisoned(|| (level.gelu)(x, &with_bias))?;
        assert_close(&format!("linear_gelu {what}"), &y, &linear_gelu, tolerance)?;
        let y = poisoned(|| (level.swiglu)(x, &gated))?;
        assert_close(
            &format!("linear_swiglu {what}"),
            &y,
            &linear_swiglu,
            tolerance,
        )?;
    }
    Ok(())
}

/// Whether a sanitizer, if there is one, can watch `entry`.
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

/// Tests shapes that cover all pairs of sizes, if their number of multiply-adds is `taken`.
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
                let operands = [
                    operand(&mut rng, &[m, k])?,
                    operand(&mut rng, &[2 * n, k])?,
                    operand(&mut rng, &[n])?,
                    operand(&mut rng, &[m, n])?,
                ];
                compare_with(&operands, (m, n, k, true), dtype, &device)?;
            }
        }
    }
    Ok(())
}

/// Every tile, not only the one for the size. The shapes end inside a tile; K is a multiple of a step, of a
/// chunk of 16 bytes, and of neither.
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
                let (r, r64) = uniform(&mut rng, &[m, n], dtype, &device)?;
                let (shape, tolerance) = (Shape { m, n, k }, tolerance(dtype, 1e-4));
                let gate = sums(&x64, &w64[..n * k], (m, n, k));
                let up = sums(&x64, &w64[n * k..], (m, n, k));
                let what = format!("tile {tile} {dtype:?} {m}×{n}×{k}");
                let launch = |epilogue, residual| {
                    let gemm = Gemm {
                        epilogue,
                        x: &x,
                        w: &w,
                        b: None,
                        residual,
                        shape,
                    };
                    level4::launch_tile(&gemm, tile)
                };
                let y = poisoned(|| launch(Epilogue::Bias, None))?;
                assert_close(&what, &y, &expected(gate.iter().copied()), tolerance)?;
                let y = poisoned(|| launch(Epilogue::Bias, Some(&r)))?;
                let added = gate.iter().zip(&r64).map(|(s, &r)| s.plus(r));
                assert_close(&what, &y, &expected(added), tolerance)?;
                let y = poisoned(|| launch(Epilogue::SwiGlu, None))?;
                let gated = gate.iter().zip(&up).map(|(&g, &u)| swiglu(g, u));
                assert_close(&what, &y, &expected(gated), tolerance)?;
            }
        }
    }
    Ok(())
}

/// Three TF32 matmuls are as accurate as one in f32, also over a long K, whose sums tensor cores would
/// truncate. A single TF32 matmul has 10 bits per factor, too few for this.
#[test]
fn split_tf32_is_as_accurate_as_f32() -> Result<()> {
    let (m, n, k) = (33, 31, 3076);
    for device in devices() {
        let (x, x64) = uniform(&mut rng(), &[m, k], DType::F32, &device)?;
        let (w, w64) = uniform(&mut rng(), &[n, k], DType::F32, &device)?;
        let sums = sums(&x64, &w64, (m, n, k));
        let (w, facts) = (Linear::new(w, None), Facts::of(&device)?);
        let call = Call::linear(&x, &w)?;
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

/// Each kernel computes GELU where it is curved, near zero, and near x.
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
            let b = Tensor::zeros(n, dtype, &device)?;
            let w = Linear::new(Tensor::ones((n, k), dtype, &device)?, Some(b));
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
            let call = Call::gelu(&x, &w)?;
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
        let r = Tensor::ones((2, 3, 8), DType::F32, &device)?;
        let (layer, gated) = (Linear::new(w.clone(), Some(b)), Linear::new(w, None));
        for level in &LEVELS {
            assert_eq!((level.linear)(&x, &layer)?.dims(), [2, 3, 8]);
            assert_eq!((level.residual)(&x, &layer, &r)?.dims(), [2, 3, 8]);
            assert_eq!((level.gelu)(&x, &layer)?.dims(), [2, 3, 8]);
            assert_eq!((level.swiglu)(&x, &gated)?.dims(), [2, 3, 4]);
        }
    }
    Ok(())
}

/// One weight may be used as a layer and as the two halves of a gate: the packed forms differ.
#[test]
fn a_weight_serves_both_orders() -> Result<()> {
    let (x, _) = uniform(&mut rng(), &[3, 5], DType::F32, &Device::Cpu)?;
    let (w, _) = uniform(&mut rng(), &[8, 5], DType::F32, &Device::Cpu)?;
    let shared = Linear::new(w.clone(), None);
    for level in &LEVELS {
        for narrow in [level.linear, level.swiglu, level.linear] {
            let alone = narrow(&x, &Linear::new(w.clone(), None))?;
            assert_eq!(
                host(&narrow(&x, &shared)?)?,
                host(&alone)?,
                "{}",
                level.name
            );
        }
    }
    Ok(())
}
