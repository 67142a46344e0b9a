//! The language model: Llama's architecture, and Qwen2's.
//!
//! "LLaMA: open and efficient foundation language models", Touvron et al. 2023, section 2.2, with
//! grouped-query attention (Ainslie et al. 2023). Qwen2 (Yang et al. 2024, section 2.2.1) adds a bias to queries, keys
//! and values. Tensor names are those of Hugging Face's `LlamaForCausalLM` and `Qwen2ForCausalLM`.
//!
//! The methods of `ops` are in `levels/levelN/src/ops.rs`, for each level N.

mod config;

use candle_core::{DType, Device, Result, Tensor, bail};
use candle_nn::VarBuilder;

use crate::layers::{embedding, linear_no_bias, no_bias, rms_norm, stacked};
use crate::whole_pass::{DecoderBlock, DecoderPass};
use crate::{CacheShape, HeadPass, Heads, KvCache, Linear, NextStep, Norm, Ops, Rope, Weight};

pub use config::Config;

/// Where the tensors of the layers are, each below its number.
pub const LAYERS: &str = "model.layers";

/// The ops that a forward pass and the choice of the next token call, in the order of [`Ops`].
pub const OPS: &[&str] = &[
    "embedding",
    "norm_linear",
    "norm_qkv",
    "causal_attention",
    "linear_residual",
    "norm_swiglu",
    "next_token",
];

struct Block {
    input_norm: Norm, // (C)
    qkv: Linear,      // (H·D + 2·Hkv·D, C)
    o: Linear,        // (C, H·D)
    post_norm: Norm,  // (C)
    gate_up: Linear,  // (2F, C)
    down: Linear,     // (C, F)
}

impl Block {
    fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let (c, f, eps) = (
            config.hidden_size,
            config.intermediate_size,
            config.rms_norm_eps,
        );
        let Heads {
            num_heads,
            num_kv_heads,
            head_dim,
        } = config.heads;
        let (attn, mlp) = (vb.pp("self_attn"), vb.pp("mlp"));
        let qkv = [
            (attn.pp("q_proj"), num_heads * head_dim),
            (attn.pp("k_proj"), num_kv_heads * head_dim),
            (attn.pp("v_proj"), num_kv_heads * head_dim),
        ];
        let gate_up = [(mlp.pp("gate_proj"), f), (mlp.pp("up_proj"), f)];
        Ok(Self {
            input_norm: rms_norm(vb.pp("input_layernorm"), c, eps)?,
            qkv: stacked(&qkv, c, config.qkv_bias)?,
            o: linear_no_bias(attn.pp("o_proj"), c, num_heads * head_dim)?,
            post_norm: rms_norm(vb.pp("post_attention_layernorm"), c, eps)?,
            gate_up: stacked(&gate_up, c, false)?,
            down: linear_no_bias(mlp.pp("down_proj"), c, f)?,
        })
    }

    fn borrow(&self) -> DecoderBlock<'_> {
        DecoderBlock {
            norm_before: &self.input_norm,
            qkv: &self.qkv,
            out: &self.o,
            norm_after: &self.post_norm,
            gate_up: &self.gate_up,
            down: &self.down,
        }
    }

    /// x (B, T, C) → (B, T, C)
    fn forward(
        &self,
        ops: &dyn Ops,
        x: &Tensor,
        heads: Heads,
        rope: &Rope,
        cache: &mut KvCache,
    ) -> Result<Tensor> {
        let (q, k, v) = ops.norm_qkv(x, &self.input_norm, &self.qkv, heads)?; // (B, T, H, D), k and v (B, T, Hkv, D)
        let h = ops.causal_attention(&q, &k, &v, rope, cache)?; // (B, T, H·D)
        let x = ops.linear_residual(&h, &self.o, x)?; // (B, T, C)
        let h = ops.norm_swiglu(&x, &self.post_norm, &self.gate_up)?; // (B, T, F)
        ops.linear_residual(&h, &self.down, &x) // (B, T, C)
    }
}

/// Which positions' logits are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logits {
    /// Logits of every position: (B, T, V).
    All,
    /// Logits of the last position: (B, 1, V).
    Last,
}

