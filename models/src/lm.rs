//! The language model: Llama's architecture.
//!
//! "LLaMA: open and efficient foundation language models", Touvron et al. 2023, section 2.2, with
//! grouped-query attention (Ainslie et al. 2023). Tensor names are Hugging Face's `LlamaForCausalLM`.

use candle_core::{DType, Device, Result, Tensor, bail};
use candle_nn::VarBuilder;
use data::BadInput;

use crate::config::ConfigFile;
use crate::{CacheShape, Heads, KvCache, Ops, Rope, Weight};

/// Where the tensors of the layers are, each below its number.
pub const LAYERS: &str = "model.layers";

/// The architecture's numbers, as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// V: tokens in the vocabulary.
    pub vocab_size: usize,
    /// C: channels of a token.
    pub hidden_size: usize,
    /// F: channels inside the MLP.
    pub intermediate_size: usize,
    /// Blocks.
    pub num_hidden_layers: usize,
    /// H, Hkv and D.
    pub heads: Heads,
    /// Inside the square root of every RMSNorm.
    pub rms_norm_eps: f64,
    /// Base of the rotary angles.
    pub rope_theta: f64,
    /// Positions at most.
    pub max_position_embeddings: usize,
    /// Whether the head is the embedding.
    pub tie_word_embeddings: bool,
}

/// The longest context: the rotary angles of every position are computed at load.
const MAX_POSITIONS: usize = 1 << 22;

impl Config {
    /// Reads a Hugging Face `config.json`, of either generation (`rope_theta`, or
    /// `rope_parameters.rope_theta`); what is not implemented is refused by name.
    pub fn from_file(file: &ConfigFile) -> std::result::Result<Self, BadInput> {
        file.architecture("LlamaForCausalLM", "llama")?;
        file.only("hidden_act", "silu")?;
        file.only("attention_bias", false)?;
        file.only("mlp_bias", false)?;
        file.is_object("rope_parameters")?;
        file.only("rope_parameters.rope_type", "default")?;
        file.only("rope_parameters.type", "default")?;
        file.absent("rope_parameters.factor")?;
        file.only("rope_parameters.partial_rotary_factor", 1.0)?;
        file.only("partial_rotary_factor", 1.0)?;
        file.absent("rope_scaling")?;
        file.absent("quantization_config")?;
        file.absent("sliding_window")?;
        file.divides("num_key_value_heads", "num_attention_heads")
            .or_else(|e| file.get("num_key_value_heads").map_or(Ok(()), |_| Err(e)))?;
        if file.get("head_dim").is_none() {
            file.divides("num_attention_heads", "hidden_size")?;
        }
        let num_heads = file.size("num_attention_heads")?;
        let hidden_size = file.size("hidden_size")?;
        let head_dim = file.size_or("head_dim", hidden_size / num_heads)?;
        if head_dim % 2 != 0 {
            return Err(file.complain("head_dim", "an even number (halves are rotated)"));
        }
        let max_position_embeddings = file.size_or("max_position_embeddings", 2048)?;
        if max_position_embeddings > MAX_POSITIONS {
            let expected = format!("at most {MAX_POSITIONS}");
            return Err(file.complain("max_position_embeddings", expected));
        }
        let rope_theta = file.positive_or("rope_theta", 10000.)?;
        Ok(Self {
            vocab_size: file.size("vocab_size")?,
            hidden_size,
            intermediate_size: file.size("intermediate_size")?,
            num_hidden_layers: file.size("num_hidden_layers")?,
            heads: Heads {
                num_heads,
                num_kv_heads: file.size_or("num_key_value_heads", num_heads)?,
                head_dim,
            },
            rms_norm_eps: file.positive_or("rms_norm_eps", 1e-6)?,
            rope_theta: file.positive_or("rope_parameters.rope_theta", rope_theta)?,
            max_position_embeddings,
            tie_word_embeddings: file.flag_or("tie_word_embeddings", false)?,
        })
    }
}

struct Block {
    input_norm: Tensor, // (C)
    qkv: Weight,        // (H·D + 2·Hkv·D, C)
    o: Weight,          // (C, H·D)
    post_norm: Tensor,  // (C)
    gate_up: Weight,    // (2F, C)
    down: Weight,       // (C, F)
}

impl Block {
    fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let (c, f) = (config.hidden_size, config.intermediate_size);
        let Heads {
            num_heads,
            num_kv_heads,
            head_dim,
        } = config.heads;
        let (attn, mlp) = (vb.pp("self_attn"), vb.pp("mlp"));
        Ok(Self {
            input_norm: vb.get(c, "input_layernorm.weight")?,
            qkv: Weight::stack(&[
                attn.get((num_heads * head_dim, c), "q_proj.weight")?,
                attn.get((num_kv_heads * head_dim, c), "k_proj.weight")?,
                attn.get((num_kv_heads * head_dim, c), "v_proj.weight")?,
            ])?,
            o: Weight::new(attn.get((c, num_heads * head_dim), "o_proj.weight")?),
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
        let (q, k, v) = ops.qkv(&h, &self.qkv, None, config.heads)?; // (B, T, H, D)
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
            rope: Rope::new(
                config.rope_theta,
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
