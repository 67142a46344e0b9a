//! Tests of CPU details: packed weights, edges of tiles and blocks, threads.

use candle_core::{DType, Device, Result, Tensor};
use half::bf16;
use pulp::{Arch, Simd, WithSimd};

use super::panels::{Order, Panels, Stored};
use super::{level3, level4, rectangles};
use crate::output::poisoned;
use crate::testing::{host, rng, uniform};

/// The two rows of w in each lane of each step of a panel; elements of row r are r + 1.
struct RowsOf<'a, T>(&'a Panels, usize, std::marker::PhantomData<T>);

impl<T: Stored> WithSimd for RowsOf<'_, T> {
    type Output = Vec<[Vec<f32>; 2]>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let steps = T::steps::<S>(self.0.get(self.1)).iter();
        let lanes = |v: S::f32s| pulp::bytemuck::cast_slice(&[v]).to_vec();
        steps.map(|&step| T::lanes(simd, step).map(lanes)).collect()
    }
}

fn rows_of<T: Stored>(w: &Panels, panel: usize) -> Vec<[Vec<f32>; 2]> {
    Arch::new().dispatch(RowsOf::<T>(w, panel, std::marker::PhantomData))
}

/// w (N, K) with r + 1 throughout row r: exact in bf16 up to 255.
fn numbered(n: usize, k: usize, dtype: DType) -> Result<Tensor> {
    let rows = Tensor::arange(1f32, n as f32 + 1., &Device::Cpu)?.reshape((n, 1))?;
    rows.broadcast_as((n, k))?.contiguous()?.to_dtype(dtype)
}

#[test]
fn panels_have_neighbours_and_end_in_zeros() -> Result<()> {
    for dtype in [DType::F32, DType::BF16] {
        let (n, k) = (75, 3);
        let w = Panels::new(&numbered(n, k, dtype)?)?;
        for panel in 0..w.len() {
            let steps = match dtype {
                DType::F32 => rows_of::<f32>(&w, panel),
                _ => rows_of::<bf16>(&w, panel),
            };
            assert_eq!(steps.len(), k);
            let row = |i: usize| if i < n { i as f32 + 1. } else { 0. };
            let expected: Vec<f32> = (0..w.width).map(|c| row(panel * w.width + c)).collect();
            for step in steps {
                assert_eq!(step.concat(), expected, "{dtype:?} panel {panel}");
            }
        }
    }
    Ok(())
}

#[test]
fn panels_pair_gate_and_up() -> Result<()> {
    for dtype in [DType::F32, DType::BF16] {
        let (f, k) = (37, 2);
        let w = Panels::gate_up(&numbered(2 * f, k, dtype)?)?;
        assert_eq!(w.n, f);
        for panel in 0..w.len() {
            let steps = match dtype {
                DType::F32 => rows_of::<f32>(&w, panel),
                _ => rows_of::<bf16>(&w, panel),
            };
            for [gate, up] in steps {
                for (lane, (gate, up)) in gate.into_iter().zip(up).enumerate() {
                    let i = panel * w.width + lane;
                    let (g, u) = if i < f { (i + 1, f + i + 1) } else { (0, 0) };
                    assert_eq!((gate, up), (g as f32, u as f32), "{dtype:?} {i}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn panels_in_the_wrong_order_are_an_error() -> Result<()> {
    let w = Tensor::zeros((4, 3), DType::F32, &Device::Cpu)?;
    let x = Tensor::zeros((1, 3), DType::F32, &Device::Cpu)?;
    assert!(level4::linear::<f32>(&x, &Panels::gate_up(&w)?, None, None, None).is_err());
    assert!(level4::linear_swiglu::<f32>(&x, &Panels::new(&w)?, None).is_err());
    assert!(Panels::new(&w)?.check("", Order::Plain).is_ok());
    Ok(())
}

#[test]
fn rectangles_cover_y_once() {
    for (m, n, rows, columns) in [(1, 1, 1, 1), (7, 5, 3, 2), (4, 6, 4, 6), (5, 9, 9, 4)] {
        let mut y = vec![0; m * n];
        for rectangle in rectangles(&mut y, n, (rows, columns)) {
            for (i, row) in rectangle.rows.into_iter().enumerate() {
                for (j, y) in row.iter_mut().enumerate() {
                    *y += (rectangle.row + i) * n + rectangle.column + j + 1;
                }
            }
        }
        assert!(y.into_iter().eq(1..=m * n), "{m}×{n} by {rows}×{columns}");
    }
}

/// Every height of a tile and every remainder of a panel, compared with sums in f64.
#[test]
fn tiles_end_at_every_row_and_column() -> Result<()> {
    let mut rng = rng();
    for dtype in [DType::F32, DType::BF16] {
        for (m, n, k) in (1..=30).flat_map(|m| [(m, 2 * m + 5, 9), (m, 33, 1), (m, 64, 1024)]) {
            let (x, x64) = uniform(&mut rng, &[m, k], dtype, &Device::Cpu)?;
            let (w, w64) = uniform(&mut rng, &[n, k], dtype, &Device::Cpu)?;
            let panels = Panels::new(&w)?;
            let y = poisoned(|| match dtype {
                DType::F32 => level4::linear::<f32>(&x, &panels, None, None, None),
                _ => level4::linear::<bf16>(&x, &panels, None, None, None),
            })?;
            for (i, y) in host(&y)?.into_iter().enumerate() {
                let (x, w) = (&x64[i / n * k..][..k], &w64[i % n * k..][..k]);
                let sum: f64 = x.iter().zip(w).map(|(x, w)| x * w).sum();
                let scale: f64 = x.iter().zip(w).map(|(x, w)| (x * w).abs()).sum();
                let tolerance = if dtype == DType::F32 { 1e-5 } else { 1e-2 };
                assert!(
                    (y - sum).abs() <= tolerance * scale,
                    "{dtype:?} {m}×{n}×{k}: {y}, not {sum}"
                );
            }
        }
    }
    Ok(())
}

/// The division of work may change the order of additions, in tiles of one or two rows, but nothing else.
#[test]
fn any_number_of_threads_gives_the_same() -> Result<()> {
    let mut rng = rng();
    for (m, n, k) in [(1, 3000, 200), (50, 70, 300), (700, 33, 40), (197, 384, 96)] {
        let (x, _) = uniform(&mut rng, &[m, k], DType::F32, &Device::Cpu)?;
        let (w, _) = uniform(&mut rng, &[n, k], DType::F32, &Device::Cpu)?;
        let panels = Panels::new(&w)?;
        let mut alone: Option<[Vec<f64>; 2]> = None;
        for threads in [1, 2, 3, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.map_err(candle_core::Error::wrap)?;
            let levels = pool.install(|| -> Result<_> {
                let three = poisoned(|| level3::linear::<f32>(&x, &w, None, None))?;
                let four = poisoned(|| level4::linear::<f32>(&x, &panels, None, None, None))?;
                Ok([host(&three)?, host(&four)?])
            })?;
            let alone = alone.get_or_insert_with(|| levels.clone());
            for (level, (found, expected)) in levels.iter().zip(alone).enumerate() {
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * k as f64;
                let same = found.iter().zip(&*expected).all(near);
                let level = level + 3;
                assert!(same, "level {level}, {m}×{n}×{k}, {threads} threads");
            }
        }
    }
    Ok(())
}
