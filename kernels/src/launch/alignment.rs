//! 16-byte alignment: a load of 16 bytes needs an address that is a multiple of 16.
//!
//! Memory that candle allocates is aligned, so a tensor's offset in its memory decides. A row is aligned if its tensor
//! is and its length is a multiple of 16 bytes.

use candle_core::{Result, Tensor};

/// Bytes of a chunk, loaded by one instruction.
pub(super) const CHUNK: usize = 16;

/// Whether the first element of each of `tensors` is 16-byte aligned.
pub fn is_aligned(tensors: &[&Tensor]) -> bool {
    tensors.iter().all(|x| {
        let start = x.layout().start_offset() * x.dtype().size_in_bytes();
        start.is_multiple_of(CHUNK)
    })
}

/// `x` if it is 16-byte aligned, else a contiguous copy, which is. (`Tensor::copy` copies all of the memory that `x` is
/// a part of, and keeps the offset.)
///
/// # Errors
/// When there is no memory for the copy.
pub fn aligned(x: &Tensor) -> Result<Tensor> {
    if is_aligned(&[x]) {
        Ok(x.clone())
    } else {
        x.force_contiguous()
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;

    #[test]
    fn the_offset_decides() -> Result<()> {
        let x = Tensor::arange(0f32, 16., &Device::Cpu)?;
        let [four, five] = [x.narrow(0, 4, 8)?, x.narrow(0, 5, 8)?];
        assert!(is_aligned(&[&x, &four]));
        assert!(!is_aligned(&[&x, &five]));
        let bf16 = x.to_dtype(DType::BF16)?;
        assert!(!is_aligned(&[&bf16.narrow(0, 4, 8)?]));
        assert!(is_aligned(&[&bf16.narrow(0, 8, 8)?]));
        let copy = aligned(&five)?;
        assert!(is_aligned(&[&copy]));
        assert_eq!(copy.to_vec1::<f32>()?, five.to_vec1::<f32>()?);
        Ok(())
    }
}
