//! What the levels promise about each other.

use candle_core::{DType, Device, Tensor};
use models::lm::Logits;
use models::random::RandomWeights;
use models::{LanguageModel, Ops, Result, presets, trace};
use tests::inputs::{
    Graphs, graph_transformer, language_model, rng, tokens, uniform, vision_transformer,
};
use tests::{difference, levels, root};

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

/// The kernels of one forward pass of each model and a token drawn, in the order they began.
fn kernels(ops: &dyn Ops) -> Result<Vec<&'static str>> {
    let device = Device::Cpu;
    let (_, events) = trace::record(&device, || {
        let model = language_model(1, &device).unwrap();
        let mut caches = model.new_caches(ops, 1, 8)?;
        let ids = Tensor::new(tokens(&mut rng(1), 1, 8), &device)?;
        let logits = model
            .forward(ops, &ids, &mut caches, Logits::Last)?
            .flatten_all()?;
        ops.next_token(&logits, &mut models::Sampling::new(1., None, None, 1))?;
        let pixels = Tensor::from_vec(uniform(&mut rng(1), 1, 675), (1, 3, 15, 15), &device)?;
        vision_transformer(1, &device)
            .unwrap()
            .forward(ops, &pixels)?;
        let graphs = Graphs::random(&mut rng(1), &[(5, 9)])
            .batch(&device)
            .unwrap();
        graph_transformer(1, &device).unwrap().forward(ops, &graphs)
    })?;
    Ok(events.iter().map(|event| event.kernel).collect())
}

#[test]
fn every_op_names_the_level_that_ran() -> Result<()> {
    let unique = |ops: &dyn Ops| -> Result<Vec<&'static str>> {
        let mut names = kernels(ops)?;
        names.sort_unstable();
        names.dedup();
        Ok(names)
    };
    let levels = levels();
    let level1 = [
        "add_layer_norm_level1",
        "add_rms_norm_level1",
        "attention_level1",
        "causal_attention_level1",
        "edge_attention_level1",
        "embedding_level1",
        "linear_gelu_level1",
        "linear_level1",
        "linear_swiglu_level1",
        "next_token_level1",
        "patch_embed_level1",
        "qkv_level1",
        "qkv_skip_level1",
        "segment_mean_level1",
    ];
    assert_eq!(unique(levels[0].as_ref())?, level1);
    // candle has nothing to fuse in these three: level 2 leaves them to level 1, and says so.
    let shared = ["embedding_level1", "linear_level1", "segment_mean_level1"];
    let level2 = level1.map(|name| match shared.contains(&name) {
        true => name.to_string(),
        false => name.replace("level1", "level2"),
    });
    let mut level2 = level2.to_vec();
    level2.sort();
    assert_eq!(unique(levels[1].as_ref())?, level2);
    Ok(())
}

fn readme() -> Result<LanguageModel> {
    let weights = RandomWeights::weights(5, DType::F32, &Device::Cpu);
    let mut config = presets::lm("readme").expect("a preset");
    config.num_hidden_layers = 2; // the shapes matter here, not the depth
    Ok(LanguageModel::load(weights, &config)?)
}

#[test]
fn levels_agree_on_the_shapes_of_a_preset() -> Result<()> {
    let model = readme()?;
    let ids = Tensor::arange(0u32, 33, &Device::Cpu)?.unsqueeze(0)?;
    let mut first = None;
    for ops in levels() {
        let mut caches = model.new_caches(ops.as_ref(), 1, 33)?;
        let logits = model.forward(ops.as_ref(), &ids, &mut caches, Logits::Last)?;
        let apart = difference(&logits, first.get_or_insert(logits.clone()))?;
        assert!(apart <= 1e-5, "level {}: {apart}", ops.level());
    }
    Ok(())
}
