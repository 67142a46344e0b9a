//! The check that a model has read all tensors of its checkpoint.

use std::sync::Arc;

use candle_core::{DType, Device, Shape, Tensor};
use candle_nn::var_builder::{SimpleBackend, VarBuilder};
use data::BadInput;

use super::Checkpoint;

/// Ends of the names of what Hugging Face has written without a need for it, and parts of a model for other tasks.
const NOT_NEEDED: [&str; 7] = [
    ".rotary_emb.inv_freq",
    ".position_ids",
    ".masked_bias",
    ".attn.bias",
    ".pooler.dense.weight",
    ".pooler.dense.bias",
    ".num_batches_tracked",
];

/// The head of a language model, and the embedding that it may be.
const HEAD: &str = "lm_head.weight";
const EMBEDDING: &str = "model.embed_tokens.weight";

impl Checkpoint {
    /// The model that `build` makes of these weights, as `dtype` on `device`.
    ///
    /// # Errors
    /// Those of `build`; and [`BadInput`] for a tensor that it did not read: the model would be another than the one
    /// that was trained.
    pub fn build<M>(
        self,
        dtype: DType,
        device: &Device,
        build: impl FnOnce(VarBuilder<'static>) -> candle_core::Result<M>,
    ) -> crate::Result<M> {
        let shared = Arc::new(self);
        let weights = Box::new(Shared(shared.clone()));
        let model = build(VarBuilder::from_backend(weights, dtype, device.clone()))?;
        shared.has_no_more()?;
        Ok(model)
    }

    fn has_no_more(&self) -> Result<(), BadInput> {
        let read = self
            .read
            .lock()
            .map_or_else(|e| e.into_inner().clone(), |read| read.clone());
        let more = |name: &&String| !read.contains(*name) && self.is_needed(name);
        match self.file_of.keys().filter(more).min() {
            None => Ok(()),
            Some(name) => {
                let expected =
                    "no such tensor, because the model that config.json describes has none";
                Err(self.files[self.file_of[name]].complain(name, expected, "it"))
            }
        }
    }

    fn is_needed(&self, name: &str) -> bool {
        let is_the_embedding = || name == HEAD && self.bits(HEAD) == self.bits(EMBEDDING);
        !NOT_NEEDED.iter().any(|end| name.ends_with(end)) && !is_the_embedding()
    }

    /// The dtype, shape and bytes of a tensor.
    fn bits(&self, name: &str) -> Option<(safetensors::Dtype, &[usize], &[u8])> {
        let (info, bytes) = self.files[*self.file_of.get(name)?].view(name).ok()?;
        Some((info.dtype, &info.shape, bytes))
    }
}

/// A checkpoint that is looked at again after the model is built.
struct Shared(Arc<Checkpoint>);

impl SimpleBackend for Shared {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        init: candle_nn::Init,
        dtype: DType,
        device: &Device,
    ) -> candle_core::Result<Tensor> {
        self.0.get(shape, name, init, dtype, device)
    }

    fn get_unchecked(
        &self,
        name: &str,
        dtype: DType,
        device: &Device,
    ) -> candle_core::Result<Tensor> {
        self.0.get_unchecked(name, dtype, device)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.0.contains_tensor(name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Builds a model of the tensor `a` from a checkpoint of these tensors, and tells how it ends.
    fn built(names: &[(&str, f32)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let tensor = |x: f32| Tensor::full(x, 2, &Device::Cpu).unwrap();
        let tensors: HashMap<_, _> = names.iter().map(|(name, x)| (*name, tensor(*x))).collect();
        candle_core::safetensors::save(&tensors, &path).unwrap();
        let checkpoint = Checkpoint::open(folder.path()).unwrap();
        let model = checkpoint.build(DType::F32, &Device::Cpu, |weights| {
            weights.get(2, "model.layers.0.a")?;
            weights.get(2, EMBEDDING)
        });
        model.map_or_else(|e| e.to_string(), |_| String::new())
    }

    #[test]
    fn a_tensor_that_the_model_does_not_read_is_named() {
        let (a, embedding) = (("model.layers.0.a", 1.), (EMBEDDING, 2.));
        for fine in [
            &[a, embedding][..],
            &[a, embedding, (HEAD, 2.)],
            &[
                a,
                embedding,
                ("model.layers.0.self_attn.rotary_emb.inv_freq", 0.),
            ],
            &[a, embedding, ("vit.pooler.dense.bias", 0.)],
        ] {
            assert_eq!(built(fine), "");
        }
        for more in [
            HEAD,
            "model.layers.00.a",
            "model.layers.0.a_scale",
            "model.layers.0.lora_A.weight",
        ] {
            let error = built(&[a, embedding, (more, 3.)]);
            let end = format!(
                "model.safetensors: tensor `{more}`: expected no such tensor, because the \
                               model that config.json describes has none, found it"
            );
            assert!(error.ends_with(&end), "{error}");
        }
    }
}
