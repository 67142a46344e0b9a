//! Level 2: fused candle ops.
//!
//! The same formulas with the fused operations of candle-nn (softmax, norms, rotary embedding), one
//! matmul where level 1 has three, and no copy or temporary that candle's own ops can avoid. The
//! fused norms, softmax and rotation have no gradient: this level infers, level 1 trains.

mod masks;
pub mod ops;
mod patches;

pub use ops::Level2;

/// Opens a trace span for a function of this level: `rms_norm` is recorded as `rms_norm_level2`.
macro_rules! span {
    ($function:literal) => {
        models::trace::span(concat!($function, "_level2"))
    };
}
use span;

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device, Result, Tensor};

    #[test]
    fn many_terms_add_up_in_bf16() -> Result<()> {
        let x = Tensor::zeros((1, 2048), DType::BF16, &Device::Cpu)?;
        let y = crate::ops::softmax(&x, 1.)?
            .to_dtype(DType::F32)?
            .to_vec2::<f32>()?;
        assert_eq!(y[0], [1. / 2048.; 2048]);
        Ok(())
    }
}