/// A language model with its weights.
pub struct LanguageModel {
    config: Config,
    embedding: Weight, // (V, C)
    blocks: Vec<Block>,
    norm: Norm,   // (C)
    head: Linear, // (V, C)
    rope: Rope,
    dtype: DType,
    device: Device,
}

impl LanguageModel {
    /// Loads the weights that `config` asks for; errors name the tensor.
    ///
    /// # Errors
    /// If a weight is missing or of another shape.
    pub fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let (v, c) = (config.vocab_size, config.hidden_size);
        let model = vb.pp("model");
        let embedding = embedding(model.pp("embed_tokens"), v, c)?;
        let block = |i| Block::load(vb.pp(LAYERS).pp(i), config);
        let head = if config.tie_word_embeddings {
            no_bias(&vb.pp("lm_head"))?;
            Linear {
                weight: embedding.clone(),
                bias: None,
            }
        } else {
            linear_no_bias(vb.pp("lm_head"), v, c)?
        };
        Ok(Self {
            embedding,
            blocks: (0..config.num_hidden_layers)
                .map(block)
                .collect::<Result<_>>()?,
            norm: rms_norm(model.pp("norm"), c, config.rms_norm_eps)?,
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

    /// One empty cache per block, for `batch` sequences of at most `capacity` tokens.
    ///
    /// # Errors
    /// The errors of [`Ops::new_caches`].
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

    /// ids (B, T) u32, which follow the tokens in the caches → logits (B, T, V), or (B, 1, V) for [`Logits::Last`]. Each
    /// layer has one cache.
    ///
    /// # Errors
    /// If there is no token, or not one cache for each layer; the errors of `ops`, such as a full cache.
    pub fn forward(
        &self,
        ops: &dyn Ops,
        ids: &Tensor,
        caches: &mut [KvCache],
        logits: Logits,
    ) -> Result<Tensor> {
        let mut x = self.hidden(ops, ids, caches)?; // (B, T, C)
        if logits == Logits::Last {
            x = x.narrow(1, x.dim(1)? - 1, 1)?.contiguous()?; // (B, 1, C)
        }
        ops.norm_linear(&x, &self.norm, &self.head) // (B, T, V) or (B, 1, V)
    }

    /// As [`forward`](Self::forward), for one token of each sequence: ids (B, 1) → logits (B, 1, V), and whether the level
    /// has also written the [`NextStep`].
    pub fn forward_step(
        &self,
        ops: &dyn Ops,
        ids: &Tensor,
        caches: &mut [KvCache],
        next: &NextStep,
    ) -> Result<(Tensor, bool)> {
        let (x, norm, head) = (self.hidden(ops, ids, caches)?, &self.norm, &self.head);
        let pass = HeadPass {
            x: &x,
            norm,
            head,
            next,
        };
        match ops.head_pass(&pass)? {
            Some(logits) => Ok((logits, true)),
            None => Ok((ops.norm_linear(&x, norm, head)?, false)),
        }
    }

    /// ids (B, T) → what the last norm reads: (B, T, C)
    fn hidden(&self, ops: &dyn Ops, ids: &Tensor, caches: &mut [KvCache]) -> Result<Tensor> {
        let (blocks, found) = (self.blocks.len(), caches.len());
        if found != blocks {
            bail!("caches: expected {blocks}, one for each layer, found {found}")
        }
        if ids.dims2()?.1 == 0 {
            bail!("ids: expected at least one token, found none")
        }
        if ids.dims() == [1, 1] {
            let mut pass = DecoderPass {
                ids,
                embedding: &self.embedding,
                blocks: self.blocks.iter().map(Block::borrow).collect(),
                heads: self.config.heads,
                rope: &self.rope,
                caches,
            };
            if let Some(x) = ops.decoder_pass(&mut pass)? {
                return Ok(x);
            }
        }
        let mut x = ops.embedding(ids, &self.embedding)?; // (B, T, C)
        for (i, (block, cache)) in self.blocks.iter().zip(caches).enumerate() {
            let _part = trace::part(|| format!("block {i}"));
            x = block.forward(ops, &x, self.config.heads, &self.rope, cache)?;
        }
        Ok(x)
    }
}
