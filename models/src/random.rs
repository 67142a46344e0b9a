//! Random weights from a seed, for presets and tests.

use candle_core::{DType, Device, Result, Shape, Tensor};
use candle_nn::Init;
use candle_nn::var_builder::{SimpleBackend, VarBuilder};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// Elements that one thread draws, from a stream of its own.
const CHUNK: usize = 1 << 20;

/// Weights drawn from a seed and the tensor's name: the same at every level, in any order of loading.
///
/// Matrices are normal with σ = 1/√K, so that activations keep their scale through any number of
/// layers; a norm's weight is 1 + 0.1·normal and every other vector, class token or position is 0.1·normal, so that a level
/// that forgets one of them gives another answer.
pub struct RandomWeights {
    seed: u64,
}

impl RandomWeights {
    /// A [`VarBuilder`] that draws as `dtype` on `device`.
    pub fn weights(seed: u64, dtype: DType, device: &Device) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(Self { seed }), dtype, device.clone())
    }

    /// The generator of the elements in chunk number `chunk`.
    fn rng(&self, name: &str, chunk: usize) -> ChaCha8Rng {
        // FNV-1a of the name: a hash that is the same on every machine and in every release.
        let fnv = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ hash);
        rng.set_stream(chunk as u64);
        rng
    }
}

impl SimpleBackend for RandomWeights {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        _: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let (mean, std) = match shape.dims() {
            [_] if name.contains("norm") && name.ends_with("weight") => (1., 0.1),
            [_] | [1, ..] => (0., 0.1),
            [_, rest @ ..] => (0., 1. / (rest.iter().product::<usize>() as f32).sqrt()),
            [] => (0., 1.),
        };
        let mut values = vec![0f32; shape.elem_count()];
        let chunks = values.par_chunks_mut(CHUNK).enumerate();
        chunks.for_each(|(number, chunk)| {
            let mut rng = self.rng(name, number);
            for value in chunk {
                *value = mean + std * Distribution::<f32>::sample(&StandardNormal, &mut rng);
            }
        });
        Tensor::from_vec(values, shape, &Device::Cpu)?
            .to_dtype(dtype)?
            .to_device(device)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        candle_core::bail!("random weight `{name}` needs a shape")
    }

    /// None that a model does not need.
    fn contains_tensor(&self, _: &str) -> bool {
        false
    }
}
