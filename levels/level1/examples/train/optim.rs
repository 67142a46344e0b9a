//! AdamW, its learning rate over time, and gradient clipping.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use candle_core::{Device, Result, Tensor, Var, bail};

use crate::shards::Gradients;

/// Hyperparameters that a task sets; the others are the same for all three.
#[derive(Debug, Clone, Copy)]
pub struct Hyper {
    /// Highest learning rate.
    pub learning_rate: f64,
    /// Shrinks matrices by lr · decay a step; vectors are left alone.
    pub weight_decay: f64,
}

/// Share of the training during which the learning rate rises linearly from 0.
const WARM_UP: f64 = 0.05;
/// Last value of the cosine schedule, as a share of the highest learning rate.
const FLOOR: f64 = 0.03;
/// The longest gradient, over all weights together ("On the difficulty of training recurrent neural
/// networks", Pascanu et al. 2013, section 3.2).
const CLIP: f64 = 1.;
const BETA1: f64 = 0.9;
const BETA2: f64 = 0.95;
const EPS: f64 = 1e-8;

/// The learning rate at `progress`, from 0 at the first step to 1 after the last, as a share of the
/// highest: a linear warm-up, then half a cosine ("SGDR", Loshchilov and Hutter 2017, equation 5).
pub fn schedule(progress: f64) -> f64 {
    if progress < WARM_UP {
        return progress / WARM_UP;
    }
    let cosine = (PI * (progress - WARM_UP) / (1. - WARM_UP)).cos();
    FLOOR + (1. - FLOOR) * 0.5 * (1. + cosine)
}

/// Running means of one weight's gradient and of its square.
#[derive(Clone, Default)]
pub struct Moments {
    /// m, as many as the weight has elements.
    pub first: Vec<f32>,
    /// v
    pub second: Vec<f32>,
}

/// "Decoupled weight decay regularization", Loshchilov and Hutter 2019, algorithm 2:
///
/// m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g²,
/// w ← w − lr·(m/(1 − β₁ᵗ) / (√(v/(1 − β₂ᵗ)) + ε) + λw)
///
/// On plain numbers rather than tensors: one pass over memory, and the moments are at hand for a
/// checkpoint.
pub struct AdamW {
    hyper: Hyper,
    /// t: steps taken.
    pub steps: usize,
    /// By the weight's name.
    pub moments: BTreeMap<String, Moments>,
}

impl AdamW {
    /// Before the first step.
    pub fn new(hyper: Hyper) -> Self {
        Self {
            hyper,
            steps: 0,
            moments: BTreeMap::new(),
        }
    }

    /// One step at `progress` of the training, with the gradient of each of `vars` in turn.
    ///
    /// # Errors
    /// When the gradient is not finite.
    pub fn step(
        &mut self,
        vars: &[(String, Var)],
        gradients: &Gradients,
        progress: f64,
    ) -> Result<()> {
        let scale = clip(gradients)?;
        let lr = self.hyper.learning_rate * schedule(progress);
        self.steps += 1;
        for ((name, var), gradient) in vars.iter().zip(gradients) {
            self.update(name, var, gradient, scale, lr)?;
        }
        Ok(())
    }

    fn update(&mut self, name: &str, var: &Var, g: &[f32], scale: f64, lr: f64) -> Result<()> {
        let decay = match var.rank() {
            1 => 0.,
            _ => lr * self.hyper.weight_decay,
        };
        let t = self.steps as i32;
        let rate = (lr / (1. - BETA1.powi(t))) as f32;
        let unbias = (1. / (1. - BETA2.powi(t))) as f32;
        let [beta1, beta2, eps, scale] = [BETA1, BETA2, EPS, scale].map(|x| x as f32);
        let keep = (1. - decay) as f32;

        let moments = self.moments.entry(name.to_string());
        let Moments { first, second } = moments.or_insert_with(|| Moments {
            first: vec![0.; g.len()],
            second: vec![0.; g.len()],
        });
        let mut w = values(var)?;
        for (((w, g), m), v) in w.iter_mut().zip(g).zip(first).zip(second) {
            let g = scale * g;
            *m = beta1 * *m + (1. - beta1) * g;
            *v = beta2 * *v + (1. - beta2) * g * g;
            *w = keep * *w - rate * *m / ((unbias * *v).sqrt() + eps);
        }
        var.set(&Tensor::from_vec(w, var.shape(), &Device::Cpu)?)
    }
}

/// The elements of a tensor in f32, row-major.
pub fn values(tensor: &Tensor) -> Result<Vec<f32>> {
    tensor.flatten_all()?.to_vec1()
}

/// Factor for every gradient that limits the norm of all together to [`CLIP`].
///
/// # Errors
/// When the norm is not finite.
fn clip(gradients: &[Vec<f32>]) -> Result<f64> {
    let square = |g: &Vec<f32>| g.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
    let norm = gradients.iter().map(square).sum::<f64>().sqrt();
    if !norm.is_finite() {
        bail!("the gradient is not finite: training diverged")
    }
    Ok((CLIP / norm.max(CLIP)).min(1.))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_then_falls() {
        assert_eq!(schedule(0.), 0.);
        assert!((schedule(WARM_UP) - 1.).abs() < 1e-12);
        assert!((schedule(1.) - FLOOR).abs() < 1e-12);
        let middle = schedule((1. + WARM_UP) / 2.);
        assert!((middle - (1. + FLOOR) / 2.).abs() < 1e-12);
    }

    #[test]
    fn a_long_gradient_is_cut_to_length_one() {
        assert_eq!(clip(&[vec![0.3], vec![0.4]]).unwrap(), 1.);
        let scale = clip(&[vec![30.], vec![-40.]]).unwrap();
        assert!((scale - 1. / 50.).abs() < 1e-12);
        assert!(clip(&[vec![f32::NAN]]).is_err());
    }

    /// Against PyTorch's definition, computed by hand for two steps with the gradient 0.5 and −0.1.
    #[test]
    fn two_steps_follow_the_formula() {
        let hyper = Hyper {
            learning_rate: 0.1,
            weight_decay: 0.2,
        };
        let var = Var::new(&[[1f32]], &Device::Cpu).unwrap();
        let vars = [("w".to_string(), var.clone())];
        let mut adam = AdamW::new(hyper);
        let (mut w, mut m, mut v) = (1f64, 0f64, 0f64);
        for (t, g) in [0.5f64, -0.1].into_iter().enumerate() {
            adam.step(&vars, &vec![vec![g as f32]], 0.5).unwrap();
            let lr = 0.1 * schedule(0.5);
            m = BETA1 * m + (1. - BETA1) * g;
            v = BETA2 * v + (1. - BETA2) * g * g;
            let t = t as i32 + 1;
            let (m_hat, v_hat) = (m / (1. - BETA1.powi(t)), v / (1. - BETA2.powi(t)));
            w = w - lr * m_hat / (v_hat.sqrt() + EPS) - lr * 0.2 * w;
        }
        let found = f64::from(values(&var).unwrap()[0]);
        assert!((found - w).abs() < 1e-6, "{found} instead of {w}");
    }
}
