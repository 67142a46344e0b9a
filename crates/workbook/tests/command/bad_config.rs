//! Invalid and unsupported configurations.

use serde_json::{Value, json};

use crate::fixture::Fixture;

/// Sets one key to each value and asserts an error that names it.
fn refuses(golden: &str, cases: &[(&str, Value)]) {
    for (key, value) in cases {
        let fixture = Fixture::golden(golden);
        fixture.set("config.json", key, value.clone());
        let found = match value {
            Value::Null => "found nothing".to_string(),
            value => format!("found {value}"),
        };
        let key = format!("config.json: `{key}`");
        fixture.answer(&[]).refused(&[&key, &found]);
    }
}

#[test]
fn wrong_configs_of_a_language_model_are_refused() {
    let cases = [
        ("hidden_size", json!(null)),
        ("vocab_size", json!(-3)),
        ("vocab_size", json!(97.5)),
        ("num_hidden_layers", json!(0)),
        ("num_attention_heads", json!("four")),
        ("rms_norm_eps", json!(0)),
        ("architectures", json!(["GPT2LMHeadModel"])),
        ("num_key_value_heads", json!(3)),
        ("head_dim", json!(7)),
        ("hidden_act", json!("gelu")),
        ("attention_bias", json!(true)),
        ("mlp_bias", json!(true)),
        ("rope_parameters.rope_type", json!("yarn")),
        ("rope_scaling.type", json!("linear")),
        ("tie_word_embeddings", json!("no")),
        ("quantization_config", json!({"bits": 4})),
    ];
    refuses("lm-mqa", &cases);
}

#[test]
fn wrong_configs_of_a_vision_transformer_are_refused() {
    let cases = [
        ("image_size", json!(null)),
        ("patch_size", json!(5)),
        ("num_attention_heads", json!(5)),
        ("num_channels", json!(1)),
        ("hidden_act", json!("relu")),
        ("architectures", json!(["ViTForMaskedImageModeling"])),
        ("id2label", json!({"0": "a", "2": "b"})),
        ("id2label", json!(["a", "b"])),
        ("id2label", json!({})),
        ("layer_norm_eps", json!(-1e-12)),
        ("qkv_bias", json!(1)),
    ];
    refuses("vit-patch4", &cases);
}

#[test]
fn wrong_configs_of_a_graph_transformer_are_refused() {
    let cases = [
        ("node_features", json!(null)),
        ("num_classes", json!(0)),
        ("num_attention_heads", json!(3)),
        ("hidden_act", json!("relu")),
        ("model_type", json!("gat")),
        ("layer_norm_eps", json!("small")),
    ];
    refuses("gnn-plain", &cases);
}

#[test]
fn a_class_without_a_name() {
    let fixture = Fixture::golden("gnn-plain");
    fixture.set("config.json", "id2label", json!({"0": "a", "1": 5}));
    fixture
        .answer(&[])
        .refused(&["config.json: `id2label.1`: expected a name, found 5"]);
    fixture.set("config.json", "id2label", json!({"0": "a"}));
    fixture
        .answer(&[])
        .refused(&["config.json: `id2label`: expected a name for each of the "]);
    fixture.set("config.json", "id2label", json!(["a"]));
    fixture
        .answer(&[])
        .refused(&["config.json: `id2label`: expected an object"]);
}

#[test]
fn heads_that_do_not_divide() {
    let fixture = Fixture::golden("lm-tied-gqa"); // without head_dim
    fixture.set("config.json", "num_attention_heads", json!(6));
    let parts = [
        "`num_attention_heads`",
        "a divisor of `hidden_size` (32), found 6",
    ];
    fixture.answer(&[]).refused(&parts);
}

#[test]
fn an_architecture_by_its_type_alone() {
    let fixture = Fixture::golden("lm-mqa");
    fixture.set("config.json", "architectures", json!(null));
    fixture.set("config.json", "model_type", json!("mamba"));
    fixture.answer(&[]).refused(&[
        "`model_type`",
        "expected \"llama\" or \"qwen2\", found \"mamba\"",
    ]);
}

/// Huge sizes are rejected before any allocation of that size.
#[test]
fn numbers_beyond_all_measure() {
    for huge in [(1u64 << 24) + 1, 1 << 40] {
        let keys = ["vocab_size", "hidden_size", "max_position_embeddings"];
        refuses("lm-mqa", &keys.map(|key| (key, json!(huge))));
        refuses("gnn-plain", &[("num_classes", json!(huge))]);
    }
    refuses("lm-mqa", &[("max_position_embeddings", json!(1 << 23))]);
    let fixture = Fixture::golden("lm-mqa");
    fixture.set("config.json", "num_hidden_layers", json!(1 << 24));
    fixture
        .answer(&[])
        .refused(&["`model.layers.2.", "found nothing"]);
}

#[test]
fn labels_that_the_head_does_not_have() {
    let fixture = Fixture::golden("vit-patch4");
    fixture.set("config.json", "id2label", json!({"0": "cat", "1": "dog"}));
    let parts = ["`classifier.weight`", "shape [2, 32], found shape [7, 32]"];
    fixture.answer(&[]).refused(&parts);
}

/// Errors quote only the start of a long value.
#[test]
fn values_that_fill_pages() {
    let names: Vec<String> = (0..5000).map(|i| format!("class {i}")).collect();
    let entries = names.iter().map(|name| (format!("no {name}"), json!(name)));
    let map = Value::Object(entries.collect());
    let long = json!("x".repeat(100_000));
    for (golden, key, value) in [
        ("vit-patch4", "id2label", &map),
        ("vit-patch4", "id2label", &json!(names)),
        ("vit-patch4", "architectures", &json!(names)),
        ("lm-mqa", "hidden_size", &long),
        ("lm-mqa", "rope_scaling", &map),
        ("gnn-plain", "num_classes", &json!(names)),
        ("gnn-plain", "id2label", &json!({"0": names})),
    ] {
        let fixture = Fixture::golden(golden);
        fixture.set("config.json", key, value.clone());
        let run = fixture.answer(&[]);
        run.refused(&[&format!("config.json: `{key}"), "…"]);
        assert!(run.stderr.chars().count() < 400, "{}", run.stderr);
    }
    let fixture = Fixture::golden("vit-patch4");
    fixture.write("config.json", json!(names).to_string());
    fixture.answer(&[]).refused(&["a JSON object", "…"]);
}

#[test]
fn files_that_hold_no_configuration() {
    for (text, found) in [
        ("", "an empty file"),
        ("{\"a\": ", "EOF"),
        ("[1]", "[1]"),
        ("\u{0}", "expected value"),
    ] {
        let fixture = Fixture::golden("vit-patch8");
        fixture.write("config.json", text);
        fixture
            .answer(&[])
            .refused(&["config.json: expected", found]);
    }
    let fixture = Fixture::golden("gnn-plain");
    std::fs::remove_file(fixture.path("config.json")).unwrap();
    fixture.answer(&[]).unreadable(&fixture.path("config.json"));
}

#[test]
fn an_end_of_text_that_is_none() {
    let fixture = Fixture::golden("lm-tied-gqa");
    fixture.set("config.json", "eos_token_id", json!([0, "end"]));
    let parts = ["`eos_token_id`", "expected a token, or a list of them"];
    fixture.run(&["--prompt", "The"]).refused(&parts);
}
