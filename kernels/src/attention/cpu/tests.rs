//! Tests of CPU details: narrower registers, parts of a stream, and stale contents of a cache.

use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::{DType, Device, Result, Tensor};
use half::bf16;
use pulp::{Scalar, Simd, WithSimd};
use rand::RngExt;

use super::level4::{Elements, Product, Stored};
use crate::attention::{self, Cache};
use crate::rope;
use crate::testing::{host, rng, uniform};

/// Whether kernels use narrower vectors than the CPU's widest. Tests running at the same time differ only in
/// speed.
pub static NARROW: AtomicBool = AtomicBool::new(false);

/// Runs `op` with AVX2 if the CPU has it, otherwise lane by lane.
pub fn narrow<Op: WithSimd>(op: Op) -> Op::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return Simd::vectorize(simd, op);
    }
    Scalar::new().vectorize(op)
}

/// Returns the maximum absolute difference.
fn difference(x: &Tensor, y: &Tensor) -> Result<f64> {
    let pairs = host(x)?.into_iter().zip(host(y)?);
    Ok(pairs
        .map(|(x, y)| (x - y).abs())
        .fold(0., |a: f64, b| if b > a || b.is_nan() { b } else { a }))
}

/// Returns q, k and v (1, T, H or Hkv, D), as views of one tensor.
fn heads(t: usize, h: usize, h_kv: usize, d: usize, dtype: DType) -> Result<[Tensor; 3]> {
    let (x, _) = uniform(&mut rng(), &[1, t, h + 2 * h_kv, d], dtype, &Device::Cpu)?;
    Ok([
        x.narrow(2, 0, h)?,
        x.narrow(2, h, h_kv)?,
        x.narrow(2, h + h_kv, h_kv)?,
    ])
}

/// Appends `x` at `position..` to a level-4 cache; returns the queries.
fn append(cache: &mut Cache, x: &[Tensor; 3], position: usize) -> Result<Tensor> {
    let [q, k, v] = x;
    let (t, d) = (q.dim(1)?, q.dim(3)?);
    let cos = Tensor::ones((t, d / 2), q.dtype(), &Device::Cpu)?;
    rope::level4::rope_append(q, k, v, &cos, &cos.zeros_like()?, cache, position)
}

/// Returns the causal attention of `x`, all at once or `step` tokens at a time.
fn causal(x: &[Tensor; 3], step: usize) -> Result<Tensor> {
    let (t, h_kv, d) = (x[0].dim(1)?, x[1].dim(2)?, x[0].dim(3)?);
    let mut cache = Cache::new(1, t, h_kv, d, x[0].dtype(), &Device::Cpu)?;
    let mut parts = vec![];
    for first in (0..t).step_by(step) {
        let len = step.min(t - first);
        let [q, k, v] = x;
        let x = [
            q.narrow(1, first, len)?,
            k.narrow(1, first, len)?,
            v.narrow(1, first, len)?,
        ];
        let q = append(&mut cache, &x, first)?;
        parts.push(attention::level4::causal_attention(&q, &cache, first)?);
    }
    Tensor::cat(&parts, 1)
}

#[test]
fn decode_equals_prefill_up_to_the_last_position() -> Result<()> {
    for (t, h, h_kv, d) in [
        (64, 2, 2, 64),
        (65, 3, 1, 24),
        (130, 10, 2, 6),
        (192, 8, 1, 80),
    ] {
        for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::BF16, 1e-2)] {
            let x = heads(t, h, h_kv, d, dtype)?;
            let found = difference(&causal(&x, 1)?, &causal(&x, t)?)?;
            assert!(found <= tolerance, "{t} {h} {h_kv} {d} {dtype:?}: {found}");
        }
    }
    Ok(())
}

#[test]
fn parts_of_a_stream_are_merged() -> Result<()> {
    let x = heads(3001, 2, 1, 64, DType::F32)?;
    let mut cache = Cache::new(1, 3001, 1, 64, DType::F32, &Device::Cpu)?;
    let q = append(&mut cache, &x, 0)?
        .narrow(1, 3000, 1)?
        .contiguous()?;
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.expect("a few threads");
        pool.install(|| attention::level4::causal_attention(&q, &cache, 3000))
    };
    // 2, 4, 6 and 6 parts.
    let expected = with(1)?;
    for threads in [2, 3, 9] {
        assert!(
            difference(&with(threads)?, &expected)? <= 1e-6,
            "{threads} threads"
        );
    }
    Ok(())
}

