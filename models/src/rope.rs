//! Rotary position embedding: the angles.

use candle_core::{DType, Device, Result, Tensor};

/// cos(p·θᵢ) and sin(p·θᵢ) for every position p, with θᵢ = base^(−2i/D), i < D/2.
///
/// Half-split, as Hugging Face stores its weights: channel i is rotated together with channel
/// i + D/2. From "RoFormer", Su et al. 2021, section 3.2 (which rotates neighbouring channels).
pub struct Rope {
    /// (positions, D/2)
    pub cos: Tensor,
    /// (positions, D/2)
    pub sin: Tensor,
}

impl Rope {
    /// The angles in f32, as Hugging Face computes them, then rounded to `dtype`.
    pub fn new(
        base: f64,
        head_dim: usize,
        positions: usize,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let half = head_dim / 2;
        let theta = |i: usize| (1. / base.powf(2. * i as f64 / head_dim as f64)) as f32;
        let theta: Vec<f32> = (0..half).map(theta).collect();
        let angles: Vec<f32> = (0..positions)
            .flat_map(|p| theta.iter().map(move |t| p as f32 * t))
            .collect();
        let angles = Tensor::from_vec(angles, (positions, half), device)?;
        Ok(Self {
            cos: angles.cos()?.to_dtype(dtype)?,
            sin: angles.sin()?.to_dtype(dtype)?,
        })
    }

    /// The angles of positions `start..start + len`, both (len, D/2).
    pub fn at(&self, start: usize, len: usize) -> Result<(Tensor, Tensor)> {
        Ok((
            self.cos.narrow(0, start, len)?,
            self.sin.narrow(0, start, len)?,
        ))
    }
}
