
/// silu(n·Wgᵀ) ⊙ (n·Wuᵀ): one matmul for both weights, and one op of candle for the rest.
fn swiglu_of(x: &Tensor, norm: &Norm, gate_up: &Linear) -> Result<Tensor> {
    candle_nn::ops::swiglu(&Level1.norm_linear(x, norm, gate_up)?)
}
