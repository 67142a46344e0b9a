//! Configurations by name.

use crate::{Heads, gnn, lm, vit};

/// The language models that have a name; `tiny` is a folder with trained weights instead.
///
/// `smollm-135m` and `llama-1b` have the sizes of SmolLM2-135M and Llama-3.2-1B, with a context of 2048 positions.
pub fn lm(name: &str) -> Option<lm::Config> {
    let readme = lm::Config {
        vocab_size: 10000,
        hidden_size: 512,
        intermediate_size: 1536,
        num_hidden_layers: 6,
        heads: Heads::full(8, 64),
        rms_norm_eps: 1e-5,
        qkv_bias: false,
        rope_theta: 10000.,
        rope_scaling: None,
        max_position_embeddings: 2048,
        tie_word_embeddings: true,
    };
    match name {
        "readme" => Some(readme),
        "smollm-135m" => Some(lm::Config {
            vocab_size: 49152,
            hidden_size: 576,
            num_hidden_layers: 30,
            heads: Heads {
                num_heads: 9,
                num_kv_heads: 3,
                head_dim: 64,
            },
            ..readme
        }),
        "llama-1b" => Some(lm::Config {
            vocab_size: 128256,
            hidden_size: 2048,
            intermediate_size: 8192,
            num_hidden_layers: 16,
            heads: Heads {
                num_heads: 32,
                num_kv_heads: 8,
                head_dim: 64,
            },
            rope_theta: 500000.,
            ..readme
        }),
        _ => None,
    }
}

/// The vision transformers that have a name: DeiT's small and ViT's base, both 16 × 16 patches of 224 × 224.
pub fn vit(name: &str) -> Option<vit::Config> {
    let (hidden_size, num_attention_heads) = match name {
        "s16" => (384, 6),
        "b16" => (768, 12),
        _ => return None,
    };
    Some(vit::Config {
        image_size: 224,
        patch_size: 16,
        hidden_size,
        intermediate_size: 4 * hidden_size,
        num_hidden_layers: 12,
        num_attention_heads,
        layer_norm_eps: 1e-12,
        qkv_bias: true,
        labels: (0..1000).map(|i| format!("LABEL_{i}")).collect(),
    })
}

/// The graph transformers that have a name.
pub fn gnn(name: &str) -> Option<gnn::Config> {
    (name == "base").then(|| gnn::Config {
        node_features: 64,
        edge_features: 16,
        hidden_size: 128,
        num_attention_heads: 4,
        num_hidden_layers: 4,
        intermediate_size: 256,
        num_classes: 10,
        layer_norm_eps: 1e-5,
        labels: (0..10).map(|i| format!("class {i}")).collect(),
    })
}

/// Presets whose weights take gigabytes. They run where they are named, and are left out where all presets are asked for.
pub const LARGE: [&str; 1] = ["llama-1b"];

/// Names that `--model` knows besides `tiny`, for messages: of each model in turn.
pub const NAMES: [(&str, &[&str]); 3] = [
    ("lm", &["readme", "smollm-135m", "llama-1b"]),
    ("vit", &["s16", "b16"]),
    ("gnn", &["base"]),
];
