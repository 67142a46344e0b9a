//! What Hopper's copy engine has to know of a matrix: 128 bytes that the driver encodes.
//!
//! "CUDA driver API", `cuTensorMapEncodeTiled`.

use std::mem::MaybeUninit;
use std::ptr;

use candle_core::cuda_backend::WrapErr;
use candle_core::cuda_backend::cudarc::driver::{DeviceRepr, sys};
use candle_core::{DType, Result, Tensor};

use crate::error::mismatch;

/// Passed to a kernel by value.
#[repr(transparent)]
pub struct TensorMap(sys::CUtensorMap);

// SAFETY: it is the driver's own type for this parameter, plain words, which a kernel gets as they are.
unsafe impl DeviceRepr for TensorMap {}

/// Of a contiguous bf16 tensor (…, columns) at `address`, in boxes of so many rows and columns. A row of a box is 64 or
/// 128 bytes, whose 16-byte chunks change places by the number of the row. What a box has beyond the matrix is read as
/// zeros and not written.
///
/// # Errors
/// When the driver refuses it: an address or a row that is not a multiple of 16 bytes, a box of more than 256 rows.
pub fn encode(
    kernel: &str,
    x: &Tensor,
    address: u64,
    [rows, columns]: [usize; 2],
) -> Result<TensorMap> {
    use sys::CUtensorMapDataType_enum::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 as BF16;
    use sys::CUtensorMapFloatOOBfill_enum::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE as ZEROS;
    use sys::CUtensorMapInterleave_enum::CU_TENSOR_MAP_INTERLEAVE_NONE as ROWS;
    use sys::CUtensorMapL2promotion_enum::CU_TENSOR_MAP_L2_PROMOTION_L2_128B as LINES;
    use sys::CUtensorMapSwizzle_enum::{
        CU_TENSOR_MAP_SWIZZLE_64B as BY_64, CU_TENSOR_MAP_SWIZZLE_128B as BY_128,
    };
    let swizzle = match (x.dtype(), columns) {
        (DType::BF16, 32) => BY_64,
        (DType::BF16, 64) => BY_128,
        (dtype, columns) => {
            let found = format!("{columns} of {dtype:?}");
            return Err(mismatch(kernel, "boxes of 32 or 64 columns of bf16", found));
        }
    };
    let width = x.dims().last().copied().unwrap_or(1);
    let height = x.elem_count() / width.max(1);
    // From the innermost dimension out.
    let dims = [width as u64, height as u64];
    let strides = [(width * x.dtype().size_in_bytes()) as u64];
    let (size, steps) = ([columns as u32, rows as u32], [1, 1]);
    let mut map = MaybeUninit::uninit();
    // SAFETY: the arrays have as many elements as a matrix has dimensions, one fewer for the strides, and outlive the
    // call; the driver only checks `address` and writes all of `map`, which has its type and alignment.
    unsafe {
        sys::cuTensorMapEncodeTiled(
            map.as_mut_ptr(),
            BF16,
            2,
            ptr::without_provenance_mut(address as usize),
            dims.as_ptr(),
            strides.as_ptr(),
            size.as_ptr(),
            steps.as_ptr(),
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
