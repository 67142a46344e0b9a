//! Helpers of kernel tests: devices, random inputs, shapes that cover all pairs, and comparisons with an
//! oracle.

mod kernel_file;
#[path = "../../tests/src/skip.rs"]
mod skip;

use std::sync::OnceLock;

use crate::cuda_graph;
use crate::launch::simulated;
use candle_core::{DType, Device, Result, Tensor};
use proptest::test_runner::Config as ProptestConfig;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub use kernel_file::{KernelFile, directive, kernels_folder};
pub use skip::skip;

/// Returns the bits of an f32 tensor's elements, for comparisons that distinguish NaN and −0.
pub fn bits(x: &Tensor) -> Result<Vec<u32>> {
    let x = x.flatten_all()?.to_vec1::<f32>()?;
    Ok(x.into_iter().map(f32::to_bits).collect())
}

/// Iterates over the CPU, the GPU in a CUDA build, and the CPU with every kernel simulated. A finding of the
/// simulator fails the test. With `CANDLEPOWER_SANITIZE` set there is no simulator: a sanitizer watches the
/// GPU.
///
/// A CUDA build without a GPU fails; another build [reports](skip) that it skips the GPU.
pub fn devices() -> Devices {
    if is_sanitized() {
        skip("the simulator", "a sanitizer watches the GPU");
        return hardware();
    }
    Devices {
        left: [Where::Simulated, Where::Gpu, Where::Cpu].into(),
        simulation: None,
    }
}

/// Same as [`devices`] without the simulator, which would take minutes for large shapes.
pub fn hardware() -> Devices {
    Devices {
        left: [Where::Gpu, Where::Cpu].into(),
        simulation: None,
    }
}

enum Where {
    Cpu,
    Gpu,
    Simulated,
}

/// Iterates over devices; the next one ends the simulation of the previous one.
pub struct Devices {
    left: Vec<Where>,
    simulation: Option<simulated::Before>,
}

impl Devices {
    fn end_simulation(&mut self) {
        let Some(before) = self.simulation.take() else {
            return;
        };
        let reports = simulated::end(before);
        let findings = reports
            .iter()
            .flat_map(|r| r.findings.iter().map(move |f| (r, f)));
        let lines: Vec<String> = findings.map(|(r, f)| format!("{}: {f}", r.entry)).collect();
        if lines.is_empty() {
            return;
        }
        let found = format!("the simulator found in the kernels:\n{}", lines.join("\n"));
        // A failed test already has a message, often because of these faults.
        if std::thread::panicking() {
            eprintln!("{found}");
        } else {
            panic!("{found}");
        }
    }
}

impl Iterator for Devices {
    type Item = Device;

    fn next(&mut self) -> Option<Device> {
        self.end_simulation();
        match self.left.pop()? {
            Where::Cpu => Some(Device::Cpu),
            Where::Gpu => gpu_if_built().or_else(|| self.next()),
            Where::Simulated => {
                self.simulation = Some(simulated::begin(simt::Options::default()));
                Some(Device::Cpu)
            }
        }
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        self.end_simulation();
    }
}

/// Returns the GPU for a test that needs one; `#[cfg_attr(not(feature = "cuda"), ignore = …)]` marks such a
/// test.
///
/// All tests share it and its stream, because a sanitizer follows one stream more reliably than many.
///
/// # Errors
/// Without the feature `cuda`, and if device 0 cannot be opened.
pub fn gpu() -> Result<Device> {
    static GPU: OnceLock<std::result::Result<Device, String>> = OnceLock::new();
    if !cfg!(feature = "cuda") {
        candle_core::bail!("needs a GPU: build with --features cuda");
    }
    let gpu = GPU.get_or_init(|| cuda_graph::open(0).map_err(|e| e.to_string()));
    gpu.clone()
        .map_err(|e| candle_core::Error::msg(format!("CUDA device 0: {e}")))
}

