//! The trait by which the three trainings differ.

use candle_core::Tensor;
use candle_nn::VarBuilder;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::optim::Hyper;

/// One model and what it learns.
pub trait Task: Sync {
    /// A part of a batch.
    type Shard: Send + Sync;

    /// Parts of a batch: threads share them, and their tensors stay small enough for the caches.
    const SHARDS: usize;

    /// Steps of a training: about ten minutes on two cores.
    const STEPS: usize;

    /// `lm`, `vit` or `gnn`.
    fn name(&self) -> &'static str;

    /// The step size and its like.
    fn hyper(&self) -> Hyper;

    /// Blocks of the model.
    fn num_layers(&self) -> usize;

    /// Contents of `config.json`.
    fn config(&self) -> Value;

    /// Inputs of the training in addition to the configuration; a checkpoint continues only with
    /// the same ones.
    fn inputs(&self) -> Value {
        Value::Null
    }

    /// Files of the model in addition to its configuration and weights.
    fn files(&self) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
        Ok(vec![])
    }

    /// Draws a part of a batch.
    fn draw(&self, rng: &mut ChaCha8Rng) -> anyhow::Result<Self::Shard>;

    /// Its mean cross-entropy, in nats, with the weights in the gradient's graph.
    fn loss(&self, weights: VarBuilder, shard: &Self::Shard) -> candle_core::Result<Tensor>;
}

/// The random numbers of one step: a stream of their own, so that a training that continues draws
/// what one without a stop would have drawn.
pub fn rng_of_step(seed: u64, step: usize) -> ChaCha8Rng {
    stream(seed, step as u64)
}

/// The random numbers of the evaluation, which no step of any training sees.
pub fn rng_of_eval(seed: u64) -> ChaCha8Rng {
    stream(seed, u64::MAX)
}

fn stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}
