//! The small vision transformer: which of ten shapes an image shows.

use candle_core::{Device, Tensor};
use candle_nn::{VarBuilder, loss};
use data::picture::Preprocessor;
use data::shapes::{self, CLASSES, SIDE};
use level1::Level1;
use models::vit::{Config, VisionTransformer};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};

use crate::optim::Hyper;
use crate::task::Task;

/// Images of a part of a batch.
const SHARD: usize = 16;

/// Endless images, no two alike.
pub struct Vit {
    config: Config,
    preprocessor: Preprocessor,
}

impl Vit {
    /// The configuration that ships.
    pub fn new() -> Self {
        let config = Config {
            image_size: SIDE as usize,
            patch_size: 8,
            hidden_size: 96,
            intermediate_size: 384,
            num_hidden_layers: 4,
            num_attention_heads: 4,
            layer_norm_eps: 1e-6,
            qkv_bias: true,
            labels: CLASSES.map(String::from).to_vec(),
        };
        Self {
            config,
            preprocessor: Preprocessor {
                do_resize: false, // they are drawn at the right size
                ..Preprocessor::new(SIDE)
            },
        }
    }
}

/// `{"0": "circle", …}`
pub fn id2label(names: &[&str]) -> Map<String, Value> {
    let pair = |(i, name): (usize, &&str)| (i.to_string(), Value::from(*name));
    names.iter().enumerate().map(pair).collect()
}

impl Task for Vit {
    /// Pixels (B, 3, S, S) and the class of each image (B).
    type Shard = (Tensor, Tensor);

    const SHARDS: usize = 4;
    const STEPS: usize = 5000;

    fn name(&self) -> &'static str {
        "vit"
    }

    fn hyper(&self) -> Hyper {
        Hyper {
            learning_rate: 2e-3,
            weight_decay: 0.05,
        }
    }

    fn num_layers(&self) -> usize {
        self.config.num_hidden_layers
    }

    fn config(&self) -> Value {
        let c = &self.config;
        let label2id = |(i, name): (usize, &&str)| (name.to_string(), Value::from(i));
        json!({
            "architectures": ["ViTForImageClassification"],
            "model_type": "vit",
            "image_size": c.image_size,
            "patch_size": c.patch_size,
            "num_channels": 3,
            "hidden_size": c.hidden_size,
            "intermediate_size": c.intermediate_size,
            "num_hidden_layers": c.num_hidden_layers,
            "num_attention_heads": c.num_attention_heads,
            "hidden_act": "gelu",
            "layer_norm_eps": c.layer_norm_eps,
            "qkv_bias": c.qkv_bias,
            "id2label": id2label(&CLASSES),
            "label2id": CLASSES.iter().enumerate().map(label2id).collect::<Map<_, _>>(),
            "torch_dtype": "bfloat16",
        })
    }

    fn files(&self) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
        let p = Preprocessor::new(SIDE);
        let config = json!({
            "image_processor_type": "ViTImageProcessor",
            "do_resize": true,
            "size": { "height": SIDE, "width": SIDE },
            "resample": 2,
            "do_rescale": true,
            "rescale_factor": 1. / 255.,
            "do_normalize": true,
            "image_mean": p.image_mean,
            "image_std": p.image_std,
        });
        let text = serde_json::to_vec_pretty(&config)?;
        Ok(vec![("preprocessor_config.json", text)])
    }

    fn draw(&self, rng: &mut ChaCha8Rng) -> anyhow::Result<Self::Shard> {
        let classes = [(); SHARD].map(|_| rng.random_range(0..CLASSES.len()));
        Ok(pictures(&classes, &self.preprocessor, rng)?)
    }

    fn loss(
        &self,
        weights: VarBuilder,
        (pixels, classes): &Self::Shard,
    ) -> candle_core::Result<Tensor> {
        let model = VisionTransformer::load(weights, &self.config)?;
        loss::cross_entropy(&model.forward(&Level1, pixels)?, classes)
    }
}

/// A freshly drawn image of each class: pixels (B, 3, S, S) and the classes (B).
pub fn pictures(
    classes: &[usize],
    preprocessor: &Preprocessor,
    rng: &mut ChaCha8Rng,
) -> models::Result<(Tensor, Tensor)> {
    let mut pixels = vec![];
    for &class in classes {
        pixels.extend(preprocessor.apply(&shapes::draw(class, rng))?);
    }
    let [height, width] = preprocessor.output_size(SIDE, SIDE).map(|n| n as usize);
    let classes: Vec<u32> = classes.iter().map(|&class| class as u32).collect();
    Ok((
        Tensor::from_vec(pixels, (classes.len(), 3, height, width), &Device::Cpu)?,
        Tensor::new(classes, &Device::Cpu)?,
    ))
}