/// Returns the GPU for a test that also runs elsewhere. Without the feature `cuda` there is none, which is
/// [reported](skip).
///
/// # Panics
/// With the feature, if device 0 cannot be opened.
pub fn gpu_if_built() -> Option<Device> {
    if !cfg!(feature = "cuda") {
        skip("kernels on a GPU", "built without the feature `cuda`");
        return None;
    }
    Some(gpu().unwrap_or_else(|e| panic!("{e}")))
}

/// Whether a sanitizer watches every access. It is slow, and reports false errors in cuBLAS's bf16 kernels,
/// because it misses some of their writes.
pub fn is_sanitized() -> bool {
    std::env::var_os("CANDLEPOWER_SANITIZE").is_some()
}

/// Configures `all` cases of a property, or a few with `CANDLEPOWER_SANITIZE` set.
pub fn cases(all: u32) -> ProptestConfig {
    const FEW: u32 = 3;
    ProptestConfig::with_cases(if is_sanitized() { FEW } else { all })
}

/// Returns all elements, or only the first with `CANDLEPOWER_SANITIZE` set.
pub fn first_if_sanitized<T>(all: &[T]) -> &[T] {
    if is_sanitized() {
        let what = format!("all but the first of {} shapes", all.len());
        skip(&what, "a sanitizer watches every access");
        &all[..all.len().min(1)]
    } else {
        all
    }
}

