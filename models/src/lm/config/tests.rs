//! Published configurations, and what is refused.

use std::path::Path;

use candle_core::DType;
use serde_json::{Value, json};

use super::*;

/// huggingface.co/HuggingFaceTB/SmolLM2-135M
const SMOLLM2_135M: &str = r#"{
  "architectures": ["LlamaForCausalLM"],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "eos_token_id": 0,
  "hidden_act": "silu",
  "hidden_size": 576,
  "initializer_range": 0.041666666666666664,
  "intermediate_size": 1536,
  "is_llama_config": true,
  "max_position_embeddings": 8192,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 9,
  "num_hidden_layers": 30,
  "num_key_value_heads": 3,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_interleaved": false,
  "rope_scaling": null,
  "rope_theta": 100000,
  "tie_word_embeddings": true,
  "torch_dtype": "bfloat16",
  "transformers_version": "4.40.1",
  "use_cache": true,
  "vocab_size": 49152
}"#;

/// huggingface.co/meta-llama/Llama-3.2-1B
const LLAMA_3_2_1B: &str = r#"{
  "architectures": ["LlamaForCausalLM"],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 128000,
  "eos_token_id": 128001,
  "head_dim": 64,
  "hidden_act": "silu",
  "hidden_size": 2048,
  "initializer_range": 0.02,
  "intermediate_size": 8192,
  "max_position_embeddings": 131072,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 32,
  "num_hidden_layers": 16,
  "num_key_value_heads": 8,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_scaling": {
    "factor": 32.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192,
    "rope_type": "llama3"
  },
  "rope_theta": 500000.0,
  "tie_word_embeddings": true,
  "torch_dtype": "bfloat16",
  "transformers_version": "4.45.0.dev0",
  "use_cache": true,
  "vocab_size": 128256
}"#;

/// huggingface.co/Qwen/Qwen2.5-0.5B
const QWEN2_5_0_5B: &str = r#"{
  "architectures": ["Qwen2ForCausalLM"],
  "attention_dropout": 0.0,
  "bos_token_id": 151643,
  "eos_token_id": 151643,
  "hidden_act": "silu",
  "hidden_size": 896,
  "initializer_range": 0.02,
  "intermediate_size": 4864,
  "max_position_embeddings": 32768,
  "max_window_layers": 24,
  "model_type": "qwen2",
  "num_attention_heads": 14,
  "num_hidden_layers": 24,
  "num_key_value_heads": 2,
  "rms_norm_eps": 1e-06,
  "rope_theta": 1000000.0,
  "sliding_window": 32768,
  "tie_word_embeddings": true,
  "torch_dtype": "bfloat16",
  "transformers_version": "4.40.1",
  "use_cache": true,
  "use_mrope": false,
  "use_sliding_window": false,
  "vocab_size": 151936
}"#;

fn parse(text: &str) -> Result<Config, BadInput> {
    Config::from_file(&ConfigFile::parse(Path::new("config.json"), text)?)
}

/// `text` with the keys of `changes` in place of its own; null removes one.
fn changed(text: &str, changes: Value) -> Result<Config, BadInput> {
    let mut root: Value = serde_json::from_str(text).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        root[key] = value.clone();
    }
    parse(&root.to_string())
}

fn heads(num_heads: usize, num_kv_heads: usize, head_dim: usize) -> Heads {
    Heads {
        num_heads,
        num_kv_heads,
        head_dim,
    }
}

#[test]
fn smollm2() {
    let expected = Config {
        vocab_size: 49152,
        hidden_size: 576,
        intermediate_size: 1536,
        num_hidden_layers: 30,
        heads: heads(9, 3, 64),
        qkv_bias: false,
        rms_norm_eps: 1e-5,
        rope_theta: 100_000.,
        rope_scaling: None,
        max_position_embeddings: 8192,
        tie_word_embeddings: true,
    };
    assert_eq!(parse(SMOLLM2_135M), Ok(expected));
}

fn llama3_2_1b() -> Config {
    Config {
        vocab_size: 128_256,
        hidden_size: 2048,
        intermediate_size: 8192,
        num_hidden_layers: 16,
        heads: heads(32, 8, 64),
        qkv_bias: false,
        rms_norm_eps: 1e-5,
        rope_theta: 500_000.,
        rope_scaling: Some(Llama3Scaling {
            factor: 32.,
            low_freq_factor: 1.,
            high_freq_factor: 4.,
            original_max_position_embeddings: 8192,
        }),
        max_position_embeddings: 131_072,
        tie_word_embeddings: true,
    }
}

