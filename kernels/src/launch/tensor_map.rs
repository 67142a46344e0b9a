//! Tensor maps: descriptions of tensors for Hopper's TMA, 128 bytes that the driver encodes.
//!
//! TMA, the Tensor Memory Accelerator, is a unit of an SM that copies boxes of a tensor between global and
//! shared memory. "CUDA driver API", `cuTensorMapEncodeTiled`.

use std::mem::MaybeUninit;
use std::ptr;

use candle_core::cuda_backend::WrapErr;
use candle_core::cuda_backend::cudarc::driver::{DeviceRepr, sys};
use candle_core::{DType, Result, Tensor};

use super::HeadLayout;
use crate::error::mismatch;

/// A tensor map, passed to a kernel by value.
#[repr(transparent)]
pub struct TensorMap(sys::CUtensorMap);

// SAFETY: it is the driver's own type for this parameter, plain words, which a kernel gets as they are.
unsafe impl DeviceRepr for TensorMap {}

impl TensorMap {
    /// The bytes that a kernel gets.
    pub fn bytes(&self) -> Vec<u8> {
        let words = self.0.opaque.iter();
        words.flat_map(|word| word.to_ne_bytes()).collect()
    }
}

/// Encodes a contiguous bf16 tensor (…, columns) at `address` as a matrix, with boxes of this many rows and
/// columns.
///
/// # Errors
/// See [`encode`].
pub fn of_matrix(
    kernel: &str,
    x: &Tensor,
    address: u64,
    [rows, columns]: [usize; 2],
) -> Result<TensorMap> {
    let width = x.dims().last().copied().unwrap_or(1);
    let height = x.elem_count() / width.max(1);
    let boxes = Boxes {
        dims: [width, height],
        steps: &[width],
        size: [columns, rows],
    };
    encode(kernel, x.dtype(), address, &boxes)
}

/// Encodes a bf16 view (B, T, H, D) at `address`, with boxes of 64 channels of one head and this many tokens.
///
/// # Errors
/// See [`encode`].
pub fn of_heads(
    kernel: &str,
    x: &Tensor,
    address: u64,
    HeadLayout { dims, steps }: HeadLayout,
    tokens: usize,
) -> Result<TensorMap> {
    let [sequences, length, heads, channels] = dims;
    // A stride that is never used, but must be valid for the driver.
    let [sequence, token, head] = steps.map(|step| if step == 0 { channels } else { step });
    let boxes = Boxes {
        dims: [channels, heads, length, sequences],
        steps: &[head, token, sequence],
        size: [64, 1, tokens, 1],
    };
    encode(kernel, x.dtype(), address, &boxes)
}

/// A tensor and its boxes; dimensions start with the innermost.
struct Boxes<'a, const RANK: usize> {
    dims: [usize; RANK],
    /// Elements between neighbours, for all dimensions except the innermost.
    steps: &'a [usize],
    size: [usize; RANK],
}

/// Encodes a map. A box's row has 64 or 128 bytes, whose 16-byte chunks are swizzled by the row number. Parts
/// of a box outside the tensor read as zeros and are not written.
///
/// # Errors
/// If the driver rejects it: an address or a stride that is not a multiple of 16 bytes, or a box of more than
/// 256 rows.
fn encode<const RANK: usize>(
    kernel: &str,
    dtype: DType,
    address: u64,
    boxes: &Boxes<RANK>,
) -> Result<TensorMap> {
    use sys::CUtensorMapDataType_enum::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 as BF16;
    use sys::CUtensorMapFloatOOBfill_enum::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE as ZEROS;
    use sys::CUtensorMapInterleave_enum::CU_TENSOR_MAP_INTERLEAVE_NONE as ROWS;
    use sys::CUtensorMapL2promotion_enum::CU_TENSOR_MAP_L2_PROMOTION_L2_128B as LINES;
    use sys::CUtensorMapSwizzle_enum::{
        CU_TENSOR_MAP_SWIZZLE_64B as BY_64, CU_TENSOR_MAP_SWIZZLE_128B as BY_128,
    };
    let swizzle = match (dtype, boxes.size[0]) {
        (DType::BF16, 32) => BY_64,
        (DType::BF16, 64) => BY_128,
        (dtype, columns) => {
            let found = format!("{columns} of {dtype:?}");
            return Err(mismatch(kernel, "boxes of 32 or 64 columns of bf16", found));
        }
    };
    let bytes = |step: &usize| (step * dtype.size_in_bytes()) as u64;
    let strides: Vec<u64> = boxes.steps.iter().map(bytes).collect();
    let (dims, size) = (boxes.dims.map(|n| n as u64), boxes.size.map(|n| n as u32));
    let mut map = MaybeUninit::uninit();
    // SAFETY: the arrays have as many elements as the tensor has dimensions, one fewer for the strides, and outlive the
    // call; the driver only checks `address` and writes all of `map`, which has its type and alignment.
    unsafe {
        sys::cuTensorMapEncodeTiled(
            map.as_mut_ptr(),
            BF16,
            RANK as u32,
            ptr::without_provenance_mut(address as usize),
            dims.as_ptr(),
            strides.as_ptr(),
            size.as_ptr(),
            [1; RANK].as_ptr(),
            ROWS,
            swizzle,
            LINES,
            ZEROS,
        )
        .result()
        .w()?;
        Ok(TensorMap(map.assume_init()))
    }
}
