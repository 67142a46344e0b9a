//! The minimum bytes and FLOPs of an op, which every kernel needs: the two numbers of the roofline.

use candle_core::DType;

/// Bytes that have to cross the memory bus, each input read once and each output written once, and
/// floating-point operations, an addition and a multiplication counting one each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// bytes
    pub bytes: u64,
    /// FLOPs
    pub flops: u64,
}

impl Cost {
    /// `elements` of `dtype` moved, and `flops` done.
    pub fn new(elements: usize, dtype: DType, flops: usize) -> Self {
        Self {
            bytes: (elements * dtype.size_in_bytes()) as u64,
            flops: flops as u64,
        }
    }
}
