//! The language model: Llama's architecture, and Qwen2's.
//!
//! "LLaMA: open and efficient foundation language models", Touvron et al. 2023, section 2.2, with
//! grouped-query attention (Ainslie et al. 2023). Qwen2 (Yang et al. 2024, section 2.2.1) adds a bias to queries, keys
//! and values. Tensor names are those of Hugging Face's `LlamaForCausalLM` and `Qwen2ForCausalLM`.

mod config;

use candle_core::{DType, Device, Result, Tensor, bail};
use candle_nn::VarBuilder;

use crate::{CacheShape, Heads, KvCache, Ops, Rope, Weight};

pub use config::Config;

/// Where the tensors of the layers are, each below its number.
pub const LAYERS: &str = "model.layers";

struct Block {
    input_norm: Tensor,            // (C)
    qkv: (Weight, Option<Tensor>), // (H·D + 2·Hkv·D, C), (H·D + 2·Hkv·D)
    o: Weight,                     // (C, H·D)
    post_norm: Tensor,             // (C)
    gate_up: Weight,               // (2F, C)
    down: Weight,                  // (C, F)
}

/// The projections to queries, keys and values, stacked, and their biases if the model has them.
fn qkv(attn: &VarBuilder, config: &Config) -> Result<(Weight, Option<Tensor>)> {
    let Heads {
        num_heads,
        num_kv_heads,
        head_dim,
    } = config.heads;
    let parts = [
        ("q_proj", num_heads),
        ("k_proj", num_kv_heads),
        ("v_proj", num_kv_heads),
    ];
    let weight = |(part, heads)| {
        attn.pp(part)
            .get((heads * head_dim, config.hidden_size), "weight")
    };
    let bias = |(part, heads)| attn.pp(part).get(heads * head_dim, "bias");
    let weights = parts.map(weight).into_iter().collect::<Result<Vec<_>>>()?;
    let biases = match config.qkv_bias {
        true => {
            let biases = parts.map(bias).into_iter().collect::<Result<Vec<_>>>()?;
            Some(Tensor::cat(&biases, 0)?)
        }
        false => None,
    };
    Ok((Weight::stack(&weights)?, biases))
}

impl Block {
    fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let (c, f) = (config.hidden_size, config.intermediate_size);
        let heads = config.heads.num_heads * config.heads.head_dim; // H·D
        let (attn, mlp) = (vb.pp("self_attn"), vb.pp("mlp"));
        Ok(Self {
            input_norm: vb.get(c, "input_layernorm.weight")?,
            qkv: qkv(&attn, config)?,
            o: Weight::new(attn.get((c, heads), "o_proj.weight")?),
            post_norm: vb.get(c, "post_attention_layernorm.weight")?,
            gate_up: Weight::stack(&[
                mlp.get((f, c), "gate_proj.weight")?,
                mlp.get((f, c), "up_proj.weight")?,
            ])?,
            down: Weight::new(mlp.get((c, f), "down_proj.weight")?),
        })
    }

    // ANCHOR: block
    /// x and delta (B, T, C): the stream, and what the block before has yet to add to it.
    fn forward(
        &self,
        ops: &dyn Ops,
        config: &Config,
        rope: &Rope,
        x: &Tensor,
        delta: Option<&Tensor>,
        cache: &mut KvCache,
    ) -> Result<(Tensor, Tensor)> {
        let eps = config.rms_norm_eps;
        let (x, h) = ops.add_rms_norm(x, delta, &self.input_norm, eps)?; // (B, T, C)
        let (w, b) = &self.qkv;
        let (q, k, v) = ops.qkv(&h, w, b.as_ref(), config.heads)?; // (B, T, H, D)
        let h = ops.causal_attention(&q, &k, &v, rope, cache)?; // (B, T, H·D)
        let delta = ops.linear(&h, &self.o, None)?; // (B, T, C)

        let (x, h) = ops.add_rms_norm(&x, Some(&delta), &self.post_norm, eps)?;
        let h = ops.linear_swiglu(&h, &self.gate_up)?; // (B, T, F)
        let delta = ops.linear(&h, &self.down, None)?; // (B, T, C)
        Ok((x, delta))
    }
    // ANCHOR_END: block
}

/// Which positions' logits are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logits {
    /// Of every position: (B, T, V).
    All,
    /// Of the last position: (B, 1, V).
    Last,
}

/// A language model with its weights.
pub struct LanguageModel {
    config: Config,
    embedding: Weight, // (V, C)
    blocks: Vec<Block>,
    norm: Tensor, // (C)
    head: Weight, // (V, C)
    rope: Rope,
    dtype: DType,
    device: Device,
}

impl LanguageModel {
    /// Loads the weights that `config` asks for; errors name the tensor.
    pub fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let (v, c) = (config.vocab_size, config.hidden_size);
        let model = vb.pp("model");
        let embedding = Weight::new(model.get((v, c), "embed_tokens.weight")?);
        let block = |i| Block::load(vb.pp(LAYERS).pp(i), config);
        let head = match config.tie_word_embeddings {
            true => embedding.clone(),
            false => Weight::new(vb.get((v, c), "lm_head.weight")?),
        };
        Ok(Self {
            embedding,
            blocks: (0..config.num_hidden_layers)
                .map(block)
                .collect::<Result<_>>()?,
            norm: model.get(c, "norm.weight")?,
            head,
            rope: Rope::scaled(
                config.rope_theta,
                config.rope_scaling.as_ref(),
                config.heads.head_dim,
                config.max_position_embeddings,
                vb.dtype(),
                vb.device(),
            )?,
            config: config.clone(),
            dtype: vb.dtype(),
            device: vb.device().clone(),
        })
    }

    /// The architecture's numbers.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Where the weights are.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// One empty cache a block, for `batch` sequences of at most `capacity` tokens.
    pub fn new_caches(&self, ops: &dyn Ops, batch: usize, capacity: usize) -> Result<Vec<KvCache>> {
        ops.new_caches(&CacheShape {
            layers: self.blocks.len(),
            batch,
            capacity: capacity.min(self.config.max_position_embeddings),
            heads: self.config.heads,
            dtype: self.dtype,
            device: self.device.clone(),
        })
    }

    // ANCHOR: forward
    /// ids (B, T) u32, the tokens that follow those in the caches, one for each layer → logits (B, T, V) or (B, 1, V).
    pub fn forward(
        &self,
        ops: &dyn Ops,
        ids: &Tensor,
        caches: &mut [KvCache],
        logits: Logits,
    ) -> Result<Tensor> {
        let (blocks, found) = (self.blocks.len(), caches.len());
        if found != blocks {
            bail!("caches: expected {blocks}, one for each layer, found {found}")
        }
        if ids.dims2()?.1 == 0 {
            bail!("ids: expected at least one token, found none")
        }
        let mut x = ops.embedding(ids, &self.embedding)?; // (B, T, C)
        let mut delta = None;
        for (block, cache) in self.blocks.iter().zip(caches) {
            let (sum, next) =
                block.forward(ops, &self.config, &self.rope, &x, delta.as_ref(), cache)?;
            (x, delta) = (sum, Some(next));
        }
        if logits == Logits::Last {
            let last = |t: &Tensor| t.narrow(1, t.dim(1)? - 1, 1)?.contiguous(); // (B, 1, C)
            x = last(&x)?;
            delta = delta.as_ref().map(last).transpose()?;
        }
        let eps = self.config.rms_norm_eps;
        let (_, h) = ops.add_rms_norm(&x, delta.as_ref(), &self.norm, eps)?;
        ops.linear(&h, &self.head, None) // (B, T, V)
    }
    // ANCHOR_END: forward
}
