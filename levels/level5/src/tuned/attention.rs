//! Full attention for other code.

use candle_core::{Result, Tensor, bail};
use kernels::attention::level5;

/// softmax(q·kᵀ/√D)·v: q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D)
///
/// Every query sees every key. The heads are the third dimension, as a linear layer leaves them: no operand is
/// transposed or copied, and the result is ready for the output projection. With Hkv < H, query head h reads key head
/// ⌊h·Hkv/H⌋. The operands are f32 or bf16, on a CPU or a GPU. They may be views that `narrow` cuts from one tensor, as
/// long as heads and channels are contiguous.
///
/// # Errors
/// When an operand tracks gradients, because the kernels have none; when shapes, strides, dtypes or devices do not
/// agree; and when no kernel can compute the problem.
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    for (name, x) in [("q", q), ("k", k), ("v", v)] {
        if x.track_op() {
            bail!(
                "level5::tuned::attention: expected `{name}` without gradients, found one that tracks them: detach it"
            );
        }
    }
    level5::attention(q, k, v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{DType, Device, Var};

    #[test]
    fn an_operand_with_gradients_is_an_error() -> Result<()> {
        let x = Tensor::zeros((1, 2, 3, 4), DType::F32, &Device::Cpu)?;
        let variable = Var::from_tensor(&x)?;
        assert_eq!(attention(&x, &x, &x)?.dims(), [1, 2, 12]);
        let error = attention(&x, &x, &variable).unwrap_err().to_string();
        assert!(error.contains("expected `v` without gradients"), "{error}");
        Ok(())
    }
}
