//! From probabilities to the next token.

use candle_core::{Result, bail};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How the next token is drawn.
///
/// A draw spends one uniform number at every level, so that a seed means the same text. A clone draws the same numbers.
#[derive(Clone)]
pub struct Sampling {
    /// Logits are divided by it; 0 is greedy: the most probable token, always.
    pub temperature: f64,
    /// Keep the k most probable tokens, at least 1.
    pub top_k: Option<usize>,
    /// Keep the smallest set of tokens whose probability reaches p ("nucleus", Holtzman et al. 2020).
    pub top_p: Option<f64>,
    rng: ChaCha8Rng,
}

impl Sampling {
    /// The most probable token, always.
    pub fn greedy() -> Self {
        Self::new(0., None, None, 0)
    }

    /// Draws with a temperature, from the tokens that `top_k` and then `top_p` leave.
    pub fn new(temperature: f64, top_k: Option<usize>, top_p: Option<f64>, seed: u64) -> Self {
        Self {
            temperature,
            top_k,
            top_p,
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// Whether the most probable token is taken, always.
    pub fn is_greedy(&self) -> bool {
        self.temperature == 0.
    }

    /// The number that is spent for the next token: in 0..1.
    pub fn uniform(&mut self) -> f64 {
        self.rng.random()
    }

    /// Draws a token from `probabilities` (V), already divided by the temperature and normalised.
    ///
    /// # Errors
    /// If there is no probability, one is not finite, or `top_k` is 0.
    pub fn draw(&mut self, probabilities: &[f32]) -> Result<u32> {
        finite(probabilities.iter().copied())?;
        let mut sorted: Vec<(u32, f32)> = (0u32..).zip(probabilities.iter().copied()).collect();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
        self.draw_from(sorted)
    }

    /// Draws from tokens with their probabilities, most probable first, of equals the lower token first: all
    /// of them, or at least the `top_k` most probable.
    ///
    /// # Errors
    /// If there is no probability, one is not finite, or `top_k` is 0.
    pub fn draw_from(&mut self, sorted: Vec<(u32, f32)>) -> Result<u32> {
        finite(sorted.iter().map(|&(_, p)| p))?;
        if self.top_k == Some(0) {
            bail!("sampling: expected a top_k of at least 1, found 0")
        }
        let candidates = self.keep(sorted);
        let total: f64 = candidates.iter().map(|&(_, p)| f64::from(p)).sum();
        let mut left = self.uniform() * total;
        for &(token, p) in &candidates {
            left -= f64::from(p);
            if left < 0. {
                return Ok(token);
            }
        }
        Ok(candidates[candidates.len() - 1].0)
    }

    /// The tokens that may be drawn, of those that are there.
    fn keep(&self, mut sorted: Vec<(u32, f32)>) -> Vec<(u32, f32)> {
        sorted.truncate(self.top_k.unwrap_or(sorted.len()));
        if let Some(top_p) = self.top_p {
            let total: f64 = sorted.iter().map(|&(_, p)| f64::from(p)).sum();
            let mut below = 0.;
            let reached = sorted.iter().position(|&(_, p)| {
                below += f64::from(p);
                below >= top_p * total
            });
            sorted.truncate(reached.map_or(sorted.len(), |i| i + 1));
        }
        sorted
    }
}

fn finite(mut probabilities: impl ExactSizeIterator<Item = f32>) -> Result<()> {
    if probabilities.len() == 0 || probabilities.any(|p| !p.is_finite()) {
        bail!("sampling: expected finite probabilities, found NaN, infinity or none")
    }
    Ok(())
}
