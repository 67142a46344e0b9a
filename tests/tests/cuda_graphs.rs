//! A recorded CUDA graph gives the results of the launches that it was recorded from: on a GPU, in a process of its own.
//!
//! Each test opens the GPU for itself. A recording takes in everything on its stream, so launches of another thread on
//! that stream would end up in the graph.

#[path = "cuda_graphs/decoder.rs"]
mod decoder;
#[path = "cuda_graphs/encoder.rs"]
mod encoder;

use candle_core::{DType, Device, Result, Tensor};
use kernels::cuda_graph::Nodes;
use models::gnn::GraphBatch;
use models::lm::Logits;
use models::random::RandomWeights;
use models::{GraphTransformer, Heads, LanguageModel, lm, presets};
use replay::Replay;
use tests::inputs::{Graphs, graph_transformer, rng, tokens, uniform, vision_transformer};

/// A GPU with a stream of its own.
fn gpu() -> Result<Device> {
    let device = tests::own_gpu()?;
    #[cfg(feature = "cuda")]
    if let Device::Cuda(cuda) = &device {
        // SAFETY: events keep streams apart that share a tensor; each test computes on the one stream of the
        // device that it has opened.
        unsafe { cuda.disable_event_tracking() };
    }
    Ok(device)
}

fn values(x: &Tensor) -> Result<Vec<f32>> {
    x.to_dtype(DType::F32)?.flatten_all()?.to_vec1()
}

/// Number of steps: `steps`, or a few under a sanitizer, which is slow.
fn watched(steps: usize) -> usize {
    if tests::is_sanitized() {
        steps.min(10)
    } else {
        steps
    }
}

/// Grouped queries, heads that level 5's kernels read, and a context of several buckets.
fn language_model(seed: u64, dtype: DType, device: &Device) -> models::Result<LanguageModel> {
    let config = lm::Config {
        vocab_size: 61,
        hidden_size: 48,
        intermediate_size: 56,
        num_hidden_layers: 2,
        heads: Heads {
            num_heads: 6,
            num_kv_heads: 2,
            head_dim: 16,
        },
        rms_norm_eps: 1e-5,
        qkv_bias: false,
        rope_theta: 5000.,
        rope_scaling: None,
        max_position_embeddings: 600,
        tie_word_embeddings: false,
    };
    let weights = RandomWeights::weights(seed, dtype, device);
    Ok(LanguageModel::load(weights, &config)?)
}

// One test per level, and so one process per level under a sanitizer: memcheck still sees the memory of a recording that
// is gone, where the next one has put something larger.

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_replay_at_level_1_is_the_forward_pass() -> models::Result<()> {
    replays_are_forward_passes(1)
}
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_replay_at_level_2_is_the_forward_pass() -> models::Result<()> {
    replays_are_forward_passes(2)
}
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_replay_at_level_3_is_the_forward_pass() -> models::Result<()> {
    replays_are_forward_passes(3)
}
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_replay_at_level_4_is_the_forward_pass() -> models::Result<()> {
    replays_are_forward_passes(4)
}
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_replay_at_level_5_is_the_forward_pass() -> models::Result<()> {
    replays_are_forward_passes(5)
}

/// Replays a recording of each model with new inputs.
fn replays_are_forward_passes(level: u8) -> models::Result<()> {
    let device = gpu()?;
    let ops = levels::level(level).expect("a level");
    let ops = &*ops;
    let vit = vision_transformer(1, &device)?;
    let gnn = graph_transformer(1, &device)?;
    let lm = language_model(1, DType::F32, &device)?;
    let mut rng = rng(3);
    let batch = Graphs::random(&mut rng, &[(5, 9), (40, 170)]).batch(&device)?;
    let (mut pictures, mut graphs, mut texts) =
        (Replay::default(), Replay::default(), Replay::default());
    for (round, rows) in [2, 2, 1, 2, 1, 1, 2, 2, 1].into_iter().enumerate() {
        let what = format!("level {level}, round {round}, {rows} rows");
        let mut random = |shape: &[usize]| {
            let values = uniform(&mut rng, 1, shape.iter().product());
            Tensor::from_vec(values, shape, &device)
        };
        let pixels = random(&[rows, 3, 15, 15])?;
        let (x, edges) = (random(batch.x.dims())?, random(batch.edges.dims())?);
        // Three lengths: a recording has to find its operands where they were, whatever ran since.
        let length = [7, 9, 5][round % 3];
        let ids = Tensor::new(tokens(&mut rng, rows, length), &device)?;

        let expected = vit.forward(ops, &pixels)?;
        let found = pictures.run(&device, &[&pixels], |x| vit.forward(ops, &x[0]))?;
        assert_eq!(values(&found)?, values(&expected)?, "vit, {what}");

        // index_add of candle adds in no fixed order: levels 1 and 2 are the same within rounding.
        let forward = |x: &[Tensor]| gnn.forward(ops, &batch.with(x[0].clone(), x[1].clone()));
        let expected = forward(&[x.clone(), edges.clone()])?;
        let found = graphs.run(&device, &[&x, &edges], forward)?;
        let apart = tests::difference(&found, &expected)?;
        assert!(
            apart <= if level <= 2 { 1e-6 } else { 0. },
            "gnn, {what}: {apart}"
        );

        let forward = |ids: &[Tensor]| {
            let mut caches = lm.new_caches(ops, rows, length)?;
            lm.forward(ops, &ids[0], &mut caches, Logits::All)
        };
        let found = values(&texts.run(&device, &[&ids], forward)?)?;
        let expected = forward(std::slice::from_ref(&ids))?; // after it: it may make what the recording lacks
        assert_eq!(found, values(&expected)?, "lm, {what}");
    }
    assert_eq!(pictures.nodes().count(), 2, "one recording a shape");
    assert!(graphs.nodes().all(|nodes| nodes.kernels > 10));
    Ok(())
}

