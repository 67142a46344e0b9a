//! Writes a workload to files for other frameworks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Result, bail};
use benches::{Model, job};
use candle_core::{DType, Device, Shape, Tensor, safetensors};
use candle_nn::Init;
use candle_nn::var_builder::{SimpleBackend, VarBuilder};
use cli::files;
use cli::load::Request;
use models::random::RandomWeights;
use models::{GraphTransformer, LanguageModel, VisionTransformer, gnn, lm, presets, vit};
use serde_json::{Value, json};

/// Writes `MODEL.PRESET.WORKLOAD.DTYPE/{config.json, model.safetensors, workload.safetensors}` for every
/// `wanted` workload; the last file has the inputs and the logits of level 1. Returns how many it wrote.
pub fn export(
    model: Model,
    request: &Request,
    folder: &Path,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<usize> {
    let Some(first) = levels::able(request.dtype, &request.device)
        .into_iter()
        .next()
    else {
        bail!("no level runs on this device")
    };
    let (mut written, mut count): (Option<PathBuf>, usize) = (None, 0);
    for workload in job::load(model, request, &first, false)? {
        let (preset, dtype) = (&request.model, request.dtype.as_str());
        let name = format!("{}.{preset}.{}.{dtype}", model.name(), workload.name);
        if !wanted(&name) {
            continue;
        }
        let to = folder.join(name);
        std::fs::create_dir(&to)?;
        match &written {
            // Workloads of one model share the weights by a link.
            Some(from) => {
                for file in ["config.json", "model.safetensors"] {
                    std::fs::hard_link(from.join(file), to.join(file))?;
                }
            }
            None => weights(model, request, &to)?,
        }
        let mut job = workload.job;
        job.prepare()?;
        let mut tensors: HashMap<&str, Tensor> = job.inputs()?.into_iter().collect();
        tensors.insert("logits", job.run()?.to_dtype(DType::F32)?);
        safetensors::save(&tensors, to.join("workload.safetensors"))?;
        (written, count) = (Some(to), count + 1);
    }
    Ok(count)
}

/// Writes config.json and model.safetensors: copies, or a preset's random weights.
fn weights(model: Model, request: &Request, to: &Path) -> Result<()> {
    let name = &request.model;
    if name == "tiny" {
        let from = files::find(&format!("models/tiny/{}", model.name()))?;
        for file in ["config.json", "model.safetensors"] {
            std::fs::copy(from.join(file), to.join(file))?;
        }
        return Ok(());
    }
    let kept = Kept::default();
    let random = RandomWeights::weights(request.seed, request.dtype, &Device::Cpu);
    let vb = VarBuilder::from_backend(
        Box::new(Keeping {
            weights: random,
            kept: kept.clone(),
        }),
        request.dtype,
        Device::Cpu,
    );
    let config = match model {
        Model::Lm => presets::lm(name).map(|c| LanguageModel::load(vb, &c).map(|_| llama(&c))),
        Model::Vit => presets::vit(name).map(|c| VisionTransformer::load(vb, &c).map(|_| vit(&c))),
        Model::Gnn => presets::gnn(name).map(|c| GraphTransformer::load(vb, &c).map(|_| gnn(&c))),
    };
    let Some(config) = config.transpose()? else {
        bail!("{name}: expected tiny or a preset")
    };
    std::fs::write(
        to.join("config.json"),
        serde_json::to_string_pretty(&config)?,
    )?;
    let Ok(kept) = kept.lock() else {
        bail!("a thread panicked while it loaded weights")
    };
    Ok(safetensors::save(&kept, to.join("model.safetensors"))?)
}

/// Tensors by name.
type Kept = Arc<Mutex<HashMap<String, Tensor>>>;

/// Weights that keep each requested tensor.
struct Keeping {
    weights: VarBuilder<'static>,
    kept: Kept,
}

impl SimpleBackend for Keeping {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        init: Init,
        dtype: DType,
        _: &Device,
    ) -> candle_core::Result<Tensor> {
        let tensor = self
            .weights
            .get_with_hints_dtype(shape, name, init, dtype)?;
        if let Ok(mut kept) = self.kept.lock() {
            kept.insert(name.into(), tensor.clone());
        }
        Ok(tensor)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, _: &Device) -> candle_core::Result<Tensor> {
        self.weights.get_unchecked_dtype(name, dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.weights.contains_tensor(name)
    }
}

fn llama(c: &lm::Config) -> Value {
    json!({
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": c.vocab_size,
        "hidden_size": c.hidden_size,
        "intermediate_size": c.intermediate_size,
        "num_hidden_layers": c.num_hidden_layers,
        "num_attention_heads": c.heads.num_heads,
        "num_key_value_heads": c.heads.num_kv_heads,
        "head_dim": c.heads.head_dim,
        "hidden_act": "silu",
        "rms_norm_eps": c.rms_norm_eps,
        "rope_theta": c.rope_theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": c.rope_theta},
        "max_position_embeddings": c.max_position_embeddings,
        "tie_word_embeddings": c.tie_word_embeddings,
        "attention_bias": false,
        "mlp_bias": false,
    })
}

fn vit(c: &vit::Config) -> Value {
    let labels: HashMap<String, &String> = (0..)
        .zip(&c.labels)
        .map(|(i, label): (usize, _)| (i.to_string(), label))
        .collect();
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
        "id2label": labels,
    })
}

fn gnn(c: &gnn::Config) -> Value {
    json!({
        "node_features": c.node_features,
        "edge_features": c.edge_features,
        "hidden_size": c.hidden_size,
        "num_attention_heads": c.num_attention_heads,
        "num_hidden_layers": c.num_hidden_layers,
        "intermediate_size": c.intermediate_size,
        "num_classes": c.num_classes,
        "layer_norm_eps": c.layer_norm_eps,
    })
}
