//! The vision transformer.
//!
//! "An image is worth 16x16 words", Dosovitskiy et al. 2021, section 3.1. Tensor names are Hugging
//! Face's `ViTForImageClassification`.

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;
use data::BadInput;

use crate::config::ConfigFile;
use crate::weight::{linear, norm};
use crate::{Heads, Ops, Weight};

/// Where the tensors of the layers are, each below its number.
pub const LAYERS: &str = "vit.encoder.layer";

/// The architecture's numbers, as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Height and width of a picture, pixels.
    pub image_size: usize,
    /// P: height and width of a patch, pixels.
    pub patch_size: usize,
    /// C: channels of a token.
    pub hidden_size: usize,
    /// F: channels inside the MLP.
    pub intermediate_size: usize,
    /// Blocks.
    pub num_hidden_layers: usize,
    /// H.
    pub num_attention_heads: usize,
    /// Inside the square root of every LayerNorm.
    pub layer_norm_eps: f64,
    /// Whether queries, keys and values have a bias.
    pub qkv_bias: bool,
    /// Names of the classes.
    pub labels: Vec<String>,
}

impl Config {
    /// Reads a Hugging Face `config.json`; what is not implemented is refused by name.
    pub fn from_file(file: &ConfigFile) -> std::result::Result<Self, BadInput> {
        file.architecture("ViTForImageClassification", "vit")?;
        file.only("hidden_act", "gelu")?;
        file.only("num_channels", 3)?;
        file.absent("quantization_config")?;
        file.divides("num_attention_heads", "hidden_size")?;
        file.divides("patch_size", "image_size")?;
        Ok(Self {
            image_size: file.size("image_size")?,
            patch_size: file.size("patch_size")?,
            hidden_size: file.size("hidden_size")?,
            intermediate_size: file.size("intermediate_size")?,
            num_hidden_layers: file.size("num_hidden_layers")?,
            num_attention_heads: file.size("num_attention_heads")?,
            layer_norm_eps: file.positive_or("layer_norm_eps", 1e-12)?,
            qkv_bias: file.flag_or("qkv_bias", true)?,
            labels: labels(file)?,
        })
    }

    /// H and D.
    pub fn heads(&self) -> Heads {
        let d = self.hidden_size / self.num_attention_heads;
        Heads::full(self.num_attention_heads, d)
    }

    /// Patches of a picture, a side.
    pub fn patches_a_side(&self) -> usize {
        self.image_size / self.patch_size
    }
}

/// Names from `id2label`, or numbers up to `num_labels` (two without it, as transformers has it).
fn labels(file: &ConfigFile) -> std::result::Result<Vec<String>, BadInput> {
    let Some(map) = file.get("id2label") else {
        let n = file.size_or("num_labels", 2)?;
        return Ok((0..n).map(|i| format!("LABEL_{i}")).collect());
    };
    let name = |i: usize| map.get(i.to_string())?.as_str().map(str::to_string);
    let n = map.as_object().map_or(0, serde_json::Map::len);
    match (0..n).map(name).collect::<Option<Vec<_>>>() {
        Some(names) if n > 0 => Ok(names),
        _ => Err(file.complain("id2label", "an object from \"0\", \"1\" … to names")),
    }
}

struct Block {
    norm_before: (Tensor, Tensor), // (C), (C)
    qkv: (Weight, Option<Tensor>), // (3C, C), (3C)
    out: (Weight, Tensor),         // (C, C), (C)
    norm_after: (Tensor, Tensor),  // (C), (C)
    up: (Weight, Tensor),          // (F, C), (F)
    down: (Weight, Tensor),        // (C, F), (C)
}

impl Block {
    fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let (c, f) = (config.hidden_size, config.intermediate_size);
        let parts = ["query", "key", "value"].map(|part| vb.pp("attention.attention").pp(part));
        let weights = parts.each_ref().map(|part| part.get((c, c), "weight"));
        let biases = || {
            parts
                .iter()
                .map(|part| part.get(c, "bias"))
                .collect::<Result<Vec<_>>>()
        };
        let bias = match config.qkv_bias {
            true => Some(Tensor::cat(&biases()?, 0)?),
            false => None,
        };
        Ok(Self {
            norm_before: norm(vb.pp("layernorm_before"), c)?,
            qkv: (
                Weight::stack(&weights.into_iter().collect::<Result<Vec<_>>>()?)?,
                bias,
            ),
            out: linear(vb.pp("attention.output.dense"), c, c)?,
            norm_after: norm(vb.pp("layernorm_after"), c)?,
            up: linear(vb.pp("intermediate.dense"), f, c)?,
            down: linear(vb.pp("output.dense"), c, f)?,
        })
    }

    // ANCHOR: block
    /// x and delta (B, T, C): the stream, and what the block before has yet to add to it.
    fn forward(
        &self,
        ops: &dyn Ops,
        config: &Config,
        x: &Tensor,
        delta: Option<&Tensor>,
    ) -> Result<(Tensor, Tensor)> {
        let eps = config.layer_norm_eps;
        let (x, h) = self.norm_before(ops, x, delta, eps)?; // (B, T, C)
        let (q, k, v) = self.project(ops, &h, config)?; // (B, T, H, D)
        let h = ops.attention(&q, &k, &v)?; // (B, T, C)
        let delta = ops.linear(&h, &self.out.0, Some(&self.out.1))?;

        let (w, b) = &self.norm_after;
        let (x, h) = ops.add_layer_norm(&x, Some(&delta), w, b, eps)?;
        let h = ops.linear_gelu(&h, &self.up.0, &self.up.1)?; // (B, T, F)
        let delta = ops.linear(&h, &self.down.0, Some(&self.down.1))?; // (B, T, C)
        Ok((x, delta))
    }
    // ANCHOR_END: block

    fn norm_before(
        &self,
        ops: &dyn Ops,
        x: &Tensor,
        delta: Option<&Tensor>,
        eps: f64,
    ) -> Result<(Tensor, Tensor)> {
        let (w, b) = &self.norm_before;
        ops.add_layer_norm(x, delta, w, b, eps)
    }

    fn project(
        &self,
        ops: &dyn Ops,
        h: &Tensor,
        config: &Config,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        let (w, b) = &self.qkv;
        ops.qkv(h, w, b.as_ref(), config.heads())
    }
}

