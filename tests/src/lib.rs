//! What holds across levels: goldens of other frameworks, agreement, and properties of the models.
//!
//! This library is what the tests share; the tests are beside it, in `tests/`.

pub mod goldens;
pub mod inputs;

use std::path::PathBuf;
use std::sync::OnceLock;

use candle_core::{DType, Device, Result, Tensor};
use levels::Level;

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

/// Where the models are computed: always the CPU, and the GPU when this is a CUDA build.
///
/// Without a GPU a CUDA build says so, by name, and tests the CPU alone. All tests share the one GPU.
pub fn devices() -> Vec<Device> {
    static GPU: OnceLock<std::result::Result<Device, String>> = OnceLock::new();
    let mut devices = vec![Device::Cpu];
    if cfg!(feature = "cuda") {
        match GPU.get_or_init(|| kernels::graph::open(0).map_err(|e| e.to_string())) {
            Ok(device) => devices.push(device.clone()),
            Err(e) => eprintln!("skipped: CUDA device 0: {e}"),
        }
    } else {
        eprintln!("skipped: CUDA: built without the feature `cuda`");
    }
    devices
}

/// Whether a tool watches every access, which takes its time.
pub fn is_sanitized() -> bool {
    std::env::var_os("CANDLEPOWER_SANITIZE").is_some()
}

/// Whether a tool that watches every access can watch `level`: always without one. In bf16 on a GPU, levels 1, 2 and 5
/// run kernels of cuBLAS, in which racecheck stops with an internal error of its own and of which initcheck does not
/// see all that they write: skipped, by name.
pub fn watchable(level: u8, dtype: DType, device: &Device) -> bool {
    let cublas = matches!(level, 1 | 2 | 5) && dtype == DType::BF16 && !device.is_cpu();
    let skip = cublas && is_sanitized();
    if skip {
        eprintln!("skipped: level {level}, CUDA, bf16: sanitizers err in cuBLAS's kernels");
    }
    !skip
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
