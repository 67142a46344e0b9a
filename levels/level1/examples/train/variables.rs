//! The weights in training, by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candle_core::{DType, Device, Result, Shape, Tensor, Var};
use candle_nn::Init;
use candle_nn::var_builder::{SimpleBackend, VarBuilder};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Variables in f32 on the CPU, made and drawn from the seed when a model first asks for them.
///
/// The model itself says which tensors there are: loading it once makes them all, and loading it
/// again before each step puts them into the graph that gradients flow through. Clones share the
/// variables.
#[derive(Clone)]
pub struct Variables {
    seed: u64,
    /// Blocks of the model.
    num_layers: usize,
    vars: Arc<Mutex<BTreeMap<String, Var>>>,
}

impl Variables {
    /// None yet.
    pub fn new(seed: u64, num_layers: usize) -> Self {
        Self {
            seed,
            num_layers,
            vars: Arc::default(),
        }
    }

    /// Builder that models load their weights from.
    pub fn builder(&self) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(self.clone()), DType::F32, Device::Cpu)
    }

    /// All variables in the order of their names.
    pub fn all(&self) -> Vec<(String, Var)> {
        let vars = self.lock();
        vars.iter().map(|(k, v)| (k.clone(), v.clone())).collect()
    }

    /// How many numbers are trained.
    pub fn count(&self) -> usize {
        self.lock().values().map(|v| v.elem_count()).sum()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Var>> {
        self.vars.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Norms begin as the identity and biases at 0. A matrix is normal with σ = 1/√K, which keeps
    /// the scale of what goes through it; one that writes into the residual stream has that divided
    /// by √(2 · layers), so that the stream does not grow with depth (Radford et al. 2019, section
    /// 2.3). Embeddings, positions and the class token have σ = 0.02, as in BERT and ViT.
    fn mean_and_std(&self, name: &str, shape: &[usize]) -> (f32, f32) {
        const INTO_STREAM: [&str; 5] = ["o_proj", "down_proj", "output.dense", "mlp.2", "lin_skip"];
        match shape {
            [_] if name.contains("norm") && name.ends_with("weight") => (1., 0.),
            [_] => (0., 0.),
            [1, ..] => (0., 0.02),
            _ if name.contains("embed_tokens") => (0., 0.02),
            [_, rest @ ..] => {
                let k: usize = rest.iter().product();
                let std = 1. / (k as f32).sqrt();
                if INTO_STREAM.iter().any(|part| name.contains(part)) {
                    (0., std / (2. * self.num_layers as f32).sqrt())
                } else {
                    (0., std)
                }
            }
            [] => (0., 1.),
        }
    }

    fn draw(&self, name: &str, shape: Shape) -> Result<Var> {
        let (mean, std) = self.mean_and_std(name, shape.dims());
        // FNV-1a of the name, so that the order of loading changes nothing.
        let fnv = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ hash);
        let normal = |_| mean + std * Distribution::<f32>::sample(&StandardNormal, &mut rng);
        let values: Vec<f32> = (0..shape.elem_count()).map(normal).collect();
        Var::from_vec(values, shape, &Device::Cpu)
    }
}

impl SimpleBackend for Variables {
    fn get(&self, shape: Shape, name: &str, _: Init, _: DType, _: &Device) -> Result<Tensor> {
        let mut vars = self.lock(); // until it is in: two threads may ask at once
        if let Some(var) = vars.get(name) {
            return if var.shape() == &shape {
                Ok(var.as_tensor().clone())
            } else {
                candle_core::bail!("`{name}` is {:?}, not {shape:?}", var.shape())
            };
        }
        let var = self.draw(name, shape)?;
        let tensor = var.as_tensor().clone();
        vars.insert(name.to_string(), var);
        Ok(tensor)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        candle_core::bail!("variable `{name}` needs a shape")
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.lock().contains_key(name)
    }
}
