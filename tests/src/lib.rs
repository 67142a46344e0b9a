//! Tests across levels: goldens of other frameworks, agreement, and properties of the models.
//!
//! This library holds the helpers that the tests share; the tests are in the folder `tests/`.

pub mod goldens;
pub mod inputs;
mod skip;

use std::path::PathBuf;
use std::sync::OnceLock;

use candle_core::{DType, Device, Error, Result, Tensor};
use levels::Level;

pub use skip::skip;

/// The repository: where cargo says this package is, or, for a program that was taken elsewhere,
/// where its caller says with `CARGO_MANIFEST_DIR`.
pub fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = package.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(package).join("..")
}

/// Every level that exists, in order.
pub fn levels() -> Vec<Level> {
    levels::all()
}

/// Devices to run the models on: the CPU, and the GPU if this is a CUDA build. Without the feature `cuda` there is
/// none, which is [said](skip).
///
/// # Panics
/// With the feature, when device 0 cannot be opened.
pub fn devices() -> Vec<Device> {
    if cfg!(feature = "cuda") {
        return vec![Device::Cpu, gpu().unwrap_or_else(|e| panic!("{e}"))];
    }
    skip("models on a GPU", "built without the feature `cuda`");
    vec![Device::Cpu]
}

/// The GPU that tests share, for a test that needs one; `#[cfg_attr(not(feature = "cuda"), ignore = …)]` marks it.
///
/// # Errors
/// Those of [`own_gpu`].
pub fn gpu() -> Result<Device> {
    static GPU: OnceLock<std::result::Result<Device, String>> = OnceLock::new();
    let gpu = GPU.get_or_init(|| own_gpu().map_err(|e| e.to_string()));
    gpu.clone().map_err(Error::msg)
}

/// The GPU with a stream of the caller's own.
///
/// # Errors
/// Without the feature `cuda`, and when device 0 cannot be opened.
pub fn own_gpu() -> Result<Device> {
    if !cfg!(feature = "cuda") {
        candle_core::bail!("needs a GPU: build with --features cuda");
    }
    kernels::cuda_graph::open(0).map_err(|e| Error::msg(format!("CUDA device 0: {e}")))
}

/// Whether a sanitizer watches every access, which is slow.
pub fn is_sanitized() -> bool {
    std::env::var_os("CANDLEPOWER_SANITIZE").is_some()
}

/// Whether a sanitizer can watch `level`, if there is one. In bf16 on a GPU, levels 1, 2 and 5 run kernels of cuBLAS:
/// racecheck stops in them with an internal error, and initcheck does not see all of their writes.
pub fn watchable(level: u8, dtype: DType, device: &Device) -> bool {
    let cublas = matches!(level, 1 | 2 | 5) && dtype == DType::BF16 && !device.is_cpu();
    let watchable = !(cublas && is_sanitized());
    if !watchable {
        let what = format!("level {level} in bf16 on a GPU");
        skip(&what, "sanitizers report false errors in cuBLAS's kernels");
    }
    watchable
}

/// max |a − b| / max |b|: the difference from b relative to its largest element.
pub fn difference(a: &Tensor, b: &Tensor) -> Result<f32> {
    let flat = |t: &Tensor| {
        let t = t.to_device(&Device::Cpu)?.to_dtype(DType::F32)?;
        t.flatten_all()?.to_vec1::<f32>()
    };
    assert_eq!(a.dims(), b.dims(), "shapes differ");
    let (a, b) = (flat(a)?, flat(b)?);
    let largest = b.iter().fold(0f32, |m, x| m.max(x.abs()));
    let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs());
    // f32::max drops NaN: a NaN in either is a difference without bound.
    let worst = apart.fold(
        0f32,
        |m, x| if x.is_nan() { f32::INFINITY } else { m.max(x) },
    );
    Ok(worst / largest.max(f32::MIN_POSITIVE))
}
