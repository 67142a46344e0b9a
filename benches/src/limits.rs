//! Memory bandwidth and matmul throughput of a device, measured in the run whose times are compared with them.

use std::hint::black_box;

use candle_core::{DType, Device, Result, Tensor};
use kernels::linear::level5::linear;
use kernels::matmul::level5::matmul;
use models::Linear;
use models::trace::profile::Limits;
use rayon::prelude::*;

use crate::ops::{HostCopy, Timed};
use crate::timer::{Timer, Times};

/// Samples of each limit. The fastest one counts, because a limit is an upper bound.
const SAMPLES: usize = 10;

/// Bytes that are copied, and on a CPU read: several times the caches of either.
const MOVED: [usize; 2] = [128 << 20, 1 << 30];

/// Rows and columns of the matrices: enough to keep all threads of a CPU, or all SMs of a GPU, busy.
const SIDE: [usize; 2] = [1024, 8192];

/// Bandwidth: that of a copy; on a CPU that of reading alone, if it is higher. FLOPs: those of the fastest of candle's
/// matmul, level 5's `matmul` and level 5's `linear`, which on a GPU computes f32 as three TF32 matmuls. On a GPU the
/// matmuls are in `dtype`; a CPU computes in f32 only.
///
/// # Errors
/// If the device cannot allocate the buffers, or an operation on it fails.
pub fn measure(device: &Device, dtype: DType) -> Result<Limits> {
    let timer = Timer::new(device)?;
    Ok(Limits {
        bytes_per_s: bandwidth(&timer, device)?,
        flops_per_s: rate(&timer, device, dtype)?,
    })
}

/// Bytes a second, those read and those written. A CPU's copy also reads what it is going to write over: those bytes are
/// not counted, and what only reads, such as a product with one row, may be faster.
fn bandwidth(timer: &Timer, device: &Device) -> Result<f64> {
    let bytes = MOVED[usize::from(!device.is_cpu())];
    if device.is_cpu() {
        let copied = 2. * bytes as f64 / fastest(timer, &mut HostCopy::new(bytes)?)?;
        let read = bytes as f64 / fastest(timer, &mut HostRead::new(bytes)?)?;
        return Ok(copied.max(read));
    }
    let x = Tensor::zeros(bytes, DType::U8, device)?;
    Ok(2. * bytes as f64 / fastest(timer, &mut || x.copy())?)
}

/// Reading by all threads of a CPU.
struct HostRead {
    from: Vec<u64>,
    nothing: Tensor,
}

impl HostRead {
    /// Words that a thread takes at a time.
    const PIECE: usize = 128 * 1024 / size_of::<u64>();

    fn new(bytes: usize) -> Result<Self> {
        Ok(Self {
            from: vec![1; bytes / size_of::<u64>()],
            nothing: Tensor::zeros(0, DType::U8, &Device::Cpu)?,
        })
    }

    fn sum(&self) -> u64 {
        let pieces = self.from.par_chunks(Self::PIECE);
        pieces.map(|piece| piece.iter().sum::<u64>()).sum()
    }
}

impl Timed for HostRead {
    fn call(&mut self) -> Result<Tensor> {
        black_box(self.sum());
        Ok(self.nothing.clone())
    }
}

/// Floating-point operations a second.
fn rate(timer: &Timer, device: &Device, dtype: DType) -> Result<f64> {
    let n = SIDE[usize::from(!device.is_cpu())];
    let dtype = if device.is_cpu() { DType::F32 } else { dtype };
    let draw = || Tensor::rand(-1f32, 1., (n, n), device)?.to_dtype(dtype);
    let (a, b) = (draw()?, draw()?);
    let candle = fastest(timer, &mut || a.matmul(&b))?;
    let level5 = fastest(timer, &mut || matmul(&a, &b, None))?;
    let w = Linear::new(b, None);
    let weight = fastest(timer, &mut || linear(&a, &w))?;
    Ok(2. * (n as f64).powi(3) / candle.min(level5).min(weight))
}

/// Seconds of one call, the device's own where it has a clock.
fn fastest(timer: &Timer, timed: &mut impl Timed) -> Result<f64> {
    let Times { host, device } = timer.time(timed, SAMPLES)?;
    Ok(device.unwrap_or(host)[0] * 1e-6) // in ascending order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read() -> Result<()> {
        let words = 3 * HostRead::PIECE + 5;
        assert_eq!(HostRead::new(8 * words)?.sum(), words as u64);
        Ok(())
    }
}