/// On a Hopper, a pass over small graphs is one kernel, which finds its operands where they were.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_whole_pass_is_replayed() -> models::Result<()> {
    let device = gpu()?;
    let level5 = levels::level(5).expect("a level");
    let config = presets::gnn("base").expect("a preset");
    let mut rng = rng(4);
    let Graphs { edges, batch, .. } = Graphs::random(&mut rng, &[(5, 9), (32, 170), (1, 0)]);
    for dtype in [DType::BF16, DType::F32] {
        let weights = RandomWeights::weights(1, dtype, &device);
        let gnn = GraphTransformer::load(weights, &config)?;
        let mut random = |rows, columns| {
            let values = uniform(&mut rng, rows, columns);
            Tensor::from_vec(values, (rows, columns), &device)?.to_dtype(dtype)
        };
        let (x, features) = (random(38, 64)?, random(edges.len(), 16)?);
        let batch = GraphBatch::new(x, &edges, &features, &batch, 3)?;
        let mut replay = Replay::default();
        for round in 0..5 {
            let (x, features) = (random(38, 64)?, random(edges.len(), 16)?);
            let forward =
                |x: &[Tensor]| gnn.forward(&*level5, &batch.with(x[0].clone(), x[1].clone()));
            // In f32, the run before the recording prepares the weights.
            let found = values(&replay.run(&device, &[&x, &features], forward)?)?;
            let expected = forward(&[x.clone(), features.clone()])?;
            assert_eq!(found, values(&expected)?, "{dtype:?}, round {round}");
        }
        if kernels::dispatch::Facts::of(&device)?.has(kernels::dispatch::Feature::Wgmma) {
            let nodes = Nodes {
                kernels: 1,
                others: 0,
            };
            assert_eq!(replay.nodes().collect::<Vec<_>>(), [nodes], "{dtype:?}");
        }
    }
    Ok(())
}

/// An input may be any view. Each run reads its present contents.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn views_are_replayed() -> models::Result<()> {
    let device = gpu()?;
    let mut replay = Replay::default();
    for first in [1f32, 20., 300.] {
        let all = Tensor::arange(first, first + 12., &device)?.reshape((3, 4))?;
        let (turned, narrow) = (all.t()?, all.narrow(1, 1, 3)?);
        let forward = |x: &[Tensor]| x[0].contiguous()?.matmul(&x[1].contiguous()?);
        let expected = forward(&[turned.clone(), narrow.clone()])?;
        let found = replay.run(&device, &[&turned, &narrow], forward)?;
        assert_eq!(values(&found)?, values(&expected)?, "from {first}");
    }
    Ok(())
}

/// Opening or closing a GPU waits for all streams, which would make a recording invalid. Neither disturbs the other.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_gpu_is_opened_beside_recordings() -> models::Result<()> {
    let device = gpu()?;
    let x = Tensor::ones((4, 4), DType::F32, &device)?;
    let opens = std::thread::spawn(|| (0..10).all(|_| gpu().is_ok()));
    for round in 0..watched(500) {
        let mut replay = Replay::default();
        let found = replay.run(&device, &[&x], |x| &x[0] + round as f64)?;
        assert_eq!(values(&found)?, vec![1. + round as f32; 16]);
    }
    assert!(opens.join().expect("a thread that does not panic"));
    Ok(())
}
