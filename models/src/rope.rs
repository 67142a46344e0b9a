//! Rotary position embedding: the angles.

use std::f64::consts::TAU;

use candle_core::{DType, Device, Result, Tensor};

/// cos(p·θᵢ) and sin(p·θᵢ) for every position p, with θᵢ = base^(−2i/D), i < D/2.
///
/// Half-split, as Hugging Face stores its weights: channel i is rotated together with channel
/// i + D/2. From "RoFormer", Su et al. 2021, section 3.2 (which rotates neighbouring channels).
#[derive(Clone)]
pub struct Rope {
    /// (positions, D/2)
    pub cos: Tensor,
    /// (positions, D/2)
    pub sin: Tensor,
}

/// Llama 3.1's longer context: low frequencies are divided by `factor`, high ones stay as they are.
///
/// A frequency θ has the wavelength 2π/θ, in positions. With n wavelengths in the original context:
///
/// | n | θ becomes |
/// |---|---|
/// | ≥ `high_freq_factor` | θ |
/// | ≤ `low_freq_factor` | θ / `factor` |
/// | between | linear in n from one to the other |
///
/// Hugging Face's `rope_type` "llama3", from Meta's Llama 3.1 reference code.
#[derive(Debug, Clone, PartialEq)]
pub struct Llama3Scaling {
    /// How many times longer the context is.
    pub factor: f64,
    /// Frequencies with at most this many wavelengths in the original context are low.
    pub low_freq_factor: f64,
    /// Frequencies with at least this many wavelengths in the original context are high.
    pub high_freq_factor: f64,
    /// Length of the context before it was extended.
    pub original_max_position_embeddings: usize,
}

impl Llama3Scaling {
    /// Returns the scaled frequency.
    pub fn apply(&self, theta: f64) -> f64 {
        let (low, high) = (self.low_freq_factor, self.high_freq_factor);
        let waves = self.original_max_position_embeddings as f64 * theta / TAU;
        let weight = ((waves - low) / (high - low)).clamp(0., 1.);
        theta * (weight + (1. - weight) / self.factor)
    }
}

impl Rope {
    /// The angles in f32, as Hugging Face computes them, then rounded to `dtype`.
    ///
    /// # Errors
    /// The errors of the device's memory.
    pub fn new(
        base: f64,
        head_dim: usize,
        positions: usize,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        Self::scaled(base, None, head_dim, positions, dtype, device)
    }

    /// The same with the frequencies scaled for a longer context.
    ///
    /// # Errors
    /// The errors of the device's memory.
    pub fn scaled(
        base: f64,
        scaling: Option<&Llama3Scaling>,
        head_dim: usize,
        positions: usize,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let half = head_dim / 2;
        let theta = |i: usize| 1. / base.powf(2. * i as f64 / head_dim as f64);
        let theta = (0..half).map(theta);
        let theta: Vec<f32> = match scaling {
            Some(scaling) => theta.map(|t| scaling.apply(t) as f32).collect(),
            None => theta.map(|t| t as f32).collect(),
        };
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
    ///
    /// # Errors
    /// If there are no angles for these positions.
    pub fn at(&self, start: usize, len: usize) -> Result<(Tensor, Tensor)> {
        Ok((
            self.cos.narrow(0, start, len)?,
            self.sin.narrow(0, start, len)?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Llama 3.2's: the three ranges meet, and each end is exact.
    #[test]
    fn frequencies_are_kept_divided_or_between() {
        let scaling = Llama3Scaling {
            factor: 32.,
            low_freq_factor: 1.,
            high_freq_factor: 4.,
            original_max_position_embeddings: 8192,
        };
        let of_waves = |waves: f64| waves * TAU / 8192.;
        let ratio = |waves: f64| scaling.apply(of_waves(waves)) / of_waves(waves);
        assert_eq!((ratio(4.), ratio(1000.)), (1., 1.));
        assert_eq!((ratio(1.), ratio(0.01)), (1. / 32., 1. / 32.));
        assert!((ratio(2.5) - (1. + 1. / 32.) / 2.).abs() < 1e-12);
    }
}