/// Returns a generator with a new seed, which it prints; `CANDLEPOWER_SEED` sets a seed.
pub fn rng() -> ChaCha8Rng {
    let seed = match std::env::var("CANDLEPOWER_SEED") {
        Ok(seed) => seed.parse().expect("CANDLEPOWER_SEED: expected a u64"),
        Err(_) => rand::rng().random::<u64>(),
    };
    eprintln!("CANDLEPOWER_SEED={seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// Returns a contiguous copy of `x` that starts one element after the start of its memory.
pub fn behind(x: &Tensor) -> Result<Tensor> {
    let x1 = x.flatten_all()?;
    let with_one_before = Tensor::cat(&[&x1.narrow(0, 0, 1)?, &x1], 0)?;
    with_one_before
        .narrow(0, 1, x.elem_count())?
        .reshape(x.shape())
}

/// Returns uniform random numbers in −1..1, rounded to `dtype`: on `device`, and their values in f64.
pub fn uniform(
    rng: &mut ChaCha8Rng,
    shape: &[usize],
    dtype: DType,
    device: &Device,
) -> Result<(Tensor, Vec<f64>)> {
    let len = shape.iter().product();
    let values: Vec<f32> = (0..len).map(|_| rng.random::<f32>() * 2. - 1.).collect();
    let tensor = Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)?;
    let values = host(&tensor)?;
    Ok((tensor.to_device(device)?, values))
}

/// shift + scale·u in bf16 on the CPU, with u uniform in −1..1.
pub fn affine_bf16(
    rng: &mut ChaCha8Rng,
    shape: &[usize],
    (shift, scale): (f64, f64),
) -> Result<Tensor> {
    let (u, _) = uniform(rng, shape, DType::F32, &Device::Cpu)?;
    u.affine(scale, shift)?.to_dtype(DType::BF16)
}

/// Returns the elements in f64.
pub fn host(x: &Tensor) -> Result<Vec<f64>> {
    let x = x.to_device(&Device::Cpu)?.to_dtype(DType::F32)?;
    Ok(x.flatten_all()?
        .to_vec1::<f32>()?
        .into_iter()
        .map(f64::from)
        .collect())
}

/// Result of an oracle: values, and for each the scale of its rounding error.
pub struct Expected {
    /// Values in the order of the output's elements.
    pub values: Vec<f64>,
    /// Scales: Σ|a||b| for a sum of products; 1 or the value's magnitude for a normalised value.
    pub scales: Vec<f64>,
}

impl Expected {
    /// Values whose errors scale with max(1, |value|).
    pub fn of_order_one(values: Vec<f64>) -> Self {
        let scales = values.iter().map(|x| x.abs().max(1.)).collect();
        Self { values, scales }
    }
}

/// Returns the tolerance relative to an element's scale: `f32_tolerance` (1e-5 or 1e-4) for f32, 2e-2 for
/// bf16.
pub fn tolerance(dtype: DType, f32_tolerance: f64) -> f64 {
    match dtype {
        DType::BF16 => 2e-2,
        _ => f32_tolerance,
    }
}

/// Asserts that every element of `found` is within `tolerance` of its scale, and not NaN.
#[track_caller]
pub fn assert_close(what: &str, found: &Tensor, expected: &Expected, tolerance: f64) -> Result<()> {
    let found = host(found)?;
    assert_eq!(found.len(), expected.values.len(), "{what}: elements");
    let pairs = found.iter().zip(&expected.values).zip(&expected.scales);
    for (i, ((found, value), scale)) in pairs.enumerate() {
        let close = (found - value).abs() <= tolerance * scale + 1e-30;
        assert!(
            close,
            "{what}: element {i}: expected {value} ± {tolerance}·{scale}, found {found}"
        );
    }
    Ok(())
}

/// Returns the norm of the difference of two vectors, relative to the norm of `expected`.
pub fn relative_error(found: &[f64], expected: impl IntoIterator<Item = f64>) -> f64 {
    let (mut off, mut all) = (0., 0.);
    for (y, value) in found.iter().zip(expected) {
        off += (y - value).powi(2);
        all += value.powi(2);
    }
    (off / all).sqrt()
}

/// Returns combinations of one value from each of `axes` that cover every pair of values of two axes.
///
/// Greedy: each combination takes the values that cover the most new pairs. In the simulator, and with
/// `CANDLEPOWER_SANITIZE` set, large values are left out, because every access is watched.
pub fn pairwise(axes: &[&[usize]]) -> Vec<Vec<usize>> {
    let small: Vec<Vec<usize>> = axes.iter().map(|axis| small(axis)).collect();
    let axes: Vec<&[usize]> = small.iter().map(Vec::as_slice).collect();
    let mut missing = Vec::new();
    for a in 0..axes.len() {
        for b in a + 1..axes.len() {
            for &x in axes[a] {
                missing.extend(axes[b].iter().map(|&y| (a, x, b, y)));
            }
        }
    }
    let mut combinations = Vec::new();
    while let Some(&(a, x, b, y)) = missing.first() {
        let mut values: Vec<Option<usize>> = vec![None; axes.len()];
        values[a] = Some(x);
        values[b] = Some(y);
        for axis in 0..axes.len() {
            if values[axis].is_none() {
                let meets = |v: usize| {
                    let mut with = values.clone();
                    with[axis] = Some(v);
                    missing
                        .iter()
                        .filter(|&&(a, x, b, y)| with[a] == Some(x) && with[b] == Some(y))
                        .count()
                };
                values[axis] = axes[axis].iter().copied().max_by_key(|&v| meets(v));
            }
        }
        missing.retain(|&(a, x, b, y)| values[a] != Some(x) || values[b] != Some(y));
        combinations.push(values.into_iter().flatten().collect());
    }
    combinations
}

/// Returns the axis without its large values if every access is watched.
fn small(axis: &[usize]) -> Vec<usize> {
    const SMALL: usize = 80;
    if !is_sanitized() && !simulated::is_on() {
        return axis.to_vec();
    }
    let first = axis.first().copied().into_iter();
    let rest = axis.iter().copied().skip(1).filter(|&v| v <= SMALL);
    let small: Vec<usize> = first.chain(rest).collect();
    if small.len() < axis.len() {
        let what = format!("sizes above {SMALL} in the simulator or under a sanitizer");
        skip(&what, "every access is watched");
    }
    small
}

#[test]
fn pairwise_covers_every_pair() {
    let axes: [&[usize]; 4] = [&[1, 2, 31], &[1, 7, 64, 65], &[0, 1], &[5, 6, 7]];
    let all = pairwise(&axes);
    for a in 0..axes.len() {
        for b in a + 1..axes.len() {
            for &x in axes[a] {
                for &y in axes[b] {
                    assert!(
                        all.iter().any(|c| c[a] == x && c[b] == y),
                        "{a} {x} {b} {y}"
                    );
                }
            }
        }
    }
    assert!(all.len() < 3 * 4 * 2 * 3 / 2, "{}", all.len());
}