#[test]
fn llama_3_2() {
    assert_eq!(parse(LLAMA_3_2_1B), Ok(llama3_2_1b()));
}

/// The same model as transformers 5 writes it, and as both versions can read it.
#[test]
fn llama_3_2_with_rope_parameters() {
    let old: Value = serde_json::from_str(LLAMA_3_2_1B).unwrap();
    let mut parameters = old["rope_scaling"].clone();
    parameters["rope_theta"] = old["rope_theta"].clone();
    let mut new = json!({"rope_parameters": parameters, "rope_theta": null, "rope_scaling": null});
    assert_eq!(changed(LLAMA_3_2_1B, new.clone()), Ok(llama3_2_1b()));
    new["rope_scaling"] = old["rope_scaling"].clone();
    assert_eq!(changed(LLAMA_3_2_1B, new.clone()), Ok(llama3_2_1b()));
    new["rope_scaling"]["factor"] = json!(8);
    let error = changed(LLAMA_3_2_1B, new).unwrap_err().to_string();
    assert!(
        error.contains("`rope_scaling`: expected the same scaling as in `rope_parameters`"),
        "{error}"
    );
}

#[test]
fn qwen2_5() {
    let expected = Config {
        vocab_size: 151_936,
        hidden_size: 896,
        intermediate_size: 4864,
        num_hidden_layers: 24,
        heads: heads(14, 2, 64),
        qkv_bias: true,
        rms_norm_eps: 1e-6,
        rope_theta: 1e6,
        rope_scaling: None,
        max_position_embeddings: 32768,
        tie_word_embeddings: true,
    };
    assert_eq!(parse(QWEN2_5_0_5B), Ok(expected.clone()));
    let by_type = changed(QWEN2_5_0_5B, json!({"architectures": null}));
    assert_eq!(by_type, Ok(expected));
}

/// Sets a key of `rope_scaling` in Llama 3.2's configuration, or removes it with null; asserts the whole complaint.
fn refuses_scaling(key: &str, value: Value, expected: &str) {
    let mut root: Value = serde_json::from_str(LLAMA_3_2_1B).unwrap();
    root["rope_scaling"][key] = value;
    let error = parse(&root.to_string()).unwrap_err().to_string();
    assert_eq!(error, format!("config.json: {expected}"));
}

#[test]
fn a_scaling_that_is_incomplete_or_out_of_range() {
    for (found, text) in [
        (json!(null), "nothing"),
        (json!(0.5), "0.5"),
        (json!("8"), "\"8\""),
    ] {
        let expected = format!("`rope_scaling.factor`: expected a number from 1, found {text}");
        refuses_scaling("factor", found, &expected);
    }
    refuses_scaling(
        "low_freq_factor",
        json!(0),
        "`rope_scaling.low_freq_factor`: expected a positive number, found 0",
    );
    refuses_scaling(
        "high_freq_factor",
        json!(1),
        "`rope_scaling.high_freq_factor`: expected a number above `low_freq_factor` = 1, found 1",
    );
    refuses_scaling(
        "high_freq_factor",
        json!(null),
        "`rope_scaling.high_freq_factor`: expected a number above `low_freq_factor` = 1, found nothing",
    );
    refuses_scaling(
        "original_max_position_embeddings",
        json!(8192.5),
        "`rope_scaling.original_max_position_embeddings`: expected an integer from 1 to 16777216, found 8192.5",
    );
}

#[test]
fn a_scaling_of_another_type() {
    refuses_scaling(
        "rope_type",
        json!("yarn"),
        "`rope_scaling.rope_type`: expected \"default\" or \"llama3\" (nothing else is implemented), found \"yarn\"",
    );
    let refused = |changes: Value, expected: &str| {
        let error = changed(SMOLLM2_135M, changes).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("config.json: {expected}")),
            "{error}"
        );
    };
    let old = json!({"rope_scaling": {"type": "linear", "factor": 2.0}});
    refused(
        old,
        "`rope_scaling.type`: expected \"default\" or \"llama3\"",
    );
    let untyped = json!({"rope_scaling": {"factor": 2.0}});
    refused(
        untyped,
        "`rope_scaling`: expected an object with `rope_type`",
    );
    refused(
        json!({"rope_scaling": 2}),
        "`rope_scaling`: expected an object, found 2",
    );
    let new = json!({"rope_parameters": {"rope_type": "default", "factor": 2.0}});
    refused(new, "`rope_parameters.factor`: expected null");
}

