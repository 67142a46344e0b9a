//! A number in flight from the device to the host, while the device goes on.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release};

use candle_core::cuda_backend::WrapErr;
use candle_core::cuda_backend::cudarc::driver::{CudaStream, PinnedHostSlice, result, sys};
use candle_core::{DType, Device, Result, Tensor};

use crate::error::mismatch;
use crate::launch::address;

/// The value of a slot before its copy has arrived.
const PENDING: u32 = u32::MAX;

/// Polls of a slot between two questions to the driver, whether a kernel has failed.
const POLLS: u32 = 1 << 16;

/// Page-locked memory for copies of a u32. Two copies may be under way.
pub struct Readback {
    stream: Arc<CudaStream>,
    slots: PinnedHostSlice<u32>,
    /// Copies queued, and copies read.
    queued: usize,
    read: usize,
}

const SLOTS: usize = 2;

impl Readback {
    pub fn new(device: &Device) -> Result<Self> {
        let Device::Cuda(cuda) = device else {
            let found = format!("{:?}", device.location());
            return Err(mismatch("readback", "a GPU", found));
        };
        let stream = cuda.cuda_stream();
        // SAFETY: `queue` writes a slot before anything reads it.
        let slots = unsafe { stream.context().alloc_pinned_with_flags::<u32>(SLOTS, 0) }.w()?;
        Ok(Self {
            stream,
            slots,
            queued: 0,
            read: 0,
        })
    }

    /// The memory of copy number `i`.
    fn slot(&self, i: usize) -> Result<*mut u32> {
        let start = self.slots.as_ptr().w()?.cast_mut();
        // SAFETY: the index is below the number of slots.
        Ok(unsafe { start.add(i % SLOTS) })
    }

    pub fn queue(&mut self, x: &Tensor) -> Result<()> {
        if self.queued - self.read == SLOTS {
            let expected = format!("at most {SLOTS} copies under way");
            return Err(mismatch("readback", expected, "one more"));
        }
        if (x.dtype(), x.elem_count()) != (DType::U32, 1) {
            let found = format!("{:?} of {}", x.dims(), x.dtype().as_str());
            return Err(mismatch("readback", "one u32", found));
        }
        let slot = self.slot(self.queued)?;
        let (storage, _) = x.storage_and_layout();
        let (from, _read) = address(x, &storage, &self.stream)?;
        // SAFETY: no copy to this slot is under way, and nothing else writes there.
        unsafe { AtomicU32::from_ptr(slot) }.store(PENDING, Release);
        // SAFETY: the slot lives until `drop` has waited for the stream. The driver alone writes it until `wait` has
        // seen the value; both sides access it as one aligned word.
        let to = unsafe { &mut *ptr::slice_from_raw_parts_mut(slot, 1) };
        // SAFETY: x is on this stream's device, and its memory is freed in the order of the stream.
        unsafe { result::memcpy_dtoh_async(to, from, self.stream.cu_stream()) }.w()?;
        self.queued += 1;
        Ok(())
    }

    pub fn wait(&mut self) -> Result<u32> {
        if self.read == self.queued {
            return Err(mismatch("readback", "a queued copy", "none"));
        }
        // SAFETY: the slot is an aligned word that lives as long as `self`.
        let slot = unsafe { AtomicU32::from_ptr(self.slot(self.read)?) };
        let value = loop {
            if (0..POLLS).any(|_| slot.load(Acquire) != PENDING) {
                break slot.load(Acquire);
            }
            // SAFETY: the stream is alive.
            match unsafe { sys::cuStreamQuery(self.stream.cu_stream()) } {
                sys::CUresult::CUDA_ERROR_NOT_READY => std::hint::spin_loop(),
                done => {
                    done.result().w()?;
                    break slot.load(Acquire);
                }
            }
        };
        self.read += 1;
        Ok(value)
    }

    pub fn pending(&self) -> usize {
        self.queued - self.read
    }
}

impl Drop for Readback {
    fn drop(&mut self) {
        // A copy may still be under way to the slots. After an error of the driver none is.
        let _ = self.stream.synchronize();
    }
}
