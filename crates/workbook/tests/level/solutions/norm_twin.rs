
/// x ⊙ w / √(mean(x²) + eps) for each row: x (…, C), w (C) → (…, C)
fn rms_norm_twin(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    let w = level_kit::values(weight)?;
    level_kit::map_rows(x, w.len(), |_, x, y| {
        let mean = x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32;
        let scale = 1. / (mean + eps as f32).sqrt();
        for ((y, x), w) in y.iter_mut().zip(x).zip(&w) {
            *y = x * scale * w;
        }
    })
}

/// norm(x)·Wᵀ + b, with the twin on a CPU.
fn norm_linear_twin(x: &Tensor, norm: &Norm, w: &Linear) -> Result<Tensor> {
    match norm {
        Norm::Rms { weight, eps } if level_kit::on_cpu(x.device()) => {
            Level1.linear(&rms_norm_twin(x, weight, *eps)?, w)
        }
        _ => Level1.norm_linear(x, norm, w),
    }
}
