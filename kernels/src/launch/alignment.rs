//! Alignment of tensors: a load of 16 bytes needs an address that is a multiple of 16.
//!
//! Memory allocated by candle is aligned, so a tensor's offset in its memory decides.

use candle_core::{Result, Tensor};

/// Bytes of a chunk, loaded by one instruction.
pub(super) const CHUNK: usize = 16;

/// Whether each of `tensors` starts at a multiple of 16 bytes.
pub fn is_aligned_to_16_bytes(tensors: &[&Tensor]) -> bool {
    tensors.iter().all(|x| {
        let start = x.layout().start_offset() * x.dtype().size_in_bytes();
        start.is_multiple_of(CHUNK)
    })
}

/// Returns `x` if it starts at a multiple of 16 bytes, otherwise an aligned contiguous copy. (`Tensor::copy`
/// would copy the whole memory of `x` and keep its offset.)
///
/// # Errors
/// If there is no memory for the copy.
pub fn aligned_to_16_bytes(x: &Tensor) -> Result<Tensor> {
    if is_aligned_to_16_bytes(&[x]) {
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
        assert!(is_aligned_to_16_bytes(&[&x, &four]));
        assert!(!is_aligned_to_16_bytes(&[&x, &five]));
        let bf16 = x.to_dtype(DType::BF16)?;
        assert!(!is_aligned_to_16_bytes(&[&bf16.narrow(0, 4, 8)?]));
        assert!(is_aligned_to_16_bytes(&[&bf16.narrow(0, 8, 8)?]));
        let copy = aligned_to_16_bytes(&five)?;
        assert!(is_aligned_to_16_bytes(&[&copy]));
        assert_eq!(copy.to_vec1::<f32>()?, five.to_vec1::<f32>()?);
        Ok(())
    }
}