/// A vision transformer with its weights.
pub struct VisionTransformer {
    config: Config,
    patch: (Weight, Tensor), // (C, 3, P, P), (C)
    class: Tensor,           // (1, 1, C)
    positions: Tensor,       // (1, 1 + patches, C)
    blocks: Vec<Block>,
    norm: (Tensor, Tensor), // (C), (C)
    head: (Weight, Tensor), // (labels, C), (labels)
}

impl VisionTransformer {
    /// Loads the weights that `config` asks for; errors name the tensor.
    pub fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let (c, p) = (config.hidden_size, config.patch_size);
        let patches = config.patches_a_side().pow(2);
        let vit = vb.pp("vit");
        let embeddings = vit.pp("embeddings");
        let projection = embeddings.pp("patch_embeddings.projection");
        let patch = Weight::new(projection.get((c, 3, p, p), "weight")?);
        let block = |i| Block::load(vb.pp(LAYERS).pp(i), config);
        Ok(Self {
            patch: (patch, projection.get(c, "bias")?),
            class: embeddings.get((1, 1, c), "cls_token")?,
            positions: embeddings.get((1, 1 + patches, c), "position_embeddings")?,
            blocks: (0..config.num_hidden_layers)
                .map(block)
                .collect::<Result<_>>()?,
            norm: norm(vit.pp("layernorm"), c)?,
            head: linear(vb.pp("classifier"), config.labels.len(), c)?,
            config: config.clone(),
        })
    }

    /// The architecture's numbers.
    pub fn config(&self) -> &Config {
        &self.config
    }

    // ANCHOR: forward
    /// pixels (B, 3, S, S) → logits (B, labels)
    pub fn forward(&self, ops: &dyn Ops, pixels: &Tensor) -> Result<Tensor> {
        let (x, delta) = self.encode(ops, pixels, self.blocks.len())?;
        let class = |t: &Tensor| t.narrow(1, 0, 1)?.squeeze(1)?.contiguous(); // (B, C)
        let delta = delta.as_ref().map(class).transpose()?;
        let (w, b) = &self.norm;
        let eps = self.config.layer_norm_eps;
        let (_, h) = ops.add_layer_norm(&class(&x)?, delta.as_ref(), w, b, eps)?;
        ops.linear(&h, &self.head.0, Some(&self.head.1)) // (B, labels)
    }
    // ANCHOR_END: forward

    /// The stream after `blocks` blocks, and what the last of them has yet to add to it.
    fn encode(
        &self,
        ops: &dyn Ops,
        pixels: &Tensor,
        blocks: usize,
    ) -> Result<(Tensor, Option<Tensor>)> {
        let (w, b) = &self.patch;
        let mut x = ops.patch_embed(pixels, w, b, &self.class, &self.positions)?; // (B, T, C)
        let mut delta = None;
        for block in &self.blocks[..blocks] {
            let (sum, next) = block.forward(ops, &self.config, &x, delta.as_ref())?;
            (x, delta) = (sum, Some(next));
        }
        Ok((x, delta))
    }

    /// How much the class token of the last block looks at each patch, mean over heads: (B, patches).
    ///
    /// The attention of a level never leaves it, so the row is computed again from q and k.
    pub fn class_attention(&self, ops: &dyn Ops, pixels: &Tensor) -> Result<Tensor> {
        let last = self.blocks.len() - 1;
        let (x, delta) = self.encode(ops, pixels, last)?;
        let block = &self.blocks[last];
        let (_, h) = block.norm_before(ops, &x, delta.as_ref(), self.config.layer_norm_eps)?;
        let (q, k, _) = block.project(ops, &h, &self.config)?; // (B, T, H, D)
        let f32 = |t: &Tensor| {
            t.to_dtype(candle_core::DType::F32)?
                .transpose(1, 2)?
                .contiguous()
        };
        let (q, k) = (f32(&q.narrow(1, 0, 1)?)?, f32(&k)?); // (B, H, 1, D), (B, H, T, D)
        let scale = 1. / (self.config.heads().head_dim as f64).sqrt();
        let scores = (q.matmul(&k.t()?)? * scale)?; // (B, H, 1, T)
        let weights = candle_nn::ops::softmax_last_dim(&scores)?
            .mean(1)?
            .squeeze(1)?; // (B, T)
        weights.narrow(1, 1, weights.dim(1)? - 1) // without the class token itself
    }
}