#[test]
fn stale_contents_of_a_cache_are_not_read() -> Result<()> {
    let x = heads(70, 4, 2, 32, DType::F32)?;
    let old = heads(200, 4, 2, 32, DType::F32)?.map(|x| (x * f64::NAN).expect("NaN"));
    let mut used = Cache::new(1, 200, 2, 32, DType::F32, &Device::Cpu)?;
    append(&mut used, &old, 0)?;
    let mut fresh = Cache::new(1, 70, 2, 32, DType::F32, &Device::Cpu)?;
    let q = append(&mut used, &x, 0)?;
    append(&mut fresh, &x, 0)?;
    for (q, position) in [(q.clone(), 0), (q.narrow(1, 69, 1)?.contiguous()?, 69)] {
        let y = attention::level4::causal_attention(&q, &used, position)?;
        let expected = attention::level4::causal_attention(&q, &fresh, position)?;
        assert_eq!(difference(&y, &expected)?, 0., "position {position}");
    }
    Ok(())
}

#[test]
fn narrower_registers_give_the_same_result() -> Result<()> {
    for (t, h, h_kv, d) in [(197, 2, 2, 64), (70, 6, 2, 24)] {
        for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::BF16, 1e-2)] {
            let x = heads(t, h, h_kv, d, dtype)?;
            let all = || -> Result<[Tensor; 4]> {
                let [q, k, v] = &x;
                let full = attention::level4::attention(q, k, v)?;
                Ok([
                    causal(&x, t)?,
                    causal(&x, 1)?,
                    full,
                    attention::level3::attention(q, k, v)?,
                ])
            };
            let wide = all()?;
            NARROW.store(true, Ordering::Relaxed);
            let narrow = all()?;
            NARROW.store(false, Ordering::Relaxed);
            for (i, (narrow, wide)) in narrow.iter().zip(&wide).enumerate() {
                let found = difference(narrow, wide)?;
                assert!(
                    found <= tolerance,
                    "{t} {h} {h_kv} {d} {dtype:?} {i}: {found}"
                );
            }
        }
    }
    Ok(())
}

/// A matmul of `rows` rows in N registers and its sums in f64; b ends with its last row.
struct TestTile<T, const N: usize> {
    rows: usize,
    steps: usize,
    a: Vec<f32>,
    b: Vec<T>,
}

impl<T: Stored, const N: usize> WithSimd for &TestTile<T, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (width, steps) = (N * S::F32_LANES, self.steps);
        let b_step = self.b.len() / steps;
        let mut y = vec![f32::NAN; self.rows * width];
        simd.vectorize(Product::<T, N> {
            rows: self.rows,
            steps,
            a: Elements {
                data: &self.a,
                row: steps,
                step: 1,
            },
            b: &self.b,
            b_step,
            y: &mut y,
            y_step: width,
            add: false,
        });
        for (i, y) in y.chunks(width).enumerate() {
            for (c, y) in y.iter().enumerate().take(b_step) {
                let of = |s: usize| self.a[i * steps + s] * self.b[s * b_step + c].widen();
                let expected: f32 = (0..steps).map(of).sum();
                assert!(
                    (y - expected).abs() < 1e-4,
                    "{N} registers, row {i}, column {c}"
                );
            }
        }
    }
}

fn tile<T: Stored, const N: usize>(rows: usize, b_step: usize) {
    let (mut rng, steps) = (rng(), 7);
    let mut draw = || rng.random::<f32>() - 0.5;
    let a = (0..rows * steps).map(|_| draw()).collect();
    let b = (0..b_step * steps).map(|_| T::narrow(draw())).collect();
    let tile = TestTile::<T, N> { rows, steps, a, b };
    pulp::Arch::new().dispatch(&tile);
    narrow(&tile);
    Scalar::new().vectorize(&tile);
}

#[test]
fn tiles_of_every_height_and_ragged_rows() {
    for rows in 1..=17 {
        tile::<f32, 1>(rows, 16);
        tile::<f32, 3>(rows, 48);
        tile::<f32, 4>(rows, 64);
        tile::<bf16, 4>(rows, 64);
    }
    for b_step in [1, 7, 15, 49, 63] {
        tile::<f32, 1>(2, b_step.min(16));
        tile::<bf16, 1>(2, b_step.min(16));
        tile::<f32, 4>(2, b_step);
        tile::<bf16, 4>(2, b_step);
    }
}
