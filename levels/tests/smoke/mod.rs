//! A quick check of one level: three small random models on the CPU, against level 1. The tests of the level crates
//! include this file with `#[path]`.

use candle_core::{DType, Device, Result, Tensor};
use models::gnn::GraphBatch;
use models::lm::Logits;
use models::random::RandomWeights;
use models::{GraphTransformer, Heads, LanguageModel, Ops, VisionTransformer, gnn, lm, trace, vit};

const CPU: Device = Device::Cpu;

/// Logits of a prompt of five tokens and of one decode step after it.
pub fn language_model(ops: &dyn Ops) -> models::Result<()> {
    let config = lm::Config {
        vocab_size: 31,
        hidden_size: 24,
        intermediate_size: 40,
        num_hidden_layers: 2,
        heads: Heads {
            num_heads: 3,
            num_kv_heads: 1,
            head_dim: 8,
        },
        rms_norm_eps: 1e-5,
        qkv_bias: false,
        rope_theta: 1e4,
        rope_scaling: None,
        max_position_embeddings: 8,
        tie_word_embeddings: false,
    };
    let model = LanguageModel::load(RandomWeights::weights(1, DType::F32, &CPU), &config)?;
    check(ops, |ops| {
        let mut caches = model.new_caches(ops, 1, 6)?;
        let prompt = Tensor::new(&[[5u32, 30, 0, 7, 7]], &CPU)?;
        let prompt = model.forward(ops, &prompt, &mut caches, Logits::All)?;
        let next = Tensor::new(&[[12u32]], &CPU)?;
        let next = model.forward(ops, &next, &mut caches, Logits::All)?;
        Tensor::cat(&[prompt, next], 1)
    })
}

/// Logits of two images of 3 × 3 patches.
pub fn vision_transformer(ops: &dyn Ops) -> models::Result<()> {
    let config = vit::Config {
        image_size: 12,
        patch_size: 4,
        hidden_size: 24,
        intermediate_size: 40,
        num_hidden_layers: 2,
        num_attention_heads: 3,
        layer_norm_eps: 1e-6,
        qkv_bias: true,
        labels: labels(5),
    };
    let model = VisionTransformer::load(RandomWeights::weights(1, DType::F32, &CPU), &config)?;
    let pixels = wave(&[2, 3, 12, 12])?;
    check(ops, |ops| model.forward(ops, &pixels))
}

/// Logits of two graphs. Node 3 has no edges, and one edge occurs twice.
pub fn graph_transformer(ops: &dyn Ops) -> models::Result<()> {
    let config = gnn::Config {
        node_features: 6,
        edge_features: 3,
        hidden_size: 24,
        num_attention_heads: 3,
        num_hidden_layers: 2,
        intermediate_size: 40,
        num_classes: 4,
        layer_norm_eps: 1e-5,
        labels: labels(4),
    };
    let model = GraphTransformer::load(RandomWeights::weights(1, DType::F32, &CPU), &config)?;
    let edges = [[0, 1], [1, 2], [2, 0], [0, 1], [4, 5], [5, 5]];
    let graphs = GraphBatch::new(
        wave(&[6, 6])?,
        &edges,
        &wave(&[edges.len(), 3])?,
        &[0, 0, 0, 0, 1, 1],
        2,
    )?;
    check(ops, |ops| model.forward(ops, &graphs))
}

fn labels(count: usize) -> Vec<String> {
    (0..count).map(|i| i.to_string()).collect()
}

/// Numbers in −1..1, the same in every run.
fn wave(dims: &[usize]) -> Result<Tensor> {
    let x = Tensor::arange(0f32, dims.iter().product::<usize>() as f32, &CPU)?;
    (x * 1.7)?.sin()?.reshape(dims)
}

/// Checks `logits` at `ops` against level 1 within 1e-5, and that the trace names the level in every op.
fn check(ops: &dyn Ops, logits: impl Fn(&dyn Ops) -> Result<Tensor>) -> models::Result<()> {
    let level1 = levels::level(1).expect("level 1");
    let expected = logits(&*level1)?.flatten_all()?.to_vec1::<f32>()?;
    let (found, events) = trace::record(&CPU, || logits(ops))?;
    let found = found.flatten_all()?.to_vec1::<f32>()?;
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0f32, |most, x| most.max(x.abs()));
    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let close = (found - expected).abs() <= 1e-5 * largest; // NaN is not
        assert!(close, "logit {i}: expected {expected}, found {found}");
    }

    let suffix = format!("_level{}", ops.level());
    let kernels: Vec<&str> = events.iter().map(|event| event.kernel).collect();
    assert!(!kernels.is_empty());
    let others: Vec<_> = kernels.iter().filter(|k| !k.ends_with(&suffix)).collect();
    assert!(others.is_empty(), "not of {suffix}: {others:?}");
    Ok(())
}
