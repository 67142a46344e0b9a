
/// norm(x) in one op of candle.
fn norm_of(x: &Tensor, norm: &Norm) -> Result<Tensor> {
    let x = x.contiguous()?;
    match norm {
        Norm::Rms { weight, eps } => candle_nn::ops::rms_norm(&x, weight, *eps as f32),
        Norm::Layer { weight, bias, eps } => candle_nn::ops::layer_norm(&x, weight, bias, *eps as f32),
    }
}

/// Queries, keys and values in one matmul.
fn qkv(x: &Tensor, norm: &Norm, w: &Linear, heads: Heads) -> Result<(Tensor, Tensor, Tensor)> {
    heads.split(&Level1.linear(&norm_of(x, norm)?, w)?)
}

/// The activation of candle, exact.
fn gelu_of(x: &Tensor, norm: &Norm, up: &Linear) -> Result<Tensor> {
    Level1.linear(&norm_of(x, norm)?, up)?.gelu_erf()
}
