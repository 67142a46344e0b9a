//! Peak memory of a run, without what was allocated before.

use candle_core::{DType, Device, Result, Tensor};
use cli::device;
use peak_alloc::PeakAlloc;

/// Counts live bytes of the heap, with two atomic additions per allocation.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// A count in progress.
pub struct Peak<'a> {
    device: &'a Device,
    before: u64,
}

impl<'a> Peak<'a> {
    /// Starts the count; bytes that are live now do not count.
    pub fn begin(device: &'a Device) -> Result<Self> {
        if device.is_cpu() {
            HEAP.reset_peak_usage();
            let before = HEAP.current_usage() as u64;
            return Ok(Self { device, before });
        }
        // The driver's mark starts at zero and rises to the bytes in use at the next allocation.
        device.synchronize()?;
        device::reset_peak(device)?;
        Tensor::zeros(1, DType::U8, device)?;
        device.synchronize()?;
        let before = device::peak_bytes(device)?.unwrap_or(0);
        Ok(Self { device, before })
    }

    /// Returns the peak in bytes: of the heap on a CPU, of the memory pool on a GPU.
    pub fn end(self) -> Result<u64> {
        self.device.synchronize()?;
        let peak = match device::peak_bytes(self.device)? {
            Some(bytes) => bytes,
            None => HEAP.peak_usage() as u64,
        };
        Ok(peak.saturating_sub(self.before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_counts_while_it_lives() -> Result<()> {
        let kept = Tensor::zeros(8 << 20, DType::F32, &Device::Cpu)?;
        let peak = Peak::begin(&Device::Cpu)?;
        drop((&kept + 1.)?);
        drop((&kept + 2.)?);
        let bytes = peak.end()?;
        // 32 MiB at a time, not 64. Other tests allocate a little at the same time.
        assert!((24 << 20..48 << 20).contains(&bytes), "{bytes}");
        Ok(())
    }
}
