//! The moments of the first block's x: the launch of `moments.cu`.

use candle_core::{DType, Result, Tensor};

use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("encoder_pass/level5/moments", sm_90);

/// THREADS of `moments.cu`.
const THREADS: usize = 256;

/// PART of `encoder.cuh`: columns whose moments are added.
pub const PART: usize = 32;

/// Sum and squared deviations from the mean, for each [`PART`] of a row: x (T, C) in bf16, 16-byte aligned, C a multiple of
/// 32 → (T, C/32, 2) in f32
pub fn moments(x: &Tensor) -> Result<Tensor> {
    let (rows, columns) = x.dims2()?;
    let moments = output::tensor((rows, columns / PART, 2), DType::F32, x.device())?;
    let chunks = rows * columns / 8;
    Launch::new(&MODULE, "encoder_moments_bf16_level5")
        .grid(chunks.div_ceil(THREADS), 1, 1)
        .block(THREADS, 1, 1)
        .programmatic()
        .read(x)
        .write(&moments)
        .u32(chunks)
        .launch()?;
    Ok(moments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::KernelFile;

    #[test]
    fn sizes_are_those_of_the_kernel() {
        let file = KernelFile::read("encoder_pass/level5/moments", "sm_90");
        assert_eq!(file.constant("THREADS"), THREADS);
        assert_eq!(file.constant("PART"), PART);
        assert_eq!(file.max_threads("encoder_moments_bf16_level5"), THREADS);
    }
}
