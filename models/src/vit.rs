//! The vision transformer.
//!
//! "An image is worth 16x16 words", Dosovitskiy et al. 2021, section 3.1. Tensor names are Hugging
//! Face's `ViTForImageClassification`.
//!
//! The methods of `ops` are in `levels/levelN/src/ops.rs`, for each level N.

use std::any::Any;
use std::sync::OnceLock;

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;
use data::BadInput;

use crate::config::ConfigFile;
use crate::largest::{self, MAX_ELEMENTS, Size};
use crate::layers::{layer_norm, linear, stacked};
use crate::whole_pass::{EncoderBlock, EncoderPass};
use crate::{Heads, Linear, Norm, Ops, Scores};

/// Where the tensors of the layers are, each below its number.
pub const LAYERS: &str = "vit.encoder.layer";

/// The ops that a forward pass calls, in the order of [`Ops`].
pub const OPS: &[&str] = &[
    "patch_embed",
    "norm_linear",
    "norm_qkv",
    "attention",
    "linear_residual",
    "norm_gelu",
];

/// The architecture's numbers, as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Height and width of an image, pixels.
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
    ///
    /// # Errors
    /// [`BadInput`] with the key of the first value that is missing, wrong or not implemented.
    pub fn from_file(file: &ConfigFile) -> std::result::Result<Self, BadInput> {
        file.architecture("ViTForImageClassification", "vit")?;
        file.only("hidden_act", "gelu")?;
        file.only("num_channels", 3)?;
        file.no_variant()?;
        file.divides("num_attention_heads", "hidden_size")?;
        file.divides("patch_size", "image_size")?;
        Ok(Self {
            image_size: file.size("image_size")?,
            patch_size: file.size("patch_size")?,
            hidden_size: file.size("hidden_size")?,
            intermediate_size: file.size("intermediate_size")?,
            num_hidden_layers: file.size("num_hidden_layers")?,
            num_attention_heads: file.size("num_attention_heads")?,
            layer_norm_eps: file.epsilon_or("layer_norm_eps", 1e-12)?,
            qkv_bias: file.flag_or("qkv_bias", true)?,
            labels: labels(file)?,
        })
    }

    /// H and D.
    pub fn heads(&self) -> Heads {
        let d = self.hidden_size / self.num_attention_heads;
        Heads::full(self.num_attention_heads, d)
    }

    /// Refuses a pass over `images` if one of its tensors would be too large.
    ///
    /// # Errors
    /// [`BadInput`] about `input`, with the keys of the largest tensor.
    pub fn check_pass(
        &self,
        input: &str,
        images: usize,
        scores: Scores,
    ) -> std::result::Result<(), BadInput> {
        let side = ("`image_size`", self.image_size);
        let tokens = self.patches_a_side().saturating_pow(2).saturating_add(1);
        let (images, tokens) = (("images", images), ("(patches + 1)", tokens));
        let heads = ("`num_attention_heads`", self.num_attention_heads);
        let sizes: [Size; 4] = [
            &[images, ("3", 3), side, side],
            &[
                images,
                tokens,
                ("3", 3),
                ("`hidden_size`", self.hidden_size),
            ],
            &[
                images,
                tokens,
                ("`intermediate_size`", self.intermediate_size),
            ],
            &[images, ("classes", self.labels.len())],
        ];
        largest::check(input, MAX_ELEMENTS, &sizes)?;
        let sizes: [Size; 1] = [&[images, tokens, tokens, heads]];
        scores.check(input, self.num_hidden_layers, &sizes)
    }

    /// Patches along a side of an image.
    pub fn patches_a_side(&self) -> usize {
        self.image_size / self.patch_size
    }
}

/// The largest number of classes without names, which are made up before the weights are read.
const MAX_LABELS: usize = 1 << 20;

/// Names from `id2label`, or numbers up to `num_labels` (two without it, as transformers has it).
fn labels(file: &ConfigFile) -> std::result::Result<Vec<String>, BadInput> {
    let Some(map) = file.get("id2label") else {
        let n = file.size_or("num_labels", 2)?;
        if n > MAX_LABELS {
            return Err(file.complain("num_labels", format!("at most {MAX_LABELS}")));
        }
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
    norm_before: Norm, // (C)
    qkv: Linear,       // (3C, C)
    out: Linear,       // (C, C)
    norm_after: Norm,  // (C)
    up: Linear,        // (F, C)
    down: Linear,      // (C, F)
}

impl Block {
    fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let (c, f, eps) = (
            config.hidden_size,
            config.intermediate_size,
            config.layer_norm_eps,
        );
        let qkv = ["query", "key", "value"].map(|part| (vb.pp("attention.attention").pp(part), c));
        Ok(Self {
            norm_before: layer_norm(vb.pp("layernorm_before"), c, eps)?,
            qkv: stacked(&qkv, c, config.qkv_bias)?,
            out: linear(vb.pp("attention.output.dense"), c, c)?,
            norm_after: layer_norm(vb.pp("layernorm_after"), c, eps)?,
            up: linear(vb.pp("intermediate.dense"), f, c)?,
            down: linear(vb.pp("output.dense"), c, f)?,
        })
    }

    fn borrow(&self) -> EncoderBlock<'_> {
        EncoderBlock {
            norm_before: &self.norm_before,
            qkv: &self.qkv,
            out: &self.out,
            norm_after: &self.norm_after,
            up: &self.up,
            down: &self.down,
        }
    }

    /// x (B, T, C) → (B, T, C)
    fn forward(&self, ops: &dyn Ops, x: &Tensor, heads: Heads) -> Result<Tensor> {
        let (q, k, v) = ops.norm_qkv(x, &self.norm_before, &self.qkv, heads)?; // (B, T, H, D)
        let h = ops.attention(&q, &k, &v)?; // (B, T, C)
        let x = ops.linear_residual(&h, &self.out, x)?; // (B, T, C)
        let h = ops.norm_gelu(&x, &self.norm_after, &self.up)?; // (B, T, F)
        ops.linear_residual(&h, &self.down, &x) // (B, T, C)
    }
}

