//! Properties that hold between the levels.

use std::collections::BTreeSet;

use ::levels::Costed;
use candle_core::{DType, Device, Tensor};
use models::lm::{self, Logits};
use models::random::RandomWeights;
use models::rope::Llama3Scaling;
use models::trace::{Event, Launched};
use models::{Heads, LanguageModel, Ops, Result, presets, trace};
use tests::inputs::{
    Graphs, graph_transformer, language_model, rng, tokens, uniform, vision_transformer,
};
use tests::{devices, difference, levels};

/// Trace events of one forward pass of each model and of a drawn token, in the order of their start.
fn events(ops: &dyn Ops, device: &Device) -> Result<Vec<Event>> {
    let (_, events) = trace::record(device, || {
        let model = language_model(1, device).unwrap();
        let mut caches = model.new_caches(ops, 1, 8)?;
        let ids = Tensor::new(tokens(&mut rng(1), 1, 8), device)?;
        let logits = model
            .forward(ops, &ids, &mut caches, Logits::Last)?
            .flatten_all()?;
        for temperature in [0., 1.] {
            let mut sampling = models::Sampling::new(temperature, None, None, 1);
            ops.next_token(&logits, &mut sampling)?;
        }
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

/// The kernels of the three models at each level, by the function that opens their span: what a level leaves to the one
/// below keeps the name of that level.
fn kernels(level: u8) -> Vec<&'static str> {
    match level {
        1 => vec![
            "argmax_level1 softmax_level1 embedding_level1 linear_level1 linear_residual_level1 linear_gelu_level1",
            "linear_swiglu_level1 rms_norm_level1 layer_norm_level1 rope_append_level1 causal_attention_level1",
            "attention_level1 edge_attention_level1 segment_mean_level1 patch_embed_level1",
        ],
        // candle has nothing to fuse in four of them.
        2 => vec![
            "argmax_level1 embedding_level1 linear_level1 segment_mean_level1",
            "softmax_level2 linear_residual_level2 linear_gelu_level2 linear_swiglu_level2 rms_norm_level2",
            "layer_norm_level2 rope_append_level2 causal_attention_level2 attention_level2 edge_attention_level2",
            "patch_embed_level2",
        ],
        3 => vec![
            "argmax_level1",
            "softmax_level3 embedding_level3 linear_level3 linear_residual_level3 linear_gelu_level3",
            "linear_swiglu_level3 rms_norm_level3 layer_norm_level3 rope_append_level3 causal_attention_level3",
            "attention_level3 edge_attention_level3 segment_mean_level3 patch_embed_level3",
        ],
        _ => vec![
            "argmax_level4 softmax_level4 embedding_level4 linear_level4 linear_residual_level4 linear_gelu_level4",
            "linear_swiglu_level4 rms_norm_level4 layer_norm_level4 rope_append_level4 causal_attention_level4",
            "attention_level4 edge_attention_level4 segment_mean_level4 patch_embed_level4",
        ],
    }
}

#[test]
fn every_kernel_names_the_level_that_ran() -> Result<()> {
    for device in devices() {
        for ops in levels().iter().filter(|ops| ops.level() < 5) {
            let ran = events(ops.as_ref(), &device)?;
            let names: BTreeSet<&str> = ran.iter().map(|event| event.kernel).collect();
            let expected = kernels(ops.level())
                .into_iter()
                .flat_map(str::split_whitespace);
            let expected: BTreeSet<&str> = expected.collect();
            let (level, place) = (ops.level(), device.location());
            assert_eq!(names, expected, "level {level} on {place:?}");
        }
    }
    Ok(())
}

/// Level 5 picks among kernels of level 3 and above, and says why.
#[test]
fn level_5_says_why_it_picked_a_kernel() -> Result<()> {
    let picks = [
        "linear",
        "linear_residual",
        "norm_linear",
        "norm_qkv",
        "norm_qkv_skip",
        "norm_swiglu",
        "norm_gelu",
        "attention",
    ];
    let level5 = Costed::new(levels().pop().unwrap());
    for device in devices() {
        let ran = events(&level5, &device)?;
        let of_levels = |event: &&Event| !["candle", "cublaslt"].contains(&event.kernel);
        let inside = ran.iter().filter(|event| event.depth > 0);
        for event in inside.filter(of_levels) {
            let (_, level) = event.kernel.rsplit_once("_level").expect("a level");
            assert!(level.starts_with(['3', '4', '5']), "{}", event.kernel);
        }
        let ops = ran.chunk_by(|_, next| next.depth > 0);
        for op in ops.filter(|op| picks.contains(&op[0].kernel)) {
            assert!(op.iter().any(|event| event.why.is_some()), "{op:#?}");
        }
        let reasons = ran.iter().filter(|event| event.why.is_some()).count();
        assert!(reasons >= 7, "{reasons} reasons in {ran:#?}");
    }
    Ok(())
}

/// On a GPU, each op of a level with kernels of its own starts those and nothing else.
#[test]
fn every_launch_is_a_kernel_of_the_level() -> Result<()> {
    for device in devices() {
        for ops in levels() {
            // Level 5 has kernels of its own for some shapes, and level 4's for the others.
            let levels = ops.level().min(4)..=ops.level();
            let own = |launched: &Launched| {
                let mut levels = levels.clone();
                levels.any(|level| launched.kernel.contains(&format!("_level{level}")))
            };
            let events = events(ops.as_ref(), &device)?;
            for (i, event) in events.iter().enumerate() {
                // A function whose kernel was picked: what is inside launches.
                let next = events.get(i + 1);
                let is_outer = next.is_some_and(|next| next.depth > event.depth);
                if ["candle", "cublaslt", "argmax_level1"].contains(&event.kernel) {
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
