//! Invalid weights.

use std::fs;

use safetensors::tensor::Dtype;
use serde_json::{Map, Value, json};

use crate::fixture::{Fixture, Stored, Tensors, read};

const WEIGHT: &str = "model.layers.0.self_attn.q_proj.weight";

/// A language model whose only weights file has these bytes.
fn with_bytes(change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Fixture {
    let fixture = Fixture::golden("lm-mqa");
    let bytes = fs::read(fixture.path("model.safetensors")).unwrap();
    fixture.write("model.safetensors", change(bytes));
    fixture
}

#[test]
fn an_empty_file() {
    let fixture = with_bytes(|_| vec![]);
    let parts = ["model.safetensors: expected a safetensors file, found 0 bytes"];
    fixture.answer(&[]).refused(&parts);
}

#[test]
fn a_file_that_is_cut_off() {
    for keep in [4, 100, 3000] {
        let fixture = with_bytes(|bytes| bytes[..keep].to_vec());
        let found = format!("found {keep} bytes");
        fixture.answer(&[]).refused(&["model.safetensors", &found]);
    }
    let fixture = with_bytes(|bytes| bytes[..bytes.len() - 1].to_vec());
    fixture.answer(&[]).refused(&["model.safetensors"]);
}

#[test]
fn a_file_of_another_kind() {
    let fixture = with_bytes(|_| b"PK\x03\x04 this is a zip file, or nearly".to_vec());
    fixture.answer(&[]).refused(&["model.safetensors"]);
}

#[test]
fn no_file() {
    let fixture = Fixture::golden("lm-mqa");
    fs::remove_file(fixture.path("model.safetensors")).unwrap();
    fixture
        .answer(&[])
        .unreadable(&fixture.path("model.safetensors"));
}

#[test]
fn a_missing_tensor() {
    let fixture = Fixture::golden("lm-mqa");
    fixture.edit("model.safetensors", |tensors| {
        tensors.remove(WEIGHT);
    });
    fixture.answer(&[]).refused(&[WEIGHT, "found nothing"]);
}

/// The model would silently read only a part of the file.
#[test]
fn layers_that_the_configuration_does_not_have() {
    for (golden, first) in [
        ("lm-mqa", "model.layers.1.input_layernorm.weight"),
        ("lm-untied-full", "model.layers.1.input_layernorm.weight"),
        ("vit-patch8", "vit.encoder.layer.1.attention."),
        ("gnn-plain", "blocks.1.conv."),
    ] {
        let fixture = Fixture::golden(golden);
        fixture.set("config.json", "num_hidden_layers", json!(1));
        let tensor = format!(".safetensors: tensor `{first}");
        let expected = "expected layers 0 to 0, `num_hidden_layers` of config.json, found layer 1";
        fixture.answer(&[]).refused(&[&tensor, expected]);
    }
    let fixture = Fixture::golden("lm-mqa");
    fixture.edit("model.safetensors", |tensors| {
        let name = "model.layers.7.self_attn.rotary_emb.inv_freq";
        tensors.insert(name.into(), Stored::floats(&[4], &[1.; 4]));
    });
    let found = "expected layers 0 to 1, `num_hidden_layers` of config.json, found layer 7";
    fixture.answer(&[]).refused(&["inv_freq", found]);
}

/// Buffers that other programs save are ignored.
#[test]
fn tensors_without_a_use_are_left_alone() {
    for (golden, name) in [
        ("lm-mqa", "model.layers.1.self_attn.rotary_emb.inv_freq"),
        ("lm-mqa", "model.rotary_emb.inv_freq"),
        ("vit-patch4", "vit.pooler.dense.weight"),
    ] {
        let fixture = Fixture::golden(golden);
        fixture.edit("model.safetensors", |tensors| {
            tensors.insert(name.into(), Stored::floats(&[4], &[1.; 4]));
        });
        fixture.answer(&[]).fine();
    }
}

/// Without them the model would be another than the one that was trained.
#[test]
fn tensors_of_another_model() {
    for (golden, name) in [
        ("lm-tied-gqa", "lm_head.weight"),
        ("lm-mqa", "model.layers.0.self_attn.q_norm.weight"),
        ("lm-mqa", "model.layers.0.self_attn.q_proj.weight_scale"),
        ("lm-mqa", "model.layers.00.self_attn.q_proj.weight"),
        ("vit-patch4", "vit.encoder.layer.0.lambda_1"),
        ("gnn-plain", "blocks.0.conv.lin_edge.bias"),
        ("gnn-plain", "blocks.norm.weight"),
    ] {
        let fixture = Fixture::golden(golden);
        fixture.edit("model.safetensors", |tensors| {
            tensors.insert(name.into(), Stored::floats(&[4], &[1.; 4]));
        });
        let tensor = format!("model.safetensors: tensor `{name}`: expected no such tensor");
        fixture.answer(&[]).refused(&[&tensor, "found it"]);
    }
}

#[test]
fn a_wrong_shape() {
    let fixture = Fixture::golden("lm-mqa");
    fixture.edit("model.safetensors", |tensors| {
        let weight = tensors.get_mut(WEIGHT).unwrap();
        weight.shape = vec![16, 64];
    });
    let parts = [WEIGHT, "expected shape [32, 32], found shape [16, 64]"];
    fixture.answer(&[]).refused(&parts);
}

#[test]
fn a_wrong_dtype() {
    let fixture = Fixture::golden("lm-mqa");
    fixture.edit("model.safetensors", |tensors| {
        tensors.get_mut(WEIGHT).unwrap().dtype = Dtype::I32;
    });
    let parts = [WEIGHT, "expected F32, F16 or BF16, found I32"];
    fixture.answer(&[]).refused(&parts);
}

#[test]
fn numbers_that_are_none() {
    for (number, name) in [(f32::NAN, "NaN"), (f32::NEG_INFINITY, "-inf")] {
        for (golden, weight) in [
            ("lm-mqa", WEIGHT),
            ("vit-patch8", "vit.layernorm.bias"),
            ("gnn-plain", "blocks.1.conv.lin_edge.weight"),
        ] {
            let fixture = Fixture::golden(golden);
            fixture.edit("model.safetensors", |tensors| {
                tensors.get_mut(weight).unwrap().poke(number);
            });
            let found = format!("expected finite numbers, found {name}");
            fixture.answer(&[]).refused(&[weight, &found]);
        }
    }
}

#[test]
fn weights_that_overflow() {
    let fixture = Fixture::golden("vit-patch8");
    fixture.edit("model.safetensors", |tensors| {
        let bias = tensors.get_mut("classifier.bias").unwrap();
        *bias = Stored::floats(&[1], &[f32::MAX]);
        let weight = tensors.get_mut("classifier.weight").unwrap();
        let large = vec![f32::MAX; weight.to_floats().len()];
        *weight = Stored::floats(&weight.shape.clone(), &large);
    });
    fixture
        .answer(&[])
        .refused(&["case.safetensors: logits: expected finite numbers"]);
}

#[test]
fn a_shard_that_is_missing() {
    let fixture = Fixture::golden("lm-untied-full");
    let shard = "model-00003-of-00004.safetensors";
    fs::remove_file(fixture.path(shard)).unwrap();
    fixture.answer(&[]).unreadable(&fixture.path(shard));
}

#[test]
fn an_index_that_points_outside() {
    for outside in [
        json!("../model.safetensors"),
        json!("/etc/passwd"),
        json!("."),
        json!(7),
    ] {
        let fixture = Fixture::golden("lm-untied-full");
        let index = "model.safetensors.index.json";
        fixture.write(
            index,
            json!({"weight_map": {"lm_head.weight": outside}}).to_string(),
        );
        fixture
            .answer(&[])
            .refused(&[index, "lm_head.weight", "expected a file name"]);
    }
}

#[test]
fn an_index_without_a_map() {
    let fixture = Fixture::golden("lm-untied-full");
    let index = "model.safetensors.index.json";
    fixture.write(index, "{}");
    fixture
        .answer(&[])
        .refused(&[index, "`weight_map`", "found nothing"]);
}

/// A bias that the model would leave out.
#[test]
fn biases_that_the_configuration_switches_off() {
    for (golden, weight) in [
        ("lm-mqa", "model.layers.0.self_attn.q_proj"),
        ("lm-mqa", "model.layers.1.mlp.down_proj"),
        ("lm-mqa", "model.norm"),
        ("lm-qwen2", "model.layers.0.self_attn.o_proj"),
        ("lm-mqa", "lm_head"),
    ] {
        let fixture = Fixture::golden(golden);
        let bias = format!("{weight}.bias");
        fixture.edit("model.safetensors", |tensors| {
            let channels = tensors[&format!("{weight}.weight")].shape[0];
            let zeros = Stored::floats(&[channels], &vec![0.; channels]);
            tensors.insert(bias.clone(), zeros);
        });
        let tensor = format!("model.safetensors: tensor `{bias}`");
        let expected = "expected no such tensor, by config.json, found shape [";
        fixture.answer(&[]).refused(&[&tensor, expected]);
    }
    let fixture = Fixture::golden("vit-patch8");
    fixture.set("config.json", "qkv_bias", json!(false));
    let tensor = "tensor `vit.encoder.layer.0.attention.attention.query.bias`";
    let found = "expected no such tensor, by config.json, found shape [";
    fixture.answer(&[]).refused(&[tensor, found]);
    // The head is the embedding, and has no weight of its own.
    let fixture = Fixture::golden("lm-tied-gqa");
    fixture.edit("model.safetensors", |tensors| {
        tensors.insert("lm_head.bias".into(), Stored::floats(&[0], &[]));
    });
    fixture
        .answer(&[])
        .refused(&["tensor `lm_head.bias`: expected no such tensor"]);
}

const INDEX: &str = "model.safetensors.index.json";

/// A language model in two shards, and its index.
fn in_shards(shards: impl FnOnce(&mut [Tensors; 2], &mut Map<String, Value>)) -> Fixture {
    let fixture = Fixture::golden("lm-mqa");
    let whole = read(&fixture.path("model.safetensors"));
    fs::remove_file(fixture.path("model.safetensors")).unwrap();
    let file = |second| format!("shard-{}.safetensors", 1 + usize::from(second));
    let of_layers = |name: &String| name.contains("layers");
    let places = whole
        .keys()
        .map(|name| (name.clone(), json!(file(of_layers(name)))));
    let mut map = places.collect();
    let (second, first) = whole.into_iter().partition(|(name, _)| of_layers(name));
    let mut tensors = [first, second];
    shards(&mut tensors, &mut map);
    for (second, tensors) in [false, true].into_iter().zip(&tensors) {
        fixture.save(&file(second), tensors);
    }
    fixture.write(INDEX, json!({ "weight_map": map }).to_string());
    fixture
}

#[test]
fn a_tensor_in_two_shards() {
    in_shards(|_, _| ()).answer(&[]).fine();
    let fixture = in_shards(|[first, _], _| {
        first.insert(WEIGHT.into(), Stored::floats(&[1], &[1.]));
    });
    let again = format!("shard-2.safetensors: tensor `{WEIGHT}`: expected this tensor in one file");
    let first = "shard-1.safetensors, found it again";
    fixture.answer(&[]).refused(&[&again, first]);
}

#[test]
fn a_weight_map_that_points_to_the_wrong_shard() {
    let fixture = in_shards(|_, map| {
        map.insert(WEIGHT.into(), json!("shard-1.safetensors"));
    });
    let tensor = format!("{INDEX}: tensor `{WEIGHT}`: expected it in ");
    let files = ["shard-1.safetensors, found ", "shard-2.safetensors"];
    fixture.answer(&[]).refused(&[&tensor, files[0], files[1]]);

    let fixture = in_shards(|_, map| {
        map.insert("extra".into(), json!("shard-1.safetensors"));
    });
    let tensor = "tensor `extra`: expected it in ";
    let found = "shard-1.safetensors, found it in no file";
    fixture.answer(&[]).refused(&[tensor, found]);
}
