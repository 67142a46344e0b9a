//! The memory pool that candle allocates from on a GPU.

use candle_core::Result;
use candle_core::cuda::WrapErr;
use cudarc::driver::result::{device, mem_pool};
use cudarc::driver::sys::{CUmemPool_attribute, CUmemoryPool};

/// Keeps freed memory in the pool instead of returning it at the next synchronisation, because candle frees
/// every temporary and allocates it again soon.
pub fn keep(ordinal: usize) -> Result<()> {
    let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    set(pool(ordinal)?, threshold, u64::MAX)
}

/// Resets the peak of [`peak_bytes`].
pub fn reset_peak(ordinal: usize) -> Result<()> {
    let high = CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
    set(pool(ordinal)?, high, 0)
}

/// Returns the maximum bytes in use since [`reset_peak`].
pub fn peak_bytes(ordinal: usize) -> Result<u64> {
    let high = CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
    let (pool, mut value) = (pool(ordinal)?, 0u64);
    // SAFETY: the pool is the device's own and lives as long as the driver; this attribute is a
    // cuuint64_t, which is what `value` is, and the pointer is not kept.
    unsafe { mem_pool::get_attribute(pool, high, (&raw mut value).cast()) }.w()?;
    Ok(value)
}

fn pool(ordinal: usize) -> Result<CUmemoryPool> {
    let device = device::get(ordinal as i32).w()?;
    // SAFETY: `device` was returned by `device::get`.
    unsafe { device::get_mem_pool(device) }.w()
}

/// Sets a 64-bit attribute; USED_MEM_HIGH accepts only 0.
fn set(pool: CUmemoryPool, attribute: CUmemPool_attribute, mut value: u64) -> Result<()> {
    // SAFETY: the pool is the device's own and lives as long as the driver; the attributes that are
    // set in this file are cuuint64_t, which is what `value` is, and the pointer is not kept.
    unsafe { mem_pool::set_attribute(pool, attribute, (&raw mut value).cast()) }.w()
}
