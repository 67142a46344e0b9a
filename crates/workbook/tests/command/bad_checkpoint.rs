//! Invalid weights.

use std::fs;

use safetensors::tensor::Dtype;
use serde_json::json;

use crate::fixture::{Fixture, Stored};

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

/// A file of which the model would silently read only a part.
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

/// Extra tensors that other programs save are ignored.
#[test]
fn tensors_without_a_use_are_left_alone() {
    for (golden, name) in [
        ("lm-tied-gqa", "lm_head.weight"),
        ("lm-mqa", "model.layers.1.self_attn.rotary_emb.inv_freq"),
        ("lm-mqa", "model.rotary_emb.inv_freq"),
        ("vit-patch4", "vit.pooler.dense.weight"),
        ("gnn-plain", "blocks.norm.weight"),
    ] {
        let fixture = Fixture::golden(golden);
        fixture.edit("model.safetensors", |tensors| {
            tensors.insert(name.into(), Stored::floats(&[4], &[1.; 4]));
        });
        fixture.answer(&[]).fine();
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
        .refused(&["logits: expected finite numbers"]);
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
