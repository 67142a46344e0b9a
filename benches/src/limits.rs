//! What a device can do at the most, measured in the same run as what is held against it.

use candle_core::{DType, Device, Result, Tensor};
use kernels::linear::level5::{Packed, linear};
use kernels::matmul::level5::matmul;
use models::trace::profile::Limits;

use crate::ops::{HostCopy, Timed};
use crate::timer::{Timer, Times};

/// Samples of each, of which the fastest counts: a limit is what the device can do, not what it mostly does.
const SAMPLES: usize = 10;

/// Bytes that are copied: on a CPU and on a GPU several times the caches.
const COPIED: [usize; 2] = [128 << 20, 1 << 30];

/// Rows and columns of the matrices: enough to keep all threads of a CPU, or all SMs of a GPU, busy.
const SIDE: [usize; 2] = [1024, 8192];

/// Bandwidth by a copy, and the rate by a product: the fastest of candle's and level 5's two, of which that with a weight
/// makes f32 of TF32 on a GPU. A GPU's product is in `dtype`; a CPU has no arithmetic but f32's.
///
/// # Errors
/// What the device does.
pub fn measure(device: &Device, dtype: DType) -> Result<Limits> {
    let timer = Timer::new(device)?;
    Ok(Limits {
        bytes_per_s: bandwidth(&timer, device)?,
        flops_per_s: rate(&timer, device, dtype)?,
    })
}

/// Bytes a second, those read and those written.
fn bandwidth(timer: &Timer, device: &Device) -> Result<f64> {
    let bytes = COPIED[usize::from(!device.is_cpu())];
    let seconds = match device.is_cpu() {
        true => fastest(timer, &mut HostCopy::new(bytes)?)?,
        false => {
            let x = Tensor::zeros(bytes, DType::U8, device)?;
            fastest(timer, &mut || x.copy())?
        }
    };
    Ok(2. * bytes as f64 / seconds)
}

/// Floating-point operations a second.
fn rate(timer: &Timer, device: &Device, dtype: DType) -> Result<f64> {
    let n = SIDE[usize::from(!device.is_cpu())];
    let dtype = if device.is_cpu() { DType::F32 } else { dtype };
    let draw = || Tensor::rand(-1f32, 1., (n, n), device)?.to_dtype(dtype);
    let (a, b) = (draw()?, draw()?);
    let candle = fastest(timer, &mut || a.matmul(&b))?;
    let level5 = fastest(timer, &mut || matmul(&a, &b, None))?;
    let w = Packed::new(&b)?;
    let weight = fastest(timer, &mut || linear(&a, &w, None))?;
    Ok(2. * (n as f64).powi(3) / candle.min(level5).min(weight))
}

/// Seconds of one call, the device's own where it has a clock.
fn fastest(timer: &Timer, timed: &mut impl Timed) -> Result<f64> {
    let Times { host, device } = timer.time(timed, SAMPLES)?;
    Ok(device.unwrap_or(host)[0] * 1e-6) // in ascending order
}