#[test]
fn keys_of_the_angles_that_nothing_reads_are_refused() {
    let refused = |changes: Value, expected: &str| {
        let error = changed(SMOLLM2_135M, changes).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("config.json: {expected}")),
            "{error}"
        );
    };
    let linear = json!({"rope_type": "linear", "factor": 8.0, "rope_theta": 500.0});
    refused(
        json!({"rope_parameters": {"full_attention": linear}}),
        "`rope_parameters.full_attention`: expected null (nothing else is implemented), found {",
    );
    refused(
        json!({"rope_scaling": {"rope_type": "default", "rope_theta": 500.0}}),
        "`rope_scaling.rope_theta`: expected null (nothing else is implemented), found 500",
    );
    refused(
        json!({"rope_parameters": {"rope_type": "default", "attention_factor": 2.0}}),
        "`rope_parameters.attention_factor`: expected null",
    );
    refused(
        json!({"rope_parameters": {"a.b": 1}}),
        "`rope_parameters.a.b`: expected null (nothing else is implemented), found 1",
    );
    let new = json!({"rope_type": "default", "rope_theta": 100_000, "attention_factor": null});
    let new = json!({"rope_theta": null, "rope_parameters": new});
    assert_eq!(changed(SMOLLM2_135M, new), parse(SMOLLM2_135M));
}

#[test]
fn variants_of_other_models_are_refused() {
    for (key, value) in [
        ("model_type", json!("gemma2")),
        ("attn_logit_softcapping", json!(50.0)),
        ("residual_multiplier", json!(0.22)),
        ("attention_multiplier", json!(0.015)),
        ("embedding_multiplier", json!(12)),
        ("logits_scaling", json!(8)),
        ("use_qk_norm", json!(true)),
        ("no_rope_layers", json!([0, 1])),
        ("compression_config", json!({"format": "int8"})),
        ("quantization_config", json!({})),
        ("rms_norm_eps", json!(1)),
        ("rope_theta", json!(1e-320)),
        ("max_position_embeddings", json!(1 << 22)),
    ] {
        let error = changed(SMOLLM2_135M, json!({ key: value })).unwrap_err();
        assert_eq!(error.what, format!("config.json: `{key}`"));
    }
    let neutral =
        json!({"residual_multiplier": 1, "use_qk_norm": false, "attn_logit_softcapping": null});
    assert_eq!(changed(SMOLLM2_135M, neutral), parse(SMOLLM2_135M));
    let twice = SMOLLM2_135M.replacen('{', "{\"hidden_size\": 4,", 1);
    let error = parse(&twice).unwrap_err().to_string();
    assert!(
        error.starts_with("config.json: expected JSON, found `hidden_size` twice"),
        "{error}"
    );
}

#[test]
fn features_of_qwen2_that_this_model_lacks_are_refused() {
    for (key, value) in [
        ("use_sliding_window", json!(true)),
        (
            "layer_types",
            json!(["full_attention", "sliding_attention"]),
        ),
        ("rope_scaling", json!({"type": "yarn", "factor": 4.0})),
        ("architectures", json!(["Qwen3ForCausalLM"])),
    ] {
        let error = changed(QWEN2_5_0_5B, json!({ key: value })).unwrap_err();
        assert!(
            error.what.starts_with(&format!("config.json: `{key}")),
            "{error}"
        );
    }
    let full = json!({"layer_types": ["full_attention", "full_attention"]});
    assert!(changed(QWEN2_5_0_5B, full).is_ok());
}

/// The formula counts what a model loads.
#[test]
fn parameters_are_those_that_are_loaded() {
    let small = Config {
        vocab_size: 11,
        hidden_size: 8,
        intermediate_size: 12,
        num_hidden_layers: 2,
        heads: Heads {
            num_heads: 4,
            num_kv_heads: 2,
            head_dim: 2,
        },
        ..crate::presets::lm("readme").unwrap()
    };
    for (tie_word_embeddings, qkv_bias) in [(true, false), (false, true)] {
        let config = Config {
            tie_word_embeddings,
            qkv_bias,
            ..small.clone()
        };
        let loaded = candle_nn::VarMap::new();
        let weights =
            candle_nn::VarBuilder::from_varmap(&loaded, DType::F32, &candle_core::Device::Cpu);
        crate::LanguageModel::load(weights, &config).unwrap();
        let counts = loaded.all_vars().into_iter().map(|var| var.elem_count());
        assert_eq!(config.num_parameters(), counts.sum::<usize>());
    }
    let readme = crate::presets::lm("readme").unwrap();
    assert_eq!(readme.num_parameters(), 25_573_888);
}
