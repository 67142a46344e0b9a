//! Small checkpoints whose pass would take all memory: the program ends before it.

use safetensors::tensor::Dtype;
use serde_json::json;

use crate::fixture::{Fixture, Stored, root};

const LIMIT: &str = "expected at most 268435456 elements in a tensor of ";
const SCORES: &str = "expected at most 134217728 elements in a tensor of ";

/// A golden with one layer and other sizes: `size` of a tensor's name, axis and length there is the new length.
fn resized(
    golden: &str,
    keys: &[(&str, usize)],
    size: impl Fn(&str, usize, usize) -> usize,
) -> Fixture {
    let fixture = Fixture::golden(golden);
    for (key, value) in keys.iter().chain(&[("num_hidden_layers", 1)]) {
        fixture.set("config.json", key, json!(value));
    }
    fixture.edit("model.safetensors", |tensors| {
        tensors.retain(|name, _| !name.contains(".1."));
        for (
            name,
            Stored {
                dtype,
                shape,
                bytes,
            },
        ) in tensors
        {
            (shape.iter_mut().enumerate()).for_each(|(axis, n)| *n = size(name, axis, *n));
            *dtype = Dtype::BF16;
            *bytes = vec![0; 2 * shape.iter().product::<usize>()];
        }
    });
    fixture
}

/// Two channels, a head dimension of 2 and one head of keys.
fn lm([vocab, heads, mlp, context]: [usize; 4]) -> Fixture {
    let keys = [
        ("vocab_size", vocab),
        ("hidden_size", 2),
        ("num_attention_heads", heads),
        ("num_key_value_heads", 1),
        ("head_dim", 2),
        ("intermediate_size", mlp),
        ("max_position_embeddings", context),
    ];
    resized("lm-tied-gqa", &keys, |name, axis, n| match n {
        300 => vocab,
        56 => mlp,
        _ if name.contains(["q_proj", "o_proj"][axis]) => 2 * heads,
        _ => 2,
    })
}

#[test]
fn a_prompt_that_fills_the_memory() {
    let level1 = |sizes, text: &str| lm(sizes).run(&["--level", "1", "--prompt", text]);
    let text = "the ".repeat(1000);
    for (heads, text) in [(4096, text.clone()), (4, text.repeat(10))] {
        let run = level1([300, heads, 4, 1 << 20], &text);
        let factors = "tokens × tokens × `num_attention_heads`, by config.json";
        run.refused(&["--prompt: ", SCORES, factors, &format!(" × {heads}\n")]);
    }
    // A step of level 1 copies the keys for each head.
    level1([300, 1 << 19, 4, 64], "a").fine();
    let run = level1([300, 1 << 20, 4, 64], "a");
    run.refused(&[SCORES, "(tokens + new tokens) × `num_attention_heads`"]);
}

#[test]
fn tokens_whose_activations_fill_the_memory() {
    let answer = |[vocab, heads, mlp]: [usize; 3], level: &str| {
        let fixture = lm([vocab, heads, mlp, 4096]);
        let ids = Stored::integers(&[1, 2000], &[0; 2000]);
        fixture.save("case.safetensors", &[("input_ids".into(), ids)].into());
        fixture.answer(&["--level", level])
    };
    let heads = "tokens × (`num_attention_heads` + 2 `num_key_value_heads`) × `head_dim`";
    for (sizes, factors) in [
        ([1 << 20, 4, 4], "tokens × `vocab_size`"),
        ([300, 4, 1 << 19], "tokens × 2 × `intermediate_size`"),
        ([300, 1 << 17, 4], heads),
    ] {
        answer(sizes, "5").refused(&["case.safetensors: ", LIMIT, factors, "found 2000 × "]);
    }
    // Tiles hold few scores, and take time for all of them.
    for (level, most) in [("2", 1u64 << 27), ("5", 1 << 34)] {
        let limit = format!("at most {most} elements in a tensor of tokens × tokens × ");
        answer([300, 1 << 16, 4], level).refused(&[&limit, "found 2000 × 2000 × 65536\n"]);
    }
}

#[test]
fn images_that_fill_the_memory() {
    let keys = [
        ("image_size", 64),
        ("patch_size", 1),
        ("hidden_size", 4),
        ("intermediate_size", 1 << 18),
    ];
    let fixture = resized("vit-patch4", &keys, |_, axis, n| match n {
        56 => 1 << 18,
        17 => 64 * 64 + 1,
        4 if axis > 1 => 1,
        32 => 4,
        n => n,
    });
    let image = root().join("crates/cli/pictures/ring.png");
    let run = fixture.run(&["--image", image.to_str().unwrap()]);
    let factors = "images × (patches + 1) × `intermediate_size`, by config.json";
    run.refused(&["--image: ", LIMIT, factors, "found 1 × 4097 × 262144\n"]);
}

#[test]
fn graphs_that_fill_the_memory() {
    let edges = "0,1\n".repeat(5000);
    for (key, old, text, found) in [
        ("node_features", 6, "0,9999\n", "nodes × `node_features`"),
        ("edge_features", 5, &edges, "edges × `edge_features`"),
        (
            "intermediate_size",
            56,
            "0,9999\n",
            "nodes × `intermediate_size`",
        ),
    ] {
        let keys = [(key, 1 << 20), ("hidden_size", 4)];
        let size = |_: &str, _, n| match n {
            32 => 4,
            n if n == old => 1 << 20,
            n => n,
        };
        let fixture = resized("gnn-plain", &keys, size);
        let path = fixture.write("edges.csv", text);
        let run = fixture.run(&["--edges", &path]);
        run.refused(&["edges.csv: ", LIMIT, found, "000 × 1048576\n"]);
    }
}