/// A vision transformer with its weights.
pub struct VisionTransformer {
    config: Config,
    patch: Linear,     // (C, 3, P, P)
    class: Tensor,     // (1, 1, C)
    positions: Tensor, // (1, 1 + patches, C)
    blocks: Vec<Block>,
    norm: Norm,   // (C)
    head: Linear, // (labels, C)
    prepared: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl VisionTransformer {
    /// Loads the weights that `config` asks for; errors name the tensor.
    ///
    /// # Errors
    /// If a weight is missing or of another shape.
    pub fn load(vb: VarBuilder, config: &Config) -> Result<Self> {
        let (c, p) = (config.hidden_size, config.patch_size);
        let patches = config.patches_a_side().pow(2);
        let vit = vb.pp("vit");
        let embeddings = vit.pp("embeddings");
        let projection = embeddings.pp("patch_embeddings.projection");
        let block = |i| Block::load(vb.pp(LAYERS).pp(i), config);
        Ok(Self {
            patch: Linear::new(
                projection.get((c, 3, p, p), "weight")?,
                Some(projection.get(c, "bias")?),
            ),
            class: embeddings.get((1, 1, c), "cls_token")?,
            positions: embeddings.get((1, 1 + patches, c), "position_embeddings")?,
            blocks: (0..config.num_hidden_layers)
                .map(block)
                .collect::<Result<_>>()?,
            norm: layer_norm(vit.pp("layernorm"), c, config.layer_norm_eps)?,
            head: linear(vb.pp("classifier"), config.labels.len(), c)?,
            config: config.clone(),
            prepared: OnceLock::new(),
        })
    }

    /// The architecture's numbers.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// pixels (B, 3, S, S) → logits (B, labels)
    ///
    /// # Errors
    /// The errors of `ops`.
    pub fn forward(&self, ops: &dyn Ops, pixels: &Tensor) -> Result<Tensor> {
        let x = self.embed(ops, pixels)?; // (B, T, C)
        let x = match ops.encoder_pass(&self.encoder_pass(&x))? {
            Some(x) => x,
            None => self.encode(ops, x, self.blocks.len())?,
        };
        let class = x.narrow(1, 0, 1)?.squeeze(1)?.contiguous()?; // (B, C)
        ops.norm_linear(&class, &self.norm, &self.head) // (B, labels)
    }

    /// The tokens of `pixels`: (B, T, C).
    fn embed(&self, ops: &dyn Ops, pixels: &Tensor) -> Result<Tensor> {
        ops.patch_embed(pixels, &self.patch, &self.class, &self.positions)
    }

    /// All that the blocks read, the first of them x (B, T, C).
    fn encoder_pass<'a>(&'a self, x: &'a Tensor) -> EncoderPass<'a> {
        EncoderPass {
            x,
            blocks: self.blocks.iter().map(Block::borrow).collect(),
            num_heads: self.config.num_attention_heads,
            prepared: &self.prepared,
        }
    }

    /// x after the first `blocks` blocks: (B, T, C).
    fn encode(&self, ops: &dyn Ops, mut x: Tensor, blocks: usize) -> Result<Tensor> {
        for (i, block) in self.blocks[..blocks].iter().enumerate() {
            let _part = trace::part(|| format!("block {i}"));
            x = block.forward(ops, &x, self.config.heads())?;
        }
        Ok(x)
    }

    /// How much the class token of the last block looks at each patch, mean over heads: (B, patches).
    ///
    /// The attention of a level never leaves it, so the row is computed again from q and k.
    ///
    /// # Errors
    /// The errors of `ops`.
    pub fn class_attention(&self, ops: &dyn Ops, pixels: &Tensor) -> Result<Tensor> {
        let last = self.blocks.len() - 1;
        let x = self.encode(ops, self.embed(ops, pixels)?, last)?;
        let Block {
            norm_before, qkv, ..
        } = &self.blocks[last];
        let (q, k, _) = ops.norm_qkv(&x, norm_before, qkv, self.config.heads())?; // (B, T, H, D)
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
