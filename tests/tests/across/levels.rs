//! What the levels promise about each other.

use std::collections::BTreeSet;

use candle_core::{DType, Device, Tensor};
use models::lm::{self, Logits};
use models::random::RandomWeights;
use models::rope::Llama3Scaling;
use models::trace::{Event, Launched};
use models::{Heads, LanguageModel, Ops, Result, presets, trace};
use tests::inputs::{
    Graphs, graph_transformer, language_model, rng, tokens, uniform, vision_transformer,
};
use tests::{devices, difference, levels, root};

/// The functions of a level's `impl Ops`, or of the trait, in the order of the file.
fn functions(source: &str) -> Vec<&str> {
    let declarations = source
        .lines()
        .filter_map(|line| line.strip_prefix("    fn "));
    declarations
        .filter_map(|line| line.split('(').next())
        .collect()
}

#[test]
fn every_level_lists_the_functions_of_the_trait_in_its_order() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let ops = read("models/src/ops.rs");
    let wanted = functions(&ops[ops.find("pub trait Ops").unwrap()..]);
    assert!(wanted.len() > 12, "{wanted:?}");
    for ops in levels() {
        let source = read(&format!("levels/level{}/src/ops.rs", ops.level()));
        assert_eq!(functions(&source), wanted, "level {}", ops.level());
    }
}

/// What ran in one forward pass of each model and a token drawn, in the order it began.
fn events(ops: &dyn Ops, device: &Device) -> Result<Vec<Event>> {
    let (_, events) = trace::record(device, || {
        let model = language_model(1, device).unwrap();
        let mut caches = model.new_caches(ops, 1, 8)?;
        let ids = Tensor::new(tokens(&mut rng(1), 1, 8), device)?;
        let logits = model
            .forward(ops, &ids, &mut caches, Logits::Last)?
            .flatten_all()?;
        ops.next_token(&logits, &mut models::Sampling::new(1., None, None, 1))?;
        let pixels = Tensor::from_vec(uniform(&mut rng(1), 1, 675), (1, 3, 15, 15), device)?;
        vision_transformer(1, device)
            .unwrap()
            .forward(ops, &pixels)?;
        let graphs = Graphs::random(&mut rng(1), &[(5, 9)])
            .batch(device)
            .unwrap();
        graph_transformer(1, device).unwrap().forward(ops, &graphs)
    })?;
    Ok(events)
}

/// The ops of the three models, by name.
const OPS: [&str; 14] = [
    "add_layer_norm",
    "add_rms_norm",
    "attention",
    "causal_attention",
    "edge_attention",
    "embedding",
    "linear",
    "linear_gelu",
    "linear_swiglu",
    "next_token",
    "patch_embed",
    "qkv",
    "qkv_skip",
    "segment_mean",
];

#[test]
fn every_op_names_the_level_that_ran() -> Result<()> {
    // candle has nothing to fuse in these three: level 2 leaves them to level 1, and says so.
    let left_to_level1 = ["embedding", "linear", "segment_mean"];
    // And where level 5 picks among kernels, or tells them less.
    let left_to_level4 = ["embedding", "next_token", "patch_embed", "segment_mean"];
    for device in devices() {
        for ops in levels() {
            let ran = events(ops.as_ref(), &device)?;
            // Inside an op of level 5, the kernel that was picked, with the reason.
            let ops_alone = ran.iter().filter(|event| event.why.is_none());
            let names: BTreeSet<&str> = ops_alone.map(|event| event.kernel).collect();
            let owner = |op: &&str| match ops.level() {
                2 if left_to_level1.contains(op) => 1,
                5 if left_to_level4.contains(op) => 4,
                level => level,
            };
            let expected: Vec<String> = OPS
                .iter()
                .map(|op| format!("{op}_level{}", owner(op)))
                .collect();
            let expected: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
            assert_eq!(
                names,
                expected,
                "level {} on {:?}",
                ops.level(),
                device.location()
            );
        }
    }
    Ok(())
}

/// On a GPU, each op of a level with kernels of its own starts those and nothing else.
#[test]
fn every_launch_is_a_kernel_of_the_level() -> Result<()> {
    for device in devices() {
        for ops in levels() {
            // Level 5 has kernels of its own for some shapes, and level 4's for the others.
            let levels = if ops.level() == 5 {
                4..=5
            } else {
                ops.level()..=ops.level()
            };
            let own = |launched: &Launched| {
                let mut levels = levels.clone();
                levels.any(|level| launched.kernel.contains(&format!("_level{level}")))
            };
            let events = events(ops.as_ref(), &device)?;
            for (i, event) in events.iter().enumerate() {
                // A product of which there are views, or an op whose kernel was picked: what is inside launches.
                let next = events.get(i + 1);
                let is_outer = next.is_some_and(|next| next.depth > event.depth);
                if ["candle", "cublaslt"].contains(&event.kernel) {
                    continue; // a library's launches are not noted
                }
                let expected = !device.is_cpu() && ops.level() >= 3 && !is_outer;
                let what = format!(
                    "{} on {:?}: {:?}",
                    event.kernel,
                    device.location(),
                    event.launches
                );
                assert_eq!(!event.launches.is_empty(), expected, "{what}");
                assert!(event.launches.iter().all(own), "{what}");
            }
        }
    }
    Ok(())
}

fn readme() -> lm::Config {
    presets::lm("readme").expect("a preset")
}

#[test]
fn levels_agree_on_the_shapes_of_a_preset() -> Result<()> {
    levels_agree(readme())
}

/// 7 query heads for one key, and rows of 896 numbers: neither is a power of two.
#[test]
fn levels_agree_on_the_shapes_of_qwen2_5() -> Result<()> {
    levels_agree(lm::Config {
        hidden_size: 896,
        intermediate_size: 4864,
        heads: Heads {
            num_heads: 14,
            num_kv_heads: 2,
            head_dim: 64,
        },
        qkv_bias: true,
        rope_theta: 1e6,
        ..readme()
    })
}

/// With the rotary angles of Llama 3.2 for every position of its context.
#[test]
fn levels_agree_on_the_shapes_of_llama_3_2() -> Result<()> {
    levels_agree(lm::Config {
        hidden_size: 2048,
        intermediate_size: 8192,
        heads: Heads {
            num_heads: 32,
            num_kv_heads: 8,
            head_dim: 64,
        },
        rope_theta: 500_000.,
        rope_scaling: Some(Llama3Scaling {
            factor: 32.,
            low_freq_factor: 1.,
            high_freq_factor: 4.,
            original_max_position_embeddings: 8192,
        }),
        max_position_embeddings: 131_072,
        ..readme()
    })
}

/// The shapes of `config` matter here, not its depth.
fn levels_agree(config: lm::Config) -> Result<()> {
    let weights = RandomWeights::weights(5, DType::F32, &Device::Cpu);
    let config = lm::Config {
        num_hidden_layers: 2,
        ..config
    };
    let model = LanguageModel::load(weights, &config)?;
    let prompt = Tensor::arange(0u32, 33, &Device::Cpu)?.unsqueeze(0)?;
    let next = Tensor::new(&[[33u32]], &Device::Cpu)?;
    let mut first = None;
    for ops in levels() {
        let mut caches = model.new_caches(ops.as_ref(), 1, 34)?;
        let mut last = |ids| model.forward(ops.as_ref(), ids, &mut caches, Logits::Last);
        let logits = Tensor::cat(&[last(&prompt)?, last(&next)?], 1)?;
        let apart = difference(&logits, first.get_or_insert(logits.clone()))?;
        assert!(apart <= 1e-5, "level {}: {apart}", ops.level());
    }
    Ok(())
}
